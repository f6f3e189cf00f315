/* The photos as points, where the frozen network or the learner sees them: t-SNE at several perplexities, and PCA as the check. */
import {photoUrl} from './api.js';
import {frame} from './charts.js';
import {dot, fill, h, hueOf, pretty, segmented, title} from './dom.js';
import {explained, term} from './glossary.js';
import {taskName} from './header.js';
import {t} from './i18n.js';
import {saidOf, stateOf, view} from './inside.js';
import {pointMap} from './inside_map.js';
import {changed} from './store.js';

const chosen = {where: 'after', how: 'tsne', perplexity: null};

export function mountCloud(card, askAt) {
  const choose = h('div.choose'), note = h('p.fine'), hover = h('div.hovercard', {hidden: true, role: 'status'}), ring = h('span.ringmark', {hidden: true}), cloud = frame(470, t('inside.cloud'), table);
  const map = pointMap(cloud.plot, {name: t('inside.cloud_keys'), near: (at, x, y) => at === null ? hide() : showPhoto(at, x, y, card, cloud.plot, hover, ring), pick: askAt}), hide = () => { hover.hidden = ring.hidden = true; };
  cloud.plot.removeAttribute('role');
  new ResizeObserver(changed).observe(cloud.plot);  // a canvas does not redraw itself when a phone is turned
  card.replaceChildren(title(t('inside.cloud'), t('inside.cloud_sub')), choose, cloud.parts[0], hover, ring, ...cloud.parts.slice(1), note);
  let painted = null;
  return () => {
    const {data, run} = view, where = data.after ? chosen.where : 'before', perplexity = chosen.perplexity ?? data.perplexity;
    fill(choose, [where, chosen.how, perplexity, Boolean(data.after), data.pending, data.perplexities], () => drawChoice(where, perplexity));
    fill(note, [run.id, where, chosen.how, perplexity, data.pending, view.time], () => honesty(where, perplexity));
    const key = JSON.stringify([run.id, view.time, view.how, where, chosen.how, perplexity, data.pending, cloud.plot.offsetWidth, document.body.classList.contains('dark')]);
    if (painted === key || !cloud.plot.offsetWidth) return;
    painted = key;
    hide();
    const {places, keys} = layout(where, perplexity);
    map.draw({places, points: data.points, states: data.points.map((_, at) => stateOf(at)), keys: data.pool ? keys : keys.slice(0, view.time + 1), ring: data.pool ? () => 'ink-3' : hueOf, now: view.time});
    cloud.tell(says());
  };
}

function drawChoice(where, perplexity) {
  const pick = name => value => { chosen[name] = value; changed(); }, {data} = view, ready = data.perplexities.filter(one => data[where].tsne[one]);
  return [data.after ? segmented(t('inside.where'), [['before', t('inside.before')], ['after', t('inside.after')]], where, pick('where'), 'where') : null,
    segmented(t('inside.how'), [['tsne', t('inside.tsne')], ['pca', t('inside.pca')]], chosen.how, pick('how'), 'how'),
    chosen.how !== 'tsne' ? null : ready.length > 1 ? h('span.labelled', {}, h('span.sub', {}, term('perplexity', t('inside.perplexity'))), segmented(t('inside.perplexity'), ready.map(one => [one, used(one, where)]), Number(perplexity), pick('perplexity'), 'perplexity')) : data.pending ? h('span.sub', {}, t('inside.perplexity_wait')) : null];
}

/** The positions to draw: those of this moment where there are some. */
function layout(where, perplexity) {
  const all = view.data[where], own = all.frames && (chosen.how === 'pca' || perplexity === view.data.perplexity) ? all.frames[view.time] : null;
  const places = own ? own[chosen.how] : chosen.how === 'pca' ? all.pca : all.tsne[perplexity] ?? all.tsne[view.data.perplexity];
  return {places, keys: all.keys ? chosen.how === 'pca' ? all.keys.pca : all.keys.tsne[perplexity] ?? [] : []};
}

/** A perplexity as it is used: few photos have too few neighbours for a large one. */
function used(perplexity, where) {
  const {data} = view, most = Math.max(1, (data.points.length + (data[where].keys?.pca.length ?? 0) - 1) / 3);
  return perplexity > most ? most.toFixed(1) : String(perplexity);
}

function honesty(where, perplexity) {
  const {data} = view, moving = data[where].frames && (chosen.how === 'pca' || perplexity === data.perplexity);
  const said = [chosen.how === 'tsne' ? ['inside.honest_tsne', {perplexity: used(perplexity, where), seed: data.seed}] : ['inside.honest_pca'], [where === 'before' ? 'inside.honest_frozen' : moving ? 'inside.honest_frames' : 'inside.honest_still'],
    data[where].keys ? [data.pool ? 'inside.pool_note' : 'inside.keys_note'] : null, data.after ? null : ['inside.no_modules']].filter(Boolean);
  return said.map(([key, values], at) => [at ? t('say.gap') : '', explained(key, values)]);
}

const says = () => {
  const found = {right: 0, wrong: 0, unseen: 0};
  view.data.points.forEach((_, at) => found[stateOf(at)]++);
  return t(found.unseen ? 'inside.says' : 'inside.says_all', found);
};

function table() {
  const rows = new Map();
  view.data.points.forEach((point, at) => { const key = `${point.task} ${point.class}`, row = rows.get(key) ?? rows.set(key, {point, right: 0, wrong: 0, unseen: 0}).get(key); row[stateOf(at)]++; });
  return [[t('table.class'), t('table.task'), t('table.right'), t('table.wrong')], [...rows.values()].map(row => [pretty(row.point.class), taskName(view.run.tasks?.[row.point.task], row.point.task), String(row.right), row.unseen ? t('table.unseen') : String(row.wrong)])];
}

function showPhoto(at, left, top, card, plot, hover, ring) {
  const point = view.data.points[at], says = saidOf(at), state = stateOf(at), box = plot.getBoundingClientRect(), around = card.getBoundingClientRect(), x = box.left - around.left + left, y = box.top - around.top + top;
  hover.replaceChildren(h('img', {src: photoUrl(view.run.project, point.photo), alt: ''}), h('div', {}, h('b', {}, pretty(point.class)), h('span', {}, dot(point.task), ` ${taskName(view.run.tasks?.[point.task], point.task)}`), h('span.verdict', {}, t(`inside.photo_${state}`, {says: pretty(says ?? '')}))));
  hover.hidden = ring.hidden = false;
  hover.style.left = `${x > around.width - 220 ? x - 196 : x + 22}px`; hover.style.top = `${Math.max(70, y - 150)}px`;
  ring.style.left = `${x}px`; ring.style.top = `${y}px`;
}
