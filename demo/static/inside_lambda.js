/* The lambda panel: TOSCA over a really trained grid of sparsities, on the person's photos in the background or as recorded for a pack. */
import {get, post} from './api.js';
import {chart, frame} from './charts.js';
import {bud, dot, fill, h, segmented, title} from './dom.js';
import {explained, term} from './glossary.js';
import {taskName} from './header.js';
import {lang, problemText, t} from './i18n.js';
import {view} from './inside.js';
import {changed} from './store.js';
import {trouble} from './toast.js';

const TERMS = {routing: 'routing', oracle: 'oracle'};
const MEASURES = ['accuracy', 'routing', 'oracle', 'zeros', 'displacement', 'turns', 'overlap'];
export const panel = {run: null, source: 'own', pack: null, packs: null, grids: new Map(), at: 3, busy: false};

export function mountLambda(card) {
  const sources = h('div.choose'), state = h('div.lambdastate', {role: 'status'}), caption = h('p.say.caption'), claim = h('div.claim'), pairs = h('div.pairs'), numbers = h('dl.readout');
  const levels = frame(280, t('lambda.levels'), () => table()), shapes = frame(280, t('lambda.shapes'), () => table());
  const slider = h('input.plain', {type: 'range', min: 0, max: 5, step: 1, 'aria-label': t('lambda.slider'), oninput: () => { panel.at = Number(slider.value); changed(); }});
  const range = h('label.lambdarange', {}, h('span.label', {}, t('lambda.slider')), h('output'), slider);
  const charts = h('div', {}, h('div.two.even', {}, h('div', {}, h('h4', {}, t('lambda.levels')), levels.parts), h('div', {}, h('h4', {}, t('lambda.shapes')), shapes.parts)), caption, claim, h('div.lambdarow', {}, h('div', {}, range, numbers), pairs));
  card.replaceChildren(title(t('lambda.title'), explained('lambda.sub')), sources, state, charts);
  let painted = null;
  return () => {
    if (panel.run !== view.run.id) { panel.run = view.run.id; panel.grids.delete('own'); itsOwn(view.run.project); look(); }
    const grid = panel.grids.get(panel.source), ready = grid && grid.rows?.some(row => row.accuracy);
    fill(sources, [panel.source, panel.packs], () => panel.packs?.length ? segmented(t('lambda.source'), [['own', t('lambda.own')], ...panel.packs.map(one => [one.name, one.title])], panel.source, pickSource, 'lambda-source') : []);
    fill(state, [panel.source, grid?.state ?? null, grid?.done ?? 0, grid?.problem ?? null, panel.busy], () => grid ? drawState(grid) : []);
    charts.hidden = !ready;
    if (!ready) return;
    const known = grid.rows.filter(row => row.accuracy), at = Math.min(panel.at, known.length - 1), row = known[at];
    slider.max = known.length - 1; slider.value = at;
    slider.style.setProperty('--v', known.length > 1 ? at / (known.length - 1) : 0);
    slider.setAttribute('aria-valuetext', String(row.sparsity));
    range.querySelector('output').textContent = String(row.sparsity);
    fill(numbers, [panel.source, at, grid.done], () => drawNumbers(row));
    fill(pairs, [panel.source, at, grid.done, view.run.id], () => drawPairs(row));
    fill(claim, [grid.claim, grid.verdict], () => [h('p', {}, grid.claim, ' ', grid.verdict ? h('b.tag', {dataset: {holds: String(grid.verdict.holds)}}, grid.verdict.word) : null), grid.verdict ? h('p.fine', {}, grid.verdict.text) : null]);
    if (caption.textContent !== grid.caption) caption.textContent = grid.caption;
    const key = JSON.stringify([panel.source, view.run.id, grid.done, at, levels.plot.offsetWidth]);
    if (painted === key || !levels.plot.offsetWidth) return;
    painted = key;
    const mark = {type: 'line', x0: at, x1: at, yref: 'paper', y0: 0, y1: 1, layer: 'below', line: {color: '@line-strong', width: 1.5, dash: 'dot'}};
    for (const [plot, name] of [[levels, 'levels'], [shapes, 'shapes']]) {
      chart(plot.plot, {...grid[name], layout: {...grid[name].layout, shapes: [mark]}}, {run: `lambda-${panel.source}-${name}`, zoom: false, on: {click: event => { panel.at = event.points[0].x; changed(); }}});
      plot.tell(`${t('lambda.seeds_mean')}`);
    }
  };
}

/** A run of a starter pack begins with what was recorded for that pack. */
function itsOwn(project) {
  const pack = project?.startsWith('pack:') ? project.slice(5) : null;
  if (pack !== panel.pack) Object.assign(panel, {pack, source: pack ?? 'own'});
}
export function pickSource(source) { panel.source = source; look(); changed(); }

/** Fetches what is shown; while a grid is being trained it comes again every second and a half. */
async function look() {
  const {run, source} = panel;
  try {
    panel.packs ??= await get(`lambda?lang=${lang}`);
    const grid = await get(source === 'own' ? `runs/${run}/lambda?lang=${lang}` : `lambda/${source}?lang=${lang}`);
    if (panel.run !== run || panel.source !== source) return;
    panel.grids.set(source, grid);
    changed();
    if (grid.state === 'running') setTimeout(() => panel.run === run && panel.source === source && look(), 1500);
  } catch (error) { if (error.status >= 500) setTimeout(() => panel.run === run && look(), 5000); }
}

async function ask(what) {
  panel.busy = true; changed();
  try { await post(`runs/${panel.run}/lambda`, {do: what}); } catch (error) { trouble(error); }
  panel.busy = false;
  look();
}

function drawState(grid) {
  const button = (what, words, kind = '') => h(`button.btn${kind}`, {type: 'button', disabled: panel.busy, dataset: {lambda: what, focus: `lambda-${what}`}, onclick: () => ask(what)}, words), values = {done: grid.done, total: grid.total, seeds: grid.seeds};
  if (grid.state === 'none') return h('div.nothing', {}, bud(), h('p.sub', {}, t('lambda.start_text')), button('start', t('lambda.start', {total: 18})));
  if (grid.state === 'running') return h('div.lambdawork', {}, h('span', {}, t('lambda.progress', values)), h('span.progressline', {style: {'--v': grid.done / grid.total}}), button('stop', t('lambda.stop'), '.ghost'));
  if (panel.source !== 'own') return h('p.sub', {}, h('span.tag.quiet', {}, t('lambda.recorded', values)));
  if (grid.state === 'finished') return h('p.sub', {}, h('span.tag.quiet', {}, t('lambda.measured', values)));
  return h('div.lambdawork', {}, h('span', {}, grid.problem ? problemText(grid.problem) : t('lambda.stopped', values)), button('start', t('lambda.again'), '.ghost'));
}

const spread = one => one ? `${one.mean.toFixed(3)} ± ${one.sd.toFixed(3)}` : '–';
const drawNumbers = row => MEASURES.map(name => h('div', {dataset: {measure: name}}, h('dt', {}, TERMS[name] ? term(TERMS[name], t(`lambda.${name}`)) : t(`lambda.${name}`)), h('dd', {}, spread(row[name]))));

/** The overlap of every pair of modules as a small tinted table with beads on both sides. */
function drawPairs(row) {
  const size = row.overlaps.length, name = at => panel.source === 'own' ? taskName(view.run.tasks?.[at], at) : t('task.n', {n: at + 1});
  if (size < 2) return h('p.sub', {}, t('lambda.no_pairs'));
  const cell = (a, b) => a === b ? h('td.self') : h('td', {style: {'--v': `${Math.round(70 * Math.max(0, Math.min(1, row.overlaps[a][b] / .6)))}%`}, title: t('lambda.pair', {a: a + 1, b: b + 1, value: row.overlaps[a][b].toFixed(3)})}, row.overlaps[a][b].toFixed(2));
  return [h('h4', {}, t('lambda.pairs', {value: row.sparsity})), h('div.tableholder', {tabIndex: 0, role: 'group', 'aria-label': t('lambda.pairs', {value: row.sparsity})}, h('table.pairtable', {}, h('thead', {}, h('tr', {}, h('td'), Array.from({length: size}, (_, at) => h('th', {scope: 'col', title: name(at)}, dot(at))))),
    h('tbody', {}, Array.from({length: size}, (_, a) => h('tr', {}, h('th', {scope: 'row', title: name(a)}, dot(a)), Array.from({length: size}, (_, b) => cell(a, b))))))), h('p.fine', {}, t('lambda.pairs_help'))];
}

function table() {
  const grid = panel.grids.get(panel.source);
  return [[t('lambda.value'), ...MEASURES.map(name => t(`lambda.${name}`))], (grid?.rows ?? []).filter(row => row.accuracy).map(row => [String(row.sparsity), ...MEASURES.map(name => spread(row[name]))])];
}
