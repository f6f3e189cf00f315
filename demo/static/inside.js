/* Look inside: one time scrubber drives cloud, matrix, modules, masks and the photo asked. All frames are here, so scrubbing is instant. */
import {get} from './api.js';
import {mountAsk} from './ask.js';
import {isActive} from './clock.js';
import {bud, fill, h, hueOf, icon, segmented} from './dom.js';
import {explained} from './glossary.js';
import {isNamed, taskName} from './header.js';
import {lang, problemText, rich, t} from './i18n.js';
import {mountCloud} from './inside_cloud.js';
import {mountLambda} from './inside_lambda.js';
import {mountMasks} from './inside_masks.js';
import {mountMatrix} from './inside_matrix.js';
import {mountModules} from './inside_modules.js';
import {nameHere} from './pack_names.js';
import {changed, isOwn, labelOf, show, shownRun, store, subscribe, titleOf} from './store.js';
import {goTo} from './tabs.js';

/** What is shown: the run, its frames and figures, the moment, how modules are chosen ("photo" or "published"), the column asked about. */
export const view = {run: null, data: null, figures: null, time: -1, how: 'photo', task: null, timer: 0, computing: false};
const BATCH = 25;

export function mountInside(root) {
  const stick = h('section.stick.card', {'aria-label': t('inside.time')}), which = h('div.which'), empty = h('article.card.note-card'), leak = h('p.leak', {role: 'status'});
  const [cloud, matrix, modules, ask, masks, lambda] = ['chart-cloud', 'chart-when', 'chart-modules', 'ask-one', 'chart-masks', 'chart-lambda'].map(id => h('article.card', {id}));
  ask.classList.add('askone');
  const body = h('div', {}, stick, leak, h('div.two.wide-left', {}, cloud, matrix), modules, ask, lambda, masks);
  root.replaceChildren(which, body, empty);
  const drawAsk = mountAsk(ask), askAt = at => drawAsk.ask(view, {at, point: view.data.points[at]});
  const parts = new Map([[cloud, mountCloud(cloud, askAt)], [matrix, mountMatrix(matrix, askAt)], [modules, mountModules(modules)], [ask, drawAsk], [masks, mountMasks(masks)], [lambda, mountLambda(lambda)]]), near = new Set();
  const watch = new IntersectionObserver(seen => { seen.forEach(one => one.isIntersecting ? near.add(one.target) : near.delete(one.target)); changed(); });
  parts.forEach((_, card) => watch.observe(card));

  subscribe(() => {
    const run = shownRun(), ready = run && !isActive(run) && run.status === 'finished';
    if (run?.id !== view.run?.id) reset(run);
    if (root.offsetWidth && ready && !view.data && !view.computing) load(run);
    const runs = [...store.runs.values()], groups = [runs.filter(isOwn), runs.filter(one => !isOwn(one))].filter(group => group.length);
    fill(which, [run?.id, runs.map(one => [one.id, labelOf(one)])], () => runs.length > 1 ? groups.map(group => { const label = group[0].title ?? t('inside.which'); return h('div.group', {}, h('span.label', {}, label), segmented(label, group.map(one => [one.id, labelOf({...one, title: null})]), run.id, show, 'inside-which')); }) : []);
    body.hidden = !view.data; empty.hidden = Boolean(view.data);
    fill(empty, [run?.id ?? null, run?.status ?? null, view.computing, view.problem ?? null, Boolean(store.project?.classes.length)], () => drawEmpty(run));
    if (!view.data || !root.offsetWidth) return;
    drawScrub(stick, run, leak);
    parts.forEach((draw, card) => { if (near.has(card) || card === ask || card.dataset.drawn !== view.run.id) { card.dataset.drawn = view.run.id; draw(view); } });  // what is out of sight waits until it comes near
  });
  new IntersectionObserver(seen => seen.some(one => one.isIntersecting) && changed()).observe(root);
}

/** What was said of photo `at` at the moment shown, the way modules are chosen now; undefined before its task. */
export const saidOf = (at, time = view.time) => { const frame = view.data.frames[time]; return (view.how === 'published' && frame.published ? frame.published.class : frame.class)[at]; };
/** "right", "wrong" or "unseen": the state of photo `at`. */
export const stateOf = (at, time = view.time) => { const says = saidOf(at, time); return says === undefined || view.data.points[at].task > time ? 'unseen' : says === view.data.points[at].class ? 'right' : 'wrong'; };
/** The figures of the moment shown. */
export const frameNow = () => { const frame = view.figures.frames[view.time]; return view.how === 'published' && frame.published ? frame.published : frame.photo; };
export const percent = value => value === null || value === undefined ? '–' : `${(100 * value).toFixed(1)}%`;
/** Share of all photos asked that the newest of `rows` of [right, total] has right. */
export const shareOf = rows => { const row = rows.at(-1); return row.reduce((sum, [right]) => sum + right, 0) / Math.max(1, row.reduce((sum, [, all]) => sum + all, 0)); };
export const moveTo = time => { stop(); view.time = time; changed(); };

/** Another run: the moment, the way modules are chosen and the column asked about stay, so that methods can be compared; on other photos the end is shown. */
const known = new Map();
function reset(run) {
  stop();
  if (run?.project !== view.run?.project) view.time = -1;
  Object.assign(view, {run, data: null, figures: null, computing: false, problem: null, ...known.get(run?.id)});
  if (view.data) view.time = momentIn(view.data);
}

const momentIn = ({frames}) => view.time < 0 ? frames.length - 1 : Math.min(view.time, frames.length - 1);

async function load(run) {
  view.computing = true;
  changed();
  try {
    for (let wait = 400; view.run === run; wait = Math.min(3000, wait * 1.4)) {
      const data = await get(`runs/${run.id}/inside`);
      if (data.httpStatus !== 202) {
        const figures = await get(`runs/${run.id}/inside/figures?lang=${lang}`);
        if (view.run === run) { Object.assign(view, {data: usable(data, run), figures, time: momentIn(data)}); keep(run); if (data.pending) wantMore(run); }
        break;
      }
      await new Promise(done => setTimeout(done, wait));
    }
  } catch (error) { view.problem = error.problem ?? {code: 'page_error', values: {}}; setTimeout(() => { if (view.run === run) { view.problem = null; view.computing = false; changed(); } }, 5000); changed(); return; }
  view.computing = false;
  changed();
}

/** The other perplexities and the layouts of earlier moments arrive later; the answers are here already. */
async function wantMore(run) {
  try {
    while (view.run === run && view.data?.pending) {
      await new Promise(done => setTimeout(done, 2000));
      const data = await get(`runs/${run.id}/inside`);
      if (data.httpStatus === 202 || data.pending || view.run !== run) continue;
      view.data = usable(data, run);
      keep(run);
      changed();
    }
  } catch { /* what is here stays; the next visit asks again */ }
}

function keep(run) { known.delete(run.id); if (!view.data.pending) known.set(run.id, {data: view.data, figures: view.figures}); if (known.size > 4) known.delete(known.keys().next().value); }

/** Class ids become names once; a method without features of its own has no second embedding. */
function usable(data, run) {
  const name = one => nameHere(run, typeof one === 'number' ? data.classes[one] : one), named = frame => frame && {...frame, class: frame.class.map(name)};
  return {...data, classes: data.classes.map(name), points: data.points.map(point => ({...point, class: name(point.class)})), frames: data.frames.map(frame => ({class: frame.class.map(name), confidence: frame.confidence ?? [], module: frame.module ?? [], entropy: frame.entropy ?? [], vote: (frame.vote ?? []).map(row => row.map(name)), published: named(frame.published)}))};
}

function drawEmpty(run) {
  const text = !run ? ['inside.empty_title', 'inside.empty_text'] : view.computing ? ['inside.computing', 'inside.computing_text'] : isActive(run) ? ['inside.running', 'inside.running_text'] : run.status === 'finished' ? ['inside.computing', 'inside.computing_text'] : ['inside.unfinished', 'inside.unfinished_text'];
  if (view.problem) return [bud(), h('div', {}, h('h3', {}, t('inside.problem')), h('p.sub', {}, problemText(view.problem)))];
  return [bud(), h('div', {}, h('h3', {}, t(text[0])), h('p.sub', {}, t(text[1]))), view.computing ? null : h('button.btn.ghost', {type: 'button', onclick: () => goTo(store.project?.classes.length ? 'train' : 'data')}, t(store.project?.classes.length ? 'inside.to_train' : 'inside.to_data'))];
}

/* ---------- time, and how modules are chosen ---------- */
function drawScrub(stick, run, leak) {
  const total = view.data.frames.length;
  if (stick.dataset.run !== run.id) {
    stick.dataset.run = run.id;
    const range = h('input', {type: 'range', min: 0, max: total, step: 1, 'aria-label': t('inside.time'), oninput: () => { stop(); view.time = Math.max(1, Number(range.value)) - 1; range.value = view.time + 1; changed(); }});  // from 0, where task 1 begins, so that the handle stands where a task ends
    stick.replaceChildren(h('div.scrub', {style: {'--n': total}}, h('button.round', {type: 'button', dataset: {play: ''}, onclick: () => play(total)}), h('div.track', {}, h('div.segs', {'aria-hidden': 'true'}, Array.from({length: total}, (_, at) => h(`i.${hueOf(at)}`, {}, h('span', {}, String(at + 1)), isNamed(run.tasks?.[at]) ? ` ${run.tasks[at].name}` : ''))), range)), h('div.underscrub', {}, h('p.sub.now', {role: 'status'}), h('div.switch')));
  }
  const [button, range, now, switcher] = ['[data-play]', 'input', '.now', '.switch'].map(one => stick.querySelector(one)), name = taskName(run.tasks?.[view.time], view.time);
  range.value = view.time + 1;
  range.setAttribute('aria-valuetext', t('task.named', {n: view.time + 1, name}));
  fill(button, Boolean(view.timer) ? 'pause' : 'play', () => [icon(view.timer ? 'pause' : 'play')]);
  button.setAttribute('aria-label', t(view.timer ? 'inside.pause' : 'inside.play'));
  fill(now, [view.time, name], () => rich(isNamed(run.tasks?.[view.time]) ? 'inside.now' : 'inside.now_plain', {n: view.time + 1, name}));
  stick.querySelectorAll('.segs i').forEach((one, at) => one.classList.toggle('later', at > view.time));
  drawSwitch(switcher, leak);
}

function drawSwitch(switcher, leak) {
  const {photo, published} = view.figures.frames[view.time];
  switcher.hidden = !published;
  leak.hidden = !published && !photo.chosen;
  if (!published) return tell(leak, photo.chosen ? 'inside.no_vote' : '', {method: titleOf(view.run.method)});
  const [honest, leaky] = [shareOf(photo.rows), shareOf(published.rows)];
  fill(switcher, [view.how, honest, leaky], () => segmented(t('inside.switch'), [['photo', t('inside.per_photo', {percent: percent(honest)})], ['published', t('inside.as_published', {percent: percent(leaky)})]], view.how, value => { view.how = value; changed(); }, 'inside-how'));
  tell(leak, view.how === 'photo' ? 'inside.no_leak' : 'inside.leak', {batch: BATCH, gain: (100 * (leaky - honest)).toFixed(1)});
}
const tell = (node, key, values) => fill(node, [key, values], () => key ? explained(key, values) : []);

function stop() { clearInterval(view.timer); view.timer = 0; }
function play(total) {
  if (view.timer) { stop(); return changed(); }
  if (view.time >= total - 1) view.time = 0;
  view.timer = setInterval(() => { if (view.time >= total - 1) stop(); else view.time++; changed(); }, 1200);
  changed();
}
