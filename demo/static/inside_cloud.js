/* The photos as points, where the frozen network or the learner sees them: t-SNE at several perplexities, and PCA as the check. */
import {photoUrl} from './api.js';
import {chart, frame, token} from './charts.js';
import {dot, fill, h, hueOf, pretty, segmented, title} from './dom.js';
import {taskName} from './header.js';
import {t} from './i18n.js';
import {saidOf, stateOf, view} from './inside.js';
import {changed} from './store.js';

const SYMBOLS = ['circle', 'square', 'diamond', 'triangle-up', 'star', 'hexagram', 'pentagon', 'triangle-down'];
const LOOK = {unseen: {size: 5, opacity: .35, line: 0}, wrong: {size: 9, opacity: .9, line: 1.6}, right: {size: 10, opacity: .94, line: 1}};
const chosen = {where: 'after', how: 'tsne', perplexity: null};

export function mountCloud(card, askAt) {
  const choose = h('div.choose'), note = h('p.fine'), hover = h('div.hovercard', {hidden: true}), ring = h('span.ringmark', {hidden: true}), cloud = frame(470, t('inside.cloud'), table);
  card.replaceChildren(title(t('inside.cloud'), t('inside.cloud_sub')), choose, cloud.parts[0], hover, ring, ...cloud.parts.slice(1), note);
  const on = {hover: event => { if (event.points[0].customdata !== undefined) showPhoto(event, card, cloud.plot, hover, ring); }, unhover: () => { hover.hidden = ring.hidden = true; }, click: event => { const at = event.points[0].customdata; if (at !== undefined) askAt(at); }};
  let painted = null;
  return () => {
    const {data, run} = view, where = data.after ? chosen.where : 'before', perplexity = chosen.perplexity ?? data.perplexity;
    fill(choose, [where, chosen.how, perplexity, Boolean(data.after), data.pending, data.perplexities], () => drawChoice(where, perplexity));
    const text = honesty(where, perplexity);
    if (note.textContent !== text) note.textContent = text;
    const key = JSON.stringify([run.id, view.time, view.how, where, chosen.how, perplexity, data.pending, cloud.plot.offsetWidth, document.body.classList.contains('dark')]);
    if (painted === key || !cloud.plot.offsetWidth) return;
    painted = key;
    hover.hidden = ring.hidden = true;
    chart(cloud.plot, figure(layout(where, perplexity), cloud.plot), {run: `${run.id}-${where}-${chosen.how}-${perplexity}`, on});
    cloud.tell(says());
  };
}

function drawChoice(where, perplexity) {
  const pick = name => value => { chosen[name] = value; changed(); }, {data} = view, ready = data.perplexities.filter(one => data[where].tsne[one]);
  return [data.after ? segmented(t('inside.where'), [['before', t('inside.before')], ['after', t('inside.after')]], where, pick('where'), 'where') : null,
    segmented(t('inside.how'), [['tsne', t('inside.tsne')], ['pca', t('inside.pca')]], chosen.how, pick('how'), 'how'),
    chosen.how !== 'tsne' ? null : ready.length > 1 ? h('span.labelled', {}, h('span.sub', {}, t('inside.perplexity')), segmented(t('inside.perplexity'), ready.map(one => [one, String(one)]), Number(perplexity), pick('perplexity'), 'perplexity')) : data.pending ? h('span.sub', {}, t('inside.perplexity_wait')) : null];
}

/** The positions to draw: those of this moment where there are some. */
function layout(where, perplexity) {
  const all = view.data[where], own = all.frames && (chosen.how === 'pca' || perplexity === view.data.perplexity) ? all.frames[view.time] : null;
  const places = own ? own[chosen.how] : chosen.how === 'pca' ? all.pca : all.tsne[perplexity] ?? all.tsne[view.data.perplexity];
  return {places, keys: all.keys ? chosen.how === 'pca' ? all.keys.pca : all.keys.tsne[perplexity] ?? [] : []};
}

function honesty(where, perplexity) {
  const {data} = view, moving = data[where].frames && (chosen.how === 'pca' || perplexity === data.perplexity), most = (data.points.length + (data[where].keys?.pca.length ?? 0) - 1) / 3;
  return [chosen.how === 'tsne' ? t('inside.honest_tsne', {perplexity: Math.min(perplexity, Math.max(1, most)).toFixed(perplexity > most ? 1 : 0), seed: data.seed}) : t('inside.honest_pca'), where === 'before' ? t('inside.honest_frozen') : t(moving ? 'inside.honest_frames' : 'inside.honest_still'),
    data[where].keys ? t('inside.keys_note') : '', data.after ? '' : t('inside.no_modules')].filter(Boolean).join(t('say.gap'));
}

/** One trace a state with arrays of colours and symbols: as few nodes as can be, so that scrubbing stays quick. */
function figure({places, keys}, plot) {
  const classes = new Map(), colours = new Map(), lows = [Infinity, Infinity], highs = [-Infinity, -Infinity];
  const colour = name => colours.get(name) ?? colours.set(name, token(name)).get(name);
  const traces = Object.fromEntries(Object.keys(LOOK).map(state => [state, {x: [], y: [], at: [], symbol: [], color: [], line: []}]));
  view.data.points.forEach((point, at) => {
    const inTask = classes.get(point.task) ?? classes.set(point.task, new Map()).get(point.task), shape = inTask.get(point.class) ?? inTask.set(point.class, inTask.size).get(point.class);
    const state = stateOf(at), trace = traces[state], [x, y] = places[at], symbol = SYMBOLS[(shape + Math.floor(point.task / 6)) % SYMBOLS.length];
    trace.x.push(x); trace.y.push(y); trace.at.push(at);
    trace.symbol.push(state === 'unseen' ? 'circle' : state === 'wrong' ? `${symbol}-open` : symbol);
    trace.color.push(colour(state === 'right' ? hueOf(point.task) : state === 'wrong' ? 'ink-3' : 'line-strong'));
    [x, y].forEach((value, axis) => { lows[axis] = Math.min(lows[axis], value); highs[axis] = Math.max(highs[axis], value); });
  });
  const margin = axis => (highs[axis] - lows[axis] || 1) * .07, axis = at => ({range: [lows[at] - margin(at), highs[at] + margin(at) * 1.4], showgrid: false, zeroline: false, showticklabels: false, linecolor: 'rgba(0,0,0,0)'});
  const data = Object.entries(traces).map(([state, one]) => ({type: 'scatter', mode: 'markers', x: one.x, y: one.y, customdata: one.at, hoverinfo: 'none', marker: {size: LOOK[state].size, opacity: LOOK[state].opacity, symbol: one.symbol, color: one.color, line: {width: LOOK[state].line, color: state === 'right' ? '@dot-line' : '@ink-3'}}}));
  const known = keys.slice(0, view.time + 1);
  if (known.length) data.push({type: 'scatter', mode: 'markers+text', x: known.map(key => key[0]), y: known.map(key => key[1]), text: known.map((_, at) => String(at + 1)), hovertext: known.map((_, at) => t('inside.key', {n: at + 1})), hoverinfo: 'text', textfont: {size: 14, color: '@ink'}, marker: {size: 26, symbol: 'circle', color: '@card', line: {width: 3, color: known.map((_, at) => `@${hueOf(at)}`)}}});
  return {data, layout: {paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', showlegend: false, hovermode: 'closest', margin: {l: 6, r: 6, t: 6, b: 6}, font: {family: '@sans', size: 14, color: '@ink-2'}, annotations: labels(places, highs[1] - lows[1], highs[0] - lows[0], plot), xaxis: axis(0), yaxis: axis(1)}};
}

/** The name of each class learnt by now, above the middle of its photos; one that would cover another is left to the pointer. */
function labels(places, height, width, plot) {
  const wide = pixels => width * 1.14 * pixels / Math.max(200, plot.offsetWidth), high = height * 1.17 * 19 / Math.max(200, plot.offsetHeight);
  const groups = new Map(), middle = list => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)], placed = [];
  view.data.points.forEach((point, at) => { if (point.task <= view.time) { const key = `${point.task} ${point.class}`, one = groups.get(key) ?? groups.set(key, {point, x: [], y: []}).get(key); one.x.push(places[at][0]); one.y.push(places[at][1]); } });
  const safe = text => text.replace(/[&<>]/g, sign => ({'&': '&amp;', '<': '&lt;', '>': '&gt;'})[sign]), loose = one => { const [x, y] = [middle(one.x), middle(one.y)]; return one.x.reduce((sum, each, at) => sum + Math.hypot(each - x, one.y[at] - y), 0) / one.x.length; };
  for (const one of [...groups.values()].sort((a, b) => loose(a) - loose(b))) {
    const name = pretty(one.point.class), spot = {x: middle(one.x), y: middle(one.y) + high, half: wide(8 * Math.min(name.length, 15) + 26) / 2};
    if (placed.some(other => Math.abs(other.y - spot.y) < high && Math.abs(other.x - spot.x) < other.half + spot.half)) continue;
    placed.push({...spot, text: `<b>${one.point.task + 1}</b> ${safe(name.length > 15 ? `${name.slice(0, 14)}…` : name)}`});
  }
  return placed.map(({x, y, text}) => ({x, y, text, showarrow: false, bgcolor: '@veil', borderpad: 1, font: {color: '@ink', size: 14}}));
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

function showPhoto(event, card, plot, hover, ring) {
  const spot = event.points[0], at = spot.customdata, point = view.data.points[at], says = saidOf(at), state = stateOf(at);
  const box = plot.getBoundingClientRect(), around = card.getBoundingClientRect(), x = box.left - around.left + spot.xaxis._offset + spot.xaxis.l2p(spot.x), y = box.top - around.top + spot.yaxis._offset + spot.yaxis.l2p(spot.y);
  hover.replaceChildren(h('img', {src: photoUrl(view.run.project, point.photo), alt: ''}), h('div', {}, h('b', {}, pretty(point.class)), h('span', {}, dot(point.task), ` ${taskName(view.run.tasks?.[point.task], point.task)}`), h('span.verdict', {}, t(`inside.photo_${state}`, {says: pretty(says ?? '')}))));
  hover.hidden = ring.hidden = false;
  hover.style.left = `${x > around.width - 220 ? x - 196 : x + 22}px`; hover.style.top = `${Math.max(70, y - 150)}px`;
  ring.style.left = `${x}px`; ring.style.top = `${y}px`;
}
