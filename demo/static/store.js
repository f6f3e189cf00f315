/* One store: the project, the cards, the worker's state and the runs followed. It polls; views subscribe and draw. */
import {get, post, Problem} from './api.js';
import {addEvents, advance, clock, head, isActive, jump, newRun} from './clock.js';
import {lineUp, lines} from './lineup.js';
import {has, kept, lang, t} from './i18n.js';
import {loadPackNames, nameHere} from './pack_names.js';
import {toast, trouble} from './toast.js';

export const store = {project: null, onShow: null, cards: null, status: null, runs: new Map(), mates: new Map(), waiting: [], shown: null, own: null, starting: false, away: false, gate: null};
const listeners = new Set();
let pending = false;

export const subscribe = draw => { listeners.add(draw); draw(); };
export function changed() {
  if (pending) return;
  pending = true;
  setTimeout(() => { pending = false; listeners.forEach(draw => { try { draw(); } catch (error) { console.error(error); } }); }, 0);
}

/* ---------- project ---------- */
let making = null;
export async function ensureProject() {
  return store.project ?? await (making ??= newProject().finally(() => { making = null; }));  // many photos at once make one project
}

async function newProject() {
  const {id} = await post('projects');
  kept.set('project', id);
  return takeProject(await get(`projects/${id}`));
}

export function takeProject(project) {
  if (store.project?.id === project.id && store.project.version > project.version) return store.project;
  store.project = project;
  refreshRuns().catch(quiet);
  changed();
  return project;
}

/** One change to the project; the page shows what the server then knows. */
export async function edit(what, values = {}) {
  try { const project = await ensureProject(); return takeProject(await post(`projects/${project.id}/edit`, {do: what, ...values})); }
  catch (error) { trouble(error); return null; }
}

async function refreshProject() {
  const id = store.project?.id ?? store.status?.shown ?? kept.get('project');
  if (!id) return;
  try { const project = await get(`projects/${id}?have=${store.project?.version ?? -1}`); if (project) takeProject(project); }
  catch (error) {
    if (!(error instanceof Problem) || error.status !== 404) throw error;
    kept.set('project', null); store.project = null; store.runs.clear(); lines.told = []; store.shown = store.own = null;
    toast({title: t('toast.gone'), text: t('toast.gone_text'), key: 'gone'});
    changed();
  }
}

/* ---------- runs: of each method the first seeds of its newest training that is not waiting (lineup.js) ---------- */
const known = new Map();
async function refreshRuns() {
  const {project} = store;
  lines.told = project?.runs.length ? (await get(`projects/${project.id}/runs`)).runs : [];
  await followRuns();
}

async function followRuns() {
  const {leaders, mates, waiting} = lineUp([...store.runs.values()]), before = JSON.stringify([[...store.mates], store.waiting]);
  for (const {id} of leaders) if (!known.has(id)) { try { known.set(id, await get(`runs/${id}`)); } catch (error) { if (error.status === 404) known.set(id, null); else throw error; } }
  const wanted = new Map([...guests, ...leaders.map(one => known.get(one.id)).filter(Boolean)].map(info => [info.id, info]));
  for (const id of store.runs.keys()) if (!wanted.has(id)) store.runs.delete(id);
  for (const info of wanted.values()) if (!store.runs.has(info.id)) store.runs.set(info.id, firstSight(info));
  const place = run => (store.cards ?? []).findIndex(card => card.name === run.method), order = [...store.runs.keys()].join();
  store.runs = new Map([...store.runs].sort(([, a], [, b]) => isOwn(b) - isOwn(a) || place(a) - place(b)));
  const first = newestFirst(ownRuns()).find(run => !cardOf(run.method)?.bound)?.id ?? null, mine = id => store.runs.has(id) && isOwn(store.runs.get(id));
  const shown = store.runs.has(picked) ? picked : first ?? [...store.runs.keys()][0] ?? null, own = mine(shown) ? shown : picked && mine(store.own) ? store.own : first;
  const news = shown !== store.shown || own !== store.own || order !== [...store.runs.keys()].join() || before !== JSON.stringify([[...mates], waiting]);
  Object.assign(store, {mates, waiting, shown, own});
  if (news) changed();
}

/** The runs of the newest training before those of methods it has not. */
const newestFirst = runs => { const last = Math.max(...runs.map(run => run.created ?? 0)); return [...runs.filter(run => run.created === last), ...runs]; };

/** Runs of a starter pack stand beside those of the project, for Look inside alone; `title` tells them apart, `names` are its tasks'. */
let guests = [];
const called = (tasks, run) => tasks.map((task, at) => ({...task, name: run.names?.[at] ?? task.name, classes: task.classes.map(name => nameHere(run, name))}));
export async function invite(ids, title, names, first) {
  await loadPackNames();
  guests = await Promise.all(ids.map(async id => { const info = await get(`runs/${id}`); return {...info, title, names, tasks: called(info.tasks, {...info, names})}; }));
  await followRuns();
  for (const id of ids) { const run = store.runs.get(id); if (run && !run.events.length) await refreshRun(run); }
  show(first);
}

function firstSight(info) {
  const run = newRun(info), saved = sessionStorage.getItem(`fmn.at.${run.id}`);
  run.wanted = saved !== null ? Number(saved) : started.has(run.id) ? 0 : Infinity;
  return run;
}

const started = new Set();
/** Starts a training, or puts it into the queue where one is under way. `seeds` is 1, or 3 for a spread: seed, seed + 1, seed + 2. */
export const train = (methods, settings, seed, seeds = 1) => begin(id => post(`projects/${id}/train`, {methods, settings, seed, seeds}));
/** Starts all runs of a ready-made experiment in the same way. */
export const tryOut = name => begin(id => post(`projects/${id}/experiments`, {name}));

async function begin(ask) {
  const waits = isLearning();
  store.starting = true; changed();
  try {
    const project = await ensureProject(), {runs} = await ask(project.id);
    runs.forEach(id => started.add(id));
    if (!waits) { runs.forEach(id => lines.now.add(id)); clock.playing = true; pick(null); }
    takeProject(await get(`projects/${project.id}`));
    await refreshRuns();
    return runs;
  } catch (error) { trouble(error); return []; }
  finally { store.starting = false; changed(); poll(); }
}

export async function command(run, what) {
  try { run.status = (await post(`runs/${run.id}/do`, {do: what})).status ?? run.status; } catch (error) { trouble(error); }
  changed();
}

/** Takes a training out of the queue, whole; the note that says so can put it back. */
export async function withdraw({runs}) {
  try { for (const {id} of runs) await post(`runs/${id}/do`, {do: 'withdraw'}); }
  catch (error) { trouble(error); return poll(); }
  const seeds = new Set(runs.map(one => one.seed)), methods = [...new Set(runs.map(one => one.method))], settings = Object.fromEntries(runs.map(one => [one.method, one.settings]));
  toast({title: t('queue.out'), text: nameOf(runs), action: [t('queue.back'), () => runs[0].experiment ? tryOut(runs[0].experiment) : train(methods, settings, Math.min(...seeds), seeds.size)], key: 'queue', well: true});
  await refreshProject().catch(quiet);
  await refreshRuns().catch(quiet);
}

/** Shows a training that is under way already, though the page is still playing another one. */
export function showTraining({runs}) { runs.forEach(one => lines.now.add(one.id)); pick(null); clock.playing = true; followRuns().catch(quiet); }

/** Shows one run everywhere, at once or as soon as the page has heard of it; what a person has picked stays, over a reload too, until the run is gone. */
let picked = sessionStorage.getItem('fmn.shown');
function pick(id) { picked = id; id ? sessionStorage.setItem('fmn.shown', id) : sessionStorage.removeItem('fmn.shown'); }
export function show(id) { pick(id); if (store.runs.has(id)) { store.shown = id; if (isOwn(store.runs.get(id))) store.own = id; } changed(); }
/** The run of Look inside: one of the project's, or a starter pack's. */
export const shownRun = () => store.runs.get(store.shown) ?? null;
/** The project's run on show everywhere else. */
export const ownRun = () => store.runs.get(store.own) ?? null;
export const ownRuns = () => [...store.runs.values()].filter(isOwn);
/** Whether a run is of the project, not one a starter pack has brought into Look inside. */
export const isOwn = run => !run.title;
export const cardOf = method => store.cards?.find(card => card.name === method) ?? null;
export const titleOf = method => has(`method.${method}.title`) ? t(`method.${method}.title`) : cardOf(method)?.title ?? method;
/** What tells a run from the others: its method, the starter pack where it is not one of the person's own photos, and the experiment's variant. */
export const labelOf = run => [titleOf(run.method), run.title ?? null, variantOf(run)].filter(Boolean).join(' · ');
const variantOf = run => run.variant && has(`experiments.${run.experiment}.${run.variant}`) ? t(`experiments.${run.experiment}.${run.variant}`, run.settings) : null;
/** What a training is called: its experiment, or the methods that learn. */
export const nameOf = runs => runs[0].experiment ? t(`experiments.${runs[0].experiment}.title`) : [...new Set(runs.map(one => one.method))].map(titleOf).join(t('list.comma'));
const isBusy = () => [...store.runs.values()].some(isActive);
/** Whether the worker is at a training of this project, so that another one has to wait. */
export const isLearning = () => lines.told.some(one => one.status === 'running' || one.status === 'queued');

async function refreshRun(run) {
  for (;;) {
    const {events, status} = await get(`runs/${run.id}/events?since=${run.since}`);
    addEvents(run, events);
    if (run.wanted !== undefined && events.length) jump(run, run.wanted);  // while the rest of its events arrive
    if (status && status !== run.status) { run.status = status; run.info = null; }
    if (!events.length) break;
    changed();
  }
  if (run.wanted !== undefined && run.events.length) { jump(run, run.wanted); if (!isActive(run) || run.wanted <= head(run)) delete run.wanted; }
  if (!run.info || run.status === 'queued') { run.info = await get(`runs/${run.id}`); Object.assign(run, {status: run.info.status, place: run.info.place, wait: run.info.wait, problem: run.info.problem, restarted: run.info.restarted, tasks: called(run.info.tasks, run)}); changed(); }
}

/* ---------- figures: at most four a second, only the newest cursor ---------- */
const cache = new Map();
export async function figuresAt(run, cursor) {
  const key = `${run.id} ${cursor} ${run.restarted ? 1 : 0}`;
  if (!cache.has(key)) {
    const answer = get(`runs/${run.id}/figures?at=${cursor}&lang=${lang}`);
    cache.set(key, answer);
    answer.catch(() => cache.delete(key));
    if (cache.size > 200) cache.delete(cache.keys().next().value);
  }
  return cache.get(key);
}

async function refreshFigures(run) {
  if (run.asking || run.figuresAt === run.cursor || !run.cursor) return;
  run.asking = true;
  const cursor = run.cursor;
  try { run.figures = await figuresAt(run, cursor); run.figuresAt = cursor; changed(); }
  catch (error) { quiet(error); }
  finally { setTimeout(() => { run.asking = false; if (run.cursor !== run.figuresAt) refreshFigures(run); }, 250); }
}

/* ---------- the heart beat ---------- */
function quiet(error) { if (!(error instanceof Problem)) console.error(error); else if (error.status === 0 || error.status >= 500) lost(); }
function lost() { if (!store.away) { store.away = true; changed(); } }

let timer = 0, lastProject = 0, lastStatus = 0, lastRuns = 0, polling = false;
async function poll() {
  clearTimeout(timer);
  if (polling) return;
  polling = true;
  const busy = isBusy() && !document.hidden, now = Date.now();
  try {
    if (!document.hidden) {
      if (now - lastStatus > (store.status?.backbone?.state === 'ready' && store.status?.worker === 'ready' ? 3000 : 800)) { lastStatus = now; await refreshStatus(); }
      if (now - lastProject > 2500) { lastProject = now; await refreshProject(); }
      if (now - lastRuns > 900 && lines.told.some(isActive)) { lastRuns = now; await refreshRuns(); }
      else if (store.waiting.length) await followRuns();
      for (const run of store.runs.values()) if (isActive(run) || !run.info || now - (run.seen ?? 0) > 2500 && run.status !== 'finished') { run.seen = now; await refreshRun(run); }
    }
    if (store.away) { store.away = false; changed(); }
  } catch (error) { quiet(error); }
  finally { polling = false; timer = setTimeout(poll, busy || isBusy() && !document.hidden ? 300 : 1000); }
}

async function refreshStatus() {
  const before = JSON.stringify(store.status), old = store.status?.worker;
  store.status = await get('status');
  if (old === 'ready' && store.status.worker !== 'ready') toast({title: t('toast.restart'), text: t('toast.restart_text'), key: 'restart', seconds: 12});
  if (!store.cards && store.status.worker !== 'starting') { try { store.cards = await get('cards'); followRuns().catch(quiet); } catch (error) { if (error.status !== 503) throw error; } }
  if (JSON.stringify(store.status) !== before) changed();
}

let lastTick = performance.now();
function tick() {
  const now = performance.now(), seconds = Math.min(1, (now - lastTick) / 1000);
  lastTick = now;
  for (const run of store.runs.values()) {
    if (advance(run, seconds)) { sessionStorage.setItem(`fmn.at.${run.id}`, run.position >= run.total ? 'Infinity' : run.position.toFixed(3)); changed(); }
    if (run.id === store.shown || run.id === store.own || run.figuresAt < 0) refreshFigures(run);
  }
}

export async function start() {
  document.addEventListener('visibilitychange', () => { lastTick = performance.now(); if (!document.hidden) poll(); });
  setInterval(tick, 100);
  try { await refreshProject(); } catch (error) { quiet(error); }
  poll();
}
