/* The accuracy matrix at the moment shown; a cell opens the photos of that task that flipped, and what they are taken for. */
import {photoUrl} from './api.js';
import {frame} from './charts.js';
import {dot, fill, h, icon, pretty, segmented, title} from './dom.js';
import {explained} from './glossary.js';
import {taskName} from './header.js';
import {t} from './i18n.js';
import {frameNow, moveTo, saidOf, view} from './inside.js';
import {drawGrid} from './inside_grid.js';
import {changed} from './store.js';

const MOST = 24;
let since = 'row';

export function mountMatrix(card, askAt) {
  const matrix = frame(400, t('charts.matrix'), table), pick = h('div.choose.columns'), flips = h('div.flips', {'aria-live': 'polite'});
  card.replaceChildren(title(t('charts.matrix'), explained('inside.matrix_sub')), ...matrix.parts, h('hr.rule'), pick, flips);
  matrix.plot.classList.add('flow');
  let painted = null;
  return () => {
    const task = column(), options = Array.from({length: view.time + 1}, (_, at) => [at, String(at + 1), taskName(view.run.tasks?.[at], at)]);
    fill(pick, [view.time, task, since], () => [h('span.labelled', {}, h('span.sub', {}, t('flips.column')), segmented(t('flips.column'), options, task, value => { view.task = value; changed(); }, 'flips-column')),
      view.time > task + 1 ? segmented(t('flips.since'), [['row', t('flips.row')], ['learnt', t('flips.learnt')]], since, value => { since = value; changed(); }, 'flips-since') : null]);
    fill(flips, [view.run.id, view.time, view.how, task, since, view.data.pending], () => drawFlips(task, askAt));
    const key = JSON.stringify([view.run.id, view.time, view.how, task, matrix.plot.offsetWidth]);
    if (painted === key || !matrix.plot.offsetWidth) return;
    painted = key;
    const {say} = frameNow(), last = view.figures.frames.at(-1), whole = (view.how === 'published' && last.published ? last.published : last.photo).matrix, cut = row => row > view.time;
    matrix.tell(say);
    drawGrid(matrix.plot, {data: [{...whole.data[0], z: whole.data[0].z.map((row, at) => cut(at) ? row.map(() => null) : row)}, whole.data[1]]}, {chosen: [task, view.time], pick: (x, y) => { view.task = x; moveTo(y); }, axes: [t('figure.asked'), t('figure.after')], names: at => taskName(view.run.tasks?.[at], at)});
  };
}

/** The column asked about: the one picked, else the one that lost most photos by now. */
function column() {
  if (view.task !== null && view.task <= view.time) return view.task;
  const lost = Array.from({length: view.time + 1}, (_, task) => compare(task, Math.max(task, view.time - 1)).lost.length);
  return lost.indexOf(Math.max(...lost));
}

const right = (at, time) => saidOf(at, time) === view.data.points[at].class;
/** Photos of `task` by what became of them between the moments `from` and now: {lost, won, total}, positions. */
function compare(task, from) {
  const all = view.data.points.map((_, at) => at).filter(at => view.data.points[at].task === task);
  return {lost: all.filter(at => right(at, from) && !right(at, view.time)), won: all.filter(at => !right(at, from) && right(at, view.time)), wrong: all.filter(at => !right(at, view.time)), total: all.length};
}

function drawFlips(task, askAt) {
  const first = view.time === task, from = since === 'row' ? Math.max(task, view.time - 1) : task, {lost, won, wrong, total} = compare(task, from), name = taskName(view.run.tasks?.[task], task);
  const values = {task: name, from: from + 1, to: view.time + 1, lost: lost.length, won: won.length, wrong: wrong.length, total};
  const gone = first ? wrong : lost, counts = new Map();
  gone.forEach(at => counts.set(saidOf(at), (counts.get(saidOf(at)) ?? 0) + 1));
  const [most, times] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [null, 0];
  const all = frameNow().rows.at(-1)[task]?.[1] ?? total;
  return [h('p', {}, h('b', {}, t(first ? 'flips.first' : lost.length + won.length ? 'flips.lost' : 'flips.none', values)), !first && times > 1 && times > gone.length / 2 ? t('say.gap') + t('flips.most', {says: pretty(most)}) : ''),
    h('ul.fliplist', {}, gone.slice(0, MOST).map(at => photo(at, first ? 'first' : 'lost', from, askAt)), first ? [] : won.slice(0, MOST - Math.min(MOST, gone.length)).map(at => photo(at, 'won', from, askAt)), gone.length + (first ? 0 : won.length) > MOST ? h('li.sub', {}, t('flips.more', {n: gone.length + (first ? 0 : won.length) - MOST})) : null),
    all > total ? h('p.fine', {}, t('flips.part', {shown: total, total: all})) : null];
}

/** A flipped photo: grey in a dashed frame with the bead of the task that took it, or in full colour when it came back. */
function photo(at, state, from, askAt) {
  const point = view.data.points[at], says = saidOf(at, state === 'won' ? from : view.time), thief = view.run.tasks?.findIndex(task => task.classes.includes(says)) ?? -1, label = t(`flips.photo_${state}`, {truth: pretty(point.class), says: pretty(says)});
  return h('li', {class: state}, h('button', {type: 'button', title: label, 'aria-label': label, dataset: {photo: String(at), focus: `flip-${at}`}, onclick: () => askAt(at)},
    h('img', {src: photoUrl(view.run.project, point.photo), alt: '', loading: 'lazy'}), state === 'won' ? h('span.back', {}, icon('check')) : thief >= 0 ? dot(thief) : null, h('span.said', {'aria-hidden': 'true'}, pretty(says))));
}

const table = () => [[t('table.after'), ...(view.run.tasks ?? []).map((task, at) => taskName(task, at))], frameNow().rows.map((row, after) => [taskName(view.run.tasks?.[after], after), ...row.map(([good, total]) => total ? t('table.cell', {percent: (100 * good / total).toFixed(1), right: good, total}) : '')])];
