/* One store: the project, the cards, the worker's state and the runs followed. It polls; views subscribe and draw. */
import {get, post, Problem} from './api.js';
import {addEvents, advance, clock, head, isActive, jump, newRun} from './clock.js';
import {has, kept, lang, t} from './i18n.js';
import {toast, trouble} from './toast.js';

export const store = {project: null, onShow: null, cards: null, status: null, runs: new Map(), shown: null, starting: false, away: false};
const listeners = new Set();
let pending = false;

export const subscribe = draw => { listeners.add(draw); draw(); };
export function changed() {
  if (pending) return;
  pending = true;
  setTimeout(() => { pending = false; listeners.forEach(draw => { try { draw(); } catch (error) { console.error(error); } }); }, 0);
}

/* ---------- project ---------- */
export async function ensureProject() {
  if (store.project) return store.project;
  const {id} = await post('projects');
  kept.set('project', id);
  return takeProject(await get(`projects/${id}`));
}

export function takeProject(project) {
  if (store.project?.id === project.id && store.project.version > project.version) return store.project;
  store.project = project;
  followRuns().catch(quiet);
  changed();
  return project;
}

/** One change to the project; the page shows what the server then knows. */
export async function edit(what, values = {}) {
  try { const project = await ensureProject(); return takeProject(await post(`projects/${project.id}/edit`, {do: what, ...values})); }
  catch (error) { trouble(error); return null; }
}

async function refreshProject() {
  const id = store.project?.id ?? kept.get('project');
  if (!id) return;
  try { const project = await get(`projects/${id}`); if (project.version !== store.project?.version || project.runs.length !== store.project?.runs.length) takeProject(project); }
  catch (error) {
    if (!(error instanceof Problem) || error.status !== 404) throw error;
    kept.set('project', null); store.project = null; store.runs.clear(); store.shown = null;
    toast({title: t('toast.gone'), text: t('toast.gone_text'), key: 'gone'});
    changed();
  }
}

/* ---------- runs: the newest of each method ---------- */
const known = new Map();
async function followRuns() {
  const ids = (store.project?.runs ?? []).slice(-24);
  for (const id of ids) if (!known.has(id)) { try { known.set(id, await get(`runs/${id}`)); } catch (error) { if (error.status === 404) known.set(id, null); else throw error; } }
  const newest = new Map(guests.map(info => [info.id, info]));
  for (const id of ids) { const info = known.get(id); if (info) newest.set(info.method, info); }
  const wanted = new Set([...newest.values()].map(info => info.id));
  for (const id of store.runs.keys()) if (!wanted.has(id)) store.runs.delete(id);
  for (const info of newest.values()) if (!store.runs.has(info.id)) store.runs.set(info.id, firstSight(info));
  const place = run => (store.cards ?? []).findIndex(card => card.name === run.method);
  store.runs = new Map([...store.runs].sort(([, a], [, b]) => place(a) - place(b)));
  store.shown = store.runs.has(picked) ? picked : [...store.runs.values()].find(run => !cardOf(run.method)?.bound)?.id ?? [...store.runs.keys()][0] ?? null;
  changed();
}

/** Runs of a starter pack join those of the project, so that Look inside can show them; `title` tells them apart, `names` are its tasks'. */
let guests = [];
const called = (tasks, names) => names ? tasks.map((task, at) => ({...task, name: names[at]})) : tasks;
export async function invite(ids, title, names, first) {
  guests = await Promise.all(ids.map(async id => { const info = await get(`runs/${id}`); return {...info, title, names, tasks: called(info.tasks, names)}; }));
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
export async function train(methods, settings, seed) {
  store.starting = true; changed();
  try {
    const project = await ensureProject(), {runs} = await post(`projects/${project.id}/train`, {methods, settings, seed});
    runs.forEach(id => started.add(id));
    clock.playing = true;
    takeProject(await get(`projects/${project.id}`));
    picked = null;
    await followRuns();
    return runs;
  } catch (error) { trouble(error); return []; }
  finally { store.starting = false; changed(); poll(); }
}

export async function command(run, what) {
  try { run.status = (await post(`runs/${run.id}/do`, {do: what})).status ?? run.status; } catch (error) { trouble(error); }
  changed();
}

/** Shows one run everywhere, at once or as soon as the page has heard of it; what a person has picked stays until the run is gone. */
let picked = null;
export function show(id) { picked = id; if (store.runs.has(id)) store.shown = id; changed(); }
export const shownRun = () => store.runs.get(store.shown) ?? null;
export const cardOf = method => store.cards?.find(card => card.name === method) ?? null;
export const titleOf = method => has(`method.${method}.title`) ? t(`method.${method}.title`) : cardOf(method)?.title ?? method;
/** What tells a run from the others: its method, and the starter pack where it is not one of the person's own photos. */
export const labelOf = run => run.title ? `${titleOf(run.method)} · ${run.title}` : titleOf(run.method);
export const isBusy = () => [...store.runs.values()].some(isActive);

async function refreshRun(run) {
  for (;;) {
    const {events, status} = await get(`runs/${run.id}/events?since=${run.since}`);
    addEvents(run, events);
    if (status && status !== run.status) { run.status = status; run.info = null; }
    if (!events.length) break;
    changed();
  }
  if (run.wanted !== undefined && run.events.length) { jump(run, run.wanted); if (!isActive(run) || run.wanted <= head(run)) delete run.wanted; }
  if (!run.info || run.status === 'queued') { run.info = await get(`runs/${run.id}`); Object.assign(run, {status: run.info.status, place: run.info.place, problem: run.info.problem, restarted: run.info.restarted, tasks: called(run.info.tasks, run.names)}); changed(); }
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

let timer = 0, lastProject = 0, lastStatus = 0, polling = false;
async function poll() {
  clearTimeout(timer);
  if (polling) return;
  polling = true;
  const busy = isBusy() && !document.hidden, now = Date.now();
  try {
    if (!document.hidden) {
      if (now - lastStatus > (store.status?.backbone?.state === 'ready' && store.status?.worker === 'ready' ? 3000 : 800)) { lastStatus = now; await refreshStatus(); }
      if (now - lastProject > 2500) { lastProject = now; await refreshProject(); }
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
    if (run.id === store.shown || run.figuresAt < 0) refreshFigures(run);
  }
}

export async function start() {
  document.addEventListener('visibilitychange', () => { lastTick = performance.now(); if (!document.hidden) poll(); });
  setInterval(tick, 100);
  try { await refreshProject(); } catch (error) { quiet(error); }
  poll();
}
