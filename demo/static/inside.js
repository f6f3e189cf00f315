/* Look inside: one time scrubber drives the cloud of photos, the matrix and the photo asked. All frames are here, so scrubbing is instant. */
import {get, photoUrl} from './api.js';
import {mountAsk} from './ask.js';
import {chart, frame} from './charts.js';
import {cursorAfter, isActive} from './clock.js';
import {bud, dot, fill, h, hueOf, icon, pretty, segmented, title} from './dom.js';
import {isNamed, taskName} from './header.js';
import {problemText, rich, t} from './i18n.js';
import {changed, figuresAt, show, shownRun, store, subscribe, titleOf} from './store.js';
import {goTo} from './tabs.js';

const SYMBOLS = ['circle', 'square', 'diamond', 'triangle-up', 'star', 'hexagram', 'pentagon', 'triangle-down'];
const view = {run: null, data: null, time: 0, where: 'before', how: 'tsne', timer: 0, computing: false};

export function mountInside(root) {
  const stick = h('section.stick.card', {'aria-label': t('inside.time')}), which = h('div.which'), choose = h('div.choose'), note = h('p.fine'), hover = h('div.hovercard', {hidden: true}), ring = h('span.ringmark', {hidden: true});
  const cloud = frame(470, t('inside.cloud'), () => cloudTable()), matrix = frame(400, t('charts.matrix'), () => matrixTable());
  const cloudCard = h('article.card', {id: 'chart-cloud'}, title(t('inside.cloud'), t('inside.cloud_sub')), choose, cloud.parts[0], hover, ring, cloud.parts.slice(1), note);
  const body = h('div', {}, stick, h('div.two.wide-left', {}, cloudCard, h('article.card', {id: 'chart-when'}, title(t('charts.matrix'), t('inside.matrix_sub')), matrix.parts))), ask = h('article.card.askone'), empty = h('article.card.note-card');
  body.append(ask);
  root.replaceChildren(which, body, empty);
  const drawAsk = mountAsk(ask);
  const on = {hover: event => showPhoto(event, cloudCard, cloud.plot, hover, ring), unhover: () => { hover.hidden = ring.hidden = true; }, click: event => { const at = event.points[0].customdata; if (at !== undefined) drawAsk.ask(view.run, {at, point: view.data.points[at]}); }};

  subscribe(() => {
    const run = shownRun(), ready = run && !isActive(run) && run.status === 'finished';
    if (run?.id !== view.run?.id) reset(run);
    if (root.offsetWidth && ready && !view.data && !view.computing) load(run);
    const runs = [...store.runs.values()];
    fill(which, [run?.id, runs.map(one => [one.id, titleOf(one.method)])], () => runs.length > 1 ? [h('span.label', {}, t('inside.which')), segmented(t('inside.which'), runs.map(one => [one.id, titleOf(one.method)]), run.id, show, 'inside-which')] : []);
    body.hidden = !view.data; empty.hidden = Boolean(view.data);
    fill(empty, [run?.id ?? null, run?.status ?? null, view.computing, view.problem ?? null, Boolean(store.project?.classes.length)], () => drawEmpty(run));
    if (!view.data) return;
    drawScrub(stick, run);
    fill(choose, [view.where, view.how, Boolean(view.data.after)], () => drawChoice());
    note.textContent = t(view.how === 'tsne' ? 'inside.honest_tsne' : 'inside.honest_pca') + (view.data.after ? '' : t('say.gap') + t('inside.no_modules'));
    const key = JSON.stringify([run.id, view.time, view.where, view.how, cloud.plot.offsetWidth]);
    if (root.painted !== key) { root.painted = key; chart(cloud.plot, cloudFigure(cloud.plot), {run: `${run.id}-${view.where}-${view.how}`, on}); cloud.tell(cloudSays()); drawMatrix(run, matrix); }
    drawAsk(view);
  });
  new IntersectionObserver(seen => seen.some(one => one.isIntersecting) && changed()).observe(root);
}

function reset(run) { clearInterval(view.timer); Object.assign(view, {run, data: null, time: 0, where: 'before', timer: 0, computing: false, problem: null}); }

async function load(run) {
  view.computing = true;
  changed();
  try {
    for (let wait = 400; view.run === run; wait = Math.min(3000, wait * 1.4)) {
      const data = await get(`runs/${run.id}/inside`);
      if (data.httpStatus !== 202) { if (view.run === run) Object.assign(view, {data: usable(data), time: data.frames.length - 1, where: data.after ? 'after' : 'before'}); break; }
      await new Promise(done => setTimeout(done, wait));
    }
  } catch (error) { view.problem = error.problem ?? {code: 'page_error', values: {}}; setTimeout(() => { if (view.run === run) { view.problem = null; view.computing = false; changed(); } }, 5000); changed(); return; }
  view.computing = false;
  changed();
}

/** Class ids become names once; a method without modules has no second embedding. */
function usable(data) {
  const name = one => typeof one === 'number' ? data.classes[one] : one;
  const after = data.after?.tsne?.length ? data.after : null;
  return {...data, after, frames: data.frames.map(frame => ({class: frame.class.map(name), module: frame.module ?? [], entropy: frame.entropy ?? [], vote: (frame.vote ?? []).map(row => row.map(name))}))};
}

function drawEmpty(run) {
  const text = !run ? ['inside.empty_title', 'inside.empty_text'] : view.computing ? ['inside.computing', 'inside.computing_text'] : isActive(run) ? ['inside.running', 'inside.running_text'] : run.status === 'finished' ? ['inside.computing', 'inside.computing_text'] : ['inside.unfinished', 'inside.unfinished_text'];
  if (view.problem) return [bud(), h('div', {}, h('h3', {}, t('inside.problem')), h('p.sub', {}, problemText(view.problem)))];
  return [bud(), h('div', {}, h('h3', {}, t(text[0])), h('p.sub', {}, t(text[1]))), view.computing ? null : h('button.btn.ghost', {type: 'button', onclick: () => goTo(store.project?.classes.length ? 'train' : 'data')}, t(store.project?.classes.length ? 'inside.to_train' : 'inside.to_data'))];
}

/* ---------- time ---------- */
function drawScrub(stick, run) {
  const total = view.data.frames.length;
  if (stick.dataset.run !== run.id) {
    stick.dataset.run = run.id;
    const range = h('input', {type: 'range', min: 1, max: total, step: 1, 'aria-label': t('inside.time'), oninput: () => { stop(); view.time = Number(range.value) - 1; changed(); }});
    stick.replaceChildren(h('div.scrub', {style: {'--n': total}}, h('button.round', {type: 'button', dataset: {play: ''}, onclick: () => play(total)}), h('div.track', {}, h('div.segs', {'aria-hidden': 'true'}, Array.from({length: total}, (_, at) => h(`i.${hueOf(at)}`, {}, h('span', {}, String(at + 1)), isNamed(run.tasks?.[at]) ? ` ${run.tasks[at].name}` : ''))), range)), h('p.sub.now', {role: 'status'}));
  }
  const [button, range, now] = [stick.querySelector('[data-play]'), stick.querySelector('input'), stick.querySelector('.now')], name = taskName(run.tasks?.[view.time], view.time);
  range.value = view.time + 1;
  range.setAttribute('aria-valuetext', t('task.named', {n: view.time + 1, name}));
  fill(button, Boolean(view.timer) ? 'pause' : 'play', () => [icon(view.timer ? 'pause' : 'play')]);
  button.setAttribute('aria-label', t(view.timer ? 'inside.pause' : 'inside.play'));
  fill(now, [view.time, name], () => rich(isNamed(run.tasks?.[view.time]) ? 'inside.now' : 'inside.now_plain', {n: view.time + 1, name}));
  stick.querySelectorAll('.segs i').forEach((one, at) => one.classList.toggle('later', at > view.time));
}
function stop() { clearInterval(view.timer); view.timer = 0; }
function play(total) {
  if (view.timer) { stop(); return changed(); }
  if (view.time >= total - 1) view.time = 0;
  view.timer = setInterval(() => { if (view.time >= total - 1) stop(); else view.time++; changed(); }, 1200);
  changed();
}

/* ---------- the cloud ---------- */
function drawChoice() {
  const option = (name, words) => [name, t(words)];
  return [view.data.after ? segmented(t('inside.where'), [option('before', 'inside.before'), option('after', 'inside.after')], view.where, value => { view.where = value; changed(); }, 'where') : null,
    segmented(t('inside.how'), [option('tsne', 'inside.tsne'), option('pca', 'inside.pca')], view.how, value => { view.how = value; changed(); }, 'how')];
}

/** "right", "wrong" or "unseen": the state of photo `at` at the time shown. */
const stateOf = at => { const says = view.data.frames[view.time].class[at]; return says === undefined || view.data.points[at].task > view.time ? 'unseen' : says === view.data.points[at].class ? 'right' : 'wrong'; };

function cloudFigure(plot) {
  const places = view.data[view.where][view.how], order = new Map(), groups = new Map(), lows = {x: Infinity, y: Infinity}, highs = {x: -Infinity, y: -Infinity};
  view.data.points.forEach((point, at) => {
    const inTask = order.get(point.task) ?? order.set(point.task, new Map()).get(point.task), shape = inTask.get(point.class) ?? inTask.set(point.class, inTask.size).get(point.class), state = stateOf(at), key = `${point.task} ${shape} ${state}`, [x, y] = places[at];
    const group = groups.get(key) ?? groups.set(key, {task: point.task, shape, state, x: [], y: [], at: []}).get(key);
    group.x.push(x); group.y.push(y); group.at.push(at);
    lows.x = Math.min(lows.x, x); highs.x = Math.max(highs.x, x); lows.y = Math.min(lows.y, y); highs.y = Math.max(highs.y, y);
  });
  const marker = one => { const symbol = SYMBOLS[(one.shape + Math.floor(one.task / 6)) % SYMBOLS.length]; return one.state === 'right' ? {size: 10, symbol, color: `@${hueOf(one.task)}`, opacity: .94, line: {width: 1, color: '@dot-line'}} : one.state === 'wrong' ? {size: 9, symbol: `${symbol}-open`, color: '@ink-3', opacity: .9, line: {width: 1.6, color: '@ink-3'}} : {size: 5, symbol: 'circle', color: '@line-strong', opacity: .35, line: {width: 0}}; };
  const rank = {unseen: 0, wrong: 1, right: 2}, sorted = [...groups.values()].sort((a, b) => rank[a.state] - rank[b.state]), margin = axis => (highs[axis] - lows[axis] || 1) * .07;
  const axis = name => ({range: [lows[name] - margin(name), highs[name] + margin(name) * 1.4], showgrid: false, zeroline: false, showticklabels: false, linecolor: 'rgba(0,0,0,0)'});
  return {data: sorted.map(one => ({type: 'scatter', mode: 'markers', x: one.x, y: one.y, customdata: one.at, hoverinfo: 'none', marker: marker(one)})),
    layout: {paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', showlegend: false, hovermode: 'closest', margin: {l: 6, r: 6, t: 6, b: 6}, font: {family: '@sans', size: 14, color: '@ink-2'}, annotations: labels(places, highs.y - lows.y, highs.x - lows.x, plot), xaxis: axis('x'), yaxis: axis('y')}};
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

function counts() {
  const found = {right: 0, wrong: 0, unseen: 0};
  view.data.points.forEach((_, at) => found[stateOf(at)]++);
  return found;
}
const cloudSays = () => { const {right, wrong, unseen} = counts(); return t(unseen ? 'inside.says' : 'inside.says_all', {right, wrong, unseen}); };
function cloudTable() {
  const rows = new Map();
  view.data.points.forEach((point, at) => { const key = `${point.task} ${point.class}`, row = rows.get(key) ?? rows.set(key, {point, right: 0, wrong: 0, unseen: 0}).get(key); row[stateOf(at)]++; });
  return [[t('table.class'), t('table.task'), t('table.right'), t('table.wrong')], [...rows.values()].map(row => [pretty(row.point.class), taskName(view.run.tasks?.[row.point.task], row.point.task), String(row.right), row.unseen ? t('table.unseen') : String(row.wrong)])];
}

function showPhoto(event, card, plot, hover, ring) {
  const spot = event.points[0], at = spot.customdata, point = view.data.points[at], says = view.data.frames[view.time].class[at], state = stateOf(at);
  const box = plot.getBoundingClientRect(), around = card.getBoundingClientRect(), x = box.left - around.left + spot.xaxis._offset + spot.xaxis.l2p(spot.x), y = box.top - around.top + spot.yaxis._offset + spot.yaxis.l2p(spot.y);
  hover.replaceChildren(h('img', {src: photoUrl(view.run.project, point.photo), alt: ''}), h('div', {}, h('b', {}, pretty(point.class)), h('span', {}, dot(point.task), ` ${taskName(view.run.tasks?.[point.task], point.task)}`), h('span.verdict', {}, t(`inside.photo_${state}`, {says: pretty(says ?? '')}))));
  hover.hidden = ring.hidden = false;
  hover.style.left = `${x > around.width - 220 ? x - 196 : x + 22}px`; hover.style.top = `${Math.max(70, y - 150)}px`;
  ring.style.left = `${x}px`; ring.style.top = `${y}px`;
}

/* ---------- the matrix at this time ---------- */
async function drawMatrix(run, matrix) {
  const time = view.time;
  try {
    const figures = await figuresAt(run, cursorAfter(run, time));
    if (view.run !== run || view.time !== time) return;
    view.rows = figures.view.rows;
    chart(matrix.plot, figures.matrix, {run: `${run.id}-when`, zoom: false});
    matrix.tell(figures.say.matrix);
  } catch { /* the store's poll says so when the server is out of reach */ }
}
const matrixTable = () => [[t('table.after'), ...(view.run.tasks ?? []).map((task, at) => taskName(task, at))], (view.rows ?? []).map((row, after) => [taskName(view.run.tasks?.[after], after), ...row.map(([right, total]) => total ? t('table.cell', {percent: (100 * right / total).toFixed(1), right, total}) : '')])];
