/* Compare and share: the plane of learning and keeping, the leaderboard, and one sentence from the numbers. Rows come from Python. */
import {get} from './api.js';
import {bud, fill, glyph, h, icon, segmented, title} from './dom.js';
import {chart, frame, redrawAll} from './charts.js';
import {mountShare} from './compare_share.js';
import {explained, term} from './glossary.js';
import {lang, t} from './i18n.js';
import {changed, ownRuns, show, store, subscribe} from './store.js';
import {current, goTo} from './tabs.js';
import {speak, trouble} from './toast.js';

const state = {answer: null, project: null, stream: '', picked: '', key: '', asking: false, stale: true, drawn: null, aim: false, size: [0, 0]};
/** What the leaderboard shows now, as it came from the server. */
export const boardShown = () => state.answer;
const number = (value, digits = 1) => value === null || value === undefined ? null : (100 * value).toFixed(digits);
const none = () => h('span.na', {}, t('result.none'));
const label = row => row.note ? `${row.title} · ${row.note}` : row.title;

export function mountCompare(root) {
  const which = h('div.which.sets'), plane = frame(450, t('compare.plane'), () => planeTable()), board = h('article.card', {id: 'leaderboard'}), share = h('article.card', {id: 'share'}), claims = h('article.card', {id: 'claims'});
  const planeCard = h('article.card', {id: 'chart-plane'}, title(t('compare.plane'), explained('compare.plane_sub')), plane.parts, aimFold(plane.plot));
  const both = h('div.two.plane-row', {}, planeCard, board), empty = h('article.card.note-card', {id: 'nothing-to-compare'});
  root.replaceChildren(which, both, empty, share, claims);
  claims.append(title(t('claims.title'), t('claims.sub')), claimsFold());
  fill(empty, 'once', () => [bud(), h('h3', {}, t('compare.empty_title')), h('p.sub', {}, t('compare.empty_text')), h('button.btn', {type: 'button', onclick: () => goTo('train')}, t('compare.empty_train'), icon('arrow'))]);
  const drawShare = mountShare(share, () => state.answer);
  subscribe(() => {
    const id = store.project?.id ?? null;
    if (id !== state.project) Object.assign(state, {project: id, answer: null, stream: '', picked: '', stale: true});
    const runs = ownRuns(), key = JSON.stringify([id, store.project?.runs, store.project?.name, store.project?.counts, runs.map(run => [run.id, run.status])]);
    if (key !== state.key) { state.key = key; state.stale = true; }
    const {offsetWidth: wide, offsetHeight: high} = plane.plot;
    if (wide && (Math.abs(wide - state.size[0]) > 4 || Math.abs(high - state.size[1]) > 4)) { state.size = [wide, high]; state.stale = true; }
    if (state.stale && current() === 'compare') refresh();
    const answer = state.answer, any = Boolean(answer?.rows.length);
    both.hidden = !any; empty.hidden = any || Boolean(id && !answer); which.hidden = !any || answer.streams.length < 2;
    if (any) {
      planeCard.hidden = !answer.figure;
      both.classList.toggle('alone', !answer.figure);
      drawWhich(which, answer);
      drawBoard(board, answer);
      if (answer.figure && state.drawn !== answer) { state.drawn = answer; chart(plane.plot, answer.figure, {run: `plane-${answer.project}-${answer.stream}`, on: {click: event => pick(event.points?.[0]?.data?.meta)}}); plane.tell(answer.say.plane); speak('compare', answer.say.board); }
    }
    drawShare();
  });
  document.addEventListener('click', event => { if (event.target.closest?.('#story [role=tab]')) setTimeout(changed, 60); });
  addEventListener('hashchange', changed);
  new ResizeObserver(changed).observe(plane.plot);  // labels have other room
  setInterval(() => { if (current() === 'compare' && !document.hidden && (state.stale || state.answer?.unfinished)) refresh(); }, 2500);
}

/** A target on the plane, put up and away by one button. */
function aimFold(plot) {
  const box = h('div.aimbox'), button = h('button.btn.ghost', {type: 'button', id: 'aim', 'aria-pressed': 'false', onclick: toggle}, t('aim.toggle'));
  let away = null;
  async function toggle() {
    state.aim = !state.aim; state.stale = true;
    button.setAttribute('aria-pressed', String(state.aim)); button.textContent = t(state.aim ? 'aim.stop' : 'aim.toggle');
    await refresh();
    try { if (state.aim) away = (await import('./lazy/aim.js')).mountAim(plot, box, () => state.answer); else { away?.(); away = null; } } catch (error) { trouble(error); }
  }
  return h('div.aimrow', {}, button, box);
}

/** The papers' claims: fetched when somebody opens them. */
function claimsFold() {
  const box = h('div', {}, h('p.sub', {}, t('claims.loading')));
  return h('details.meaning', {ontoggle: async event => { if (event.target.open && !box.dataset.drawn) try { await (await import('./lazy/claims.js')).drawClaims(box); box.dataset.drawn = '1'; } catch (error) { trouble(error); } }}, h('summary', {}, t('claims.open_table'), icon('down')), box);
}

async function refresh() {
  const id = store.project?.id;
  if (!id || state.asking) return;
  state.asking = true; state.stale = false;
  try {
    const asked = new URLSearchParams({lang, stream: state.stream, picked: state.picked, aim: state.aim, width: state.size[0], height: state.size[1]}), answer = await get(`projects/${id}/compare?${asked}`);
    if (id === store.project?.id && JSON.stringify(answer) !== JSON.stringify(state.answer)) state.answer = answer;
  } catch (error) { state.stale = true; if (error.status === undefined) console.error(error); } // asked again soon
  finally { state.asking = false; changed(); }
}

function pick(key) {
  const row = state.answer?.rows.find(one => one.key === key);
  if (!row || row.bound) return;
  state.picked = state.picked === key ? '' : key;
  if (state.picked) show(row.run);
  state.stale = true;
  changed();
}

function drawWhich(node, {streams, stream}) {
  fill(node, [streams, stream], () => [h('span.label', {}, t('compare.which')),
    segmented(t('compare.which'), streams.slice(0, 4).map(one => [one.key, t('compare.set', one)]), stream, key => { state.stream = key; state.picked = ''; state.stale = true; changed(); }, 'stream')]);
}

/* ---------- the leaderboard ---------- */
/** What the glossary says of a number. */
const TERMS = {end: 'last_accuracy', interval: 'interval', forgot: 'forgetting', learns: 'plasticity', keeps: 'stability', module: 'routing', module_right: 'a_right', module_wrong: 'a_wrong', published: 'batch_vote', oracle: 'oracle'};
const head = name => TERMS[name] ? term(TERMS[name], t(`compare.${name}`)) : t(`compare.${name}`);
const COLUMNS = ['end', 'forgot', 'module', 'seconds', 'memory'];

function drawBoard(node, answer) {
  const {rows, say, unfinished} = answer, [set] = answer.streams.filter(one => one.key === answer.stream);
  const seeds = new Set(rows.map(row => row.seeds.length)), shared = seeds.size === 1 ? [...seeds][0] : 0, spread = rows.some(row => row.spread !== null);
  fill(node, [rows, say.board, unfinished, state.picked], () => [
    title(t('compare.board'), [t('compare.board_sub', set), shared > 1 ? t('compare.board_seeds', {n: shared}) : ''].join(t('say.gap'))),
    h('div.scroll', {}, h('table.board', {}, h('caption.hidden', {}, t('compare.board')),
      h('thead', {}, h('tr', {}, h('td'), h('th', {scope: 'col'}, t('compare.method')), COLUMNS.map(name => h('th', {scope: 'col', class: `c-${name}`, title: TERMS[name] ? null : t(`compare.${name}_help`)}, head(name))))),
      h('tbody', {}, rows.map(row => line(row, shared, spread))))),
    h('p.say', {}, say.board), unfinished ? h('p.fine', {role: 'status'}, t('compare.waiting', {n: unfinished})) : null,
    h('details.meaning', {ontoggle: redrawAll}, h('summary', {}, t('compare.all'), icon('down')), h('div.scroll', {}, numbers(rows))),
    h('details.meaning', {ontoggle: redrawAll}, h('summary', {}, t('compare.meaning'), icon('down')), h('dl', {}, ['end', 'interval', 'forgot', 'learns', 'keeps', 'module', 'module_right', 'published', 'oracle', 'memory', 'seconds'].map(name => h('div', {}, h('dt', {}, t(`compare.${name}`)), h('dd', {}, t(`compare.${name}_help`))))))]);
}

function line(row, shared, anySpread) {
  const picked = row.key === state.picked, many = row.seeds.length > 1;
  const small = [row.bound ? term('joint', t('compare.upper_bound')) : null, row.note, many && !shared ? t('compare.seeds', {n: row.seeds.length}) : null, row.tied ? term('interval', t('compare.tied')) : null].filter(Boolean);
  const values = {low: number(row.low), high: number(row.high), least: number(row.least), most: number(row.most), n: row.total};
  const name = row.bound ? h('b', {}, row.title) : h('button.name', {type: 'button', 'aria-pressed': String(picked), title: t('compare.pick', {method: row.title}), dataset: {focus: `row-${row.key}`}, onclick: () => pick(row.key)}, row.title);
  return h('tr', {class: `${row.bound ? 'bound' : ''} ${picked ? 'you' : ''}`, onclick: event => { if (!row.bound && !event.target.closest('button') && !String(getSelection())) pick(row.key); }, dataset: {method: row.method, right: String(row.right), total: String(row.total)}},
    h('td', {}, glyph(row.method)),
    h('th', {scope: 'row'}, name, small.length ? h('span.sub', {}, small.map((one, at) => [at ? ' · ' : '', one])) : null),
    h('td.acc.c-end', {title: t(many ? 'compare.hover_many' : 'compare.hover_one', values)},
      h('span.spread', {'aria-hidden': 'true', style: {'--v': row.accuracy}}), h('b', {}, number(row.accuracy)), anySpread ? h('span.pm', {}, row.spread !== null ? `±${number(row.spread)}` : '') : null,
      row.batch_vote_accuracy !== null ? h('span.sub', {title: t('compare.published_help')}, t('compare.published_short', {value: number(row.batch_vote_accuracy)})) : null),
    h('td.c-forgot', {}, number(row.forgetting) ?? none()),
    h('td.c-module', {}, number(row.routing_accuracy) ?? none(), row.accuracy_right !== null ? h('span.sub', {title: t('compare.module_right_help')}, t('compare.then_short', {right: number(row.accuracy_right, 0), wrong: number(row.accuracy_wrong, 0) ?? '–'})) : null),
    h('td.c-seconds', {}, seconds(row)), h('td.c-memory', {}, memory(row.bytes)));
}

const seconds = row => t('compare.seconds_n', {n: row.seconds.toFixed(row.seconds < 100 ? 1 : 0)});
export const memory = bytes => bytes === null ? t('result.none') : bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${bytes ? Math.max(1, Math.round(bytes / 1e3)) : 0} kB`;

const or = value => value ?? t('result.none');

/** Every number of every row: what the leaderboard has no room for. */
function numbers(rows) {
  const names = ['end', 'interval', 'forgot', 'learns', 'keeps', 'module', 'module_right', 'module_wrong', 'published', 'oracle', 'parameters', 'memory', 'seconds'];
  const values = row => [row.spread === null ? number(row.accuracy) : `${number(row.accuracy)} ±${number(row.spread)}`, `${number(row.low)}–${number(row.high)}`, or(number(row.forgetting)), or(number(row.learning_accuracy)), or(row.forgetting === null ? null : number(1 - row.forgetting)),
    ...['routing_accuracy', 'accuracy_right', 'accuracy_wrong', 'batch_vote_accuracy', 'oracle_accuracy'].map(name => or(number(row[name]))), or(row.parameters === null ? null : Math.round(row.parameters).toLocaleString(lang)), memory(row.bytes), seconds(row)];
  return h('table.numbers', {}, h('caption.hidden', {}, t('compare.all')), h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, t('compare.method')), names.map(name => h('th', {scope: 'col'}, head(name))))),
    h('tbody', {}, rows.map(row => h('tr', {}, h('th', {scope: 'row'}, label(row)), values(row).map(value => h('td', {}, value))))));
}

function planeTable() {
  return [[t('compare.method'), t('compare.learns'), t('compare.keeps'), t('compare.end')], (state.answer?.rows ?? []).map(row => [label(row), or(number(row.learning_accuracy)), or(row.forgetting === null ? null : number(1 - row.forgetting)), number(row.accuracy)])];
}
