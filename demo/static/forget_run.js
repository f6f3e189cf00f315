/* The run on show in "See it forget": its pack, seed and guess, both lanes as the server knows them, and one clock for all of it. */
import {get, post} from './api.js';
import {kept, lang, t} from './i18n.js';
import {changed, store} from './store.js';
import {valueOf} from './link.js';
import {toast, trouble} from './toast.js';

export const LANES = ['finetune', 'tosca'];
const PACE = 4, REST = 12, MARKS = 12;
const asked = new URLSearchParams(location.search);
export const wall = asked.get('view') === 'wall';
const demo = wall || location.hash === '#demo';
const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

export const run = {packs: null, pack: null, seed: 0, memory: [], tested: 0, guess: null, training: null, lanes: {}, position: 0, playing: false, starting: 0, problem: null, rested: 0, held: 0};
const listeners = new Set();
export const watch = draw => { listeners.add(draw); draw(); };
const told = () => listeners.forEach(draw => { try { draw(); } catch (error) { console.error(error); } });

/* ---------- what there is to see ---------- */
export const pack = () => run.packs?.find(one => one.name === run.pack) ?? null;
export const tasks = () => pack()?.tasks ?? [];
export const titled = task => task.title[lang] ?? task.title.en;
/** A title inside a sentence. */
export const named = task => lang === 'en' ? titled(task).toLowerCase() : titled(task);
export const caption = name => { const words = pack()?.captions[name]; return words?.[lang] ?? words?.en ?? name; };
export const picture = photo => `packs/${run.pack}/${photo}.webp`;

export async function open() {
  try {
    run.packs = (await get('packs')).packs;
    const before = demo ? null : remembered();
    run.pack = run.packs.some(one => one.name === before?.pack) ? before.pack : run.packs[0]?.name ?? null;
    run.seed = before?.seed ?? pack()?.seed ?? 0;
    linked(before);
    if (before?.training) { Object.assign(run, {training: before.training, guess: before.guess ?? null, position: Infinity}); }
    await introduce();
    if (run.training) { await refresh(); run.playing = !finished() && !broken(); poll(); }
    if (wall) follow(true); else if (demo && !run.training) start();
  } catch (error) { run.problem = error.problem ?? {code: 'page_error', values: {}}; }
  told();
}

/** A link may name the pack and its seed; a training of another one that was kept gives way. */
function linked(before) {
  const name = valueOf('pack'), known = run.packs.find(one => one.name === name), seed = Number(valueOf('seed') ?? NaN);
  if (name === null || wall) return;
  if (!known) return void toast({title: t('link.ignored'), items: [t('link.pack_unknown', {name})], key: 'link', seconds: 6});
  const wanted = Number.isInteger(seed) && seed >= 0 && seed <= 9999 ? seed : known.seed;
  if (before && (before.pack !== name || before.seed !== wanted)) before.training = null;
  Object.assign(run, {pack: name, seed: wanted});
}

async function introduce() {
  if (!run.pack) return;
  const about = await get(`packs/${run.pack}?seed=${run.seed}`);
  Object.assign(run, {memory: about.memory, tested: about.tested});
}

export async function choose(name) {
  if (name === run.pack) return;
  Object.assign(run, {pack: name, seed: run.packs.find(one => one.name === name).seed});
  await reset();
}

async function reset() {
  Object.assign(run, {guess: null, training: null, lanes: {}, position: 0, playing: false, memory: []});
  told();
  try { await introduce(); } catch (error) { trouble(error); }
  remember(); told(); changed();
}

export function guess(n) { run.guess = run.guess === n ? null : n; remember(); told(); }

/* ---------- one training ---------- */
export async function start() {
  if (run.starting || !run.pack) return;
  Object.assign(run, {starting: performance.now(), problem: null});
  told();
  try {
    const made = await post(`packs/${run.pack}/train`, {seed: run.seed});
    if (made.seed !== run.seed) { run.seed = made.seed; await introduce(); }  // a lab that only plays records has no other
    take(made);
  }
  catch (error) { run.problem = error.problem ?? {code: 'page_error', values: {}}; }
  finally { run.starting = 0; }
  told(); changed();
}

/** The next round: another seed draws other training and test photos, so there is something new to guess. */
export async function again() { run.seed += 1; await reset(); }

function take(training) {
  Object.assign(run, {training, lanes: {}, position: 0, playing: true, rested: 0});
  remember();
  poll();
}

/** The wall shows what was started last, by anyone; where nothing was, it starts the first run itself. */
async function follow(first) {
  try {
    const {training} = await get('packs/latest');
    if (training && training.training !== run.training?.training) {
      Object.assign(run, {pack: training.pack, seed: training.seed, guess: null});
      await introduce(); take(training);
    } else if (!training && first) await start();
  } catch { /* the header says that the server is out of reach */ }
  setTimeout(follow, 2000);
}

/** On a phone of the class: the teacher's run as the server passes it on. Small gaps between both clocks are left to glide. */
export function showing({story, position, playing, guess: mine}) {
  if (story) {
    const {pack: about, seed, memory, lanes} = story, started = Object.keys(lanes).length > 0;
    Object.assign(run, {packs: [about], pack: about.name, seed, memory, lanes, training: started ? {runs: lanes} : null});
  }
  const gap = Math.abs(run.position - position);
  Object.assign(run, {playing, guess: mine, ...(gap > .3 || !playing) && {position: Math.min(position, head())}});
  told();
}

const over = lane => lane && !['queued', 'running', 'paused'].includes(lane.status);
export const finished = () => LANES.every(method => run.lanes[method]?.status === 'finished');
export const ended = () => finished() && run.position >= tasks().length - 1e-9;
export const broken = () => Object.values(run.lanes).find(lane => lane.status === 'failed' || lane.status === 'stopped') ?? null;

async function refresh() {
  const {training} = run, all = Object.entries(training.runs), lanes = {};
  try { for (const [method, id] of all) lanes[method] = over(run.lanes[method]) ? run.lanes[method] : await get(`runs/${id}/lane`); }
  catch (error) {
    if (error.status !== 404) return;
    if (run.training === training) await reset();  // the folder is gone: an old training made room
    return;
  }
  if (run.training !== training) return;
  run.lanes = lanes;
  if (run.position === Infinity) run.position = head();
}

let timer = 0;
async function poll() {
  clearTimeout(timer);
  const {training} = run;
  if (!training) return;
  if (!document.hidden || wall) { await refresh(); told(); }
  if (run.training === training && !Object.keys(training.runs).every(method => over(run.lanes[method]))) timer = setTimeout(poll, 300);
}

/* ---------- the clock: both lanes at the same place, four seconds a task ---------- */
export const head = () => Math.min(...LANES.map(method => run.lanes[method]?.marks.at(-1)?.at ?? 0));
export const latest = (method, at = run.position) => run.lanes[method]?.marks.findLast(mark => mark.at <= at + 1e-6) ?? null;
export const upTo = method => (run.lanes[method]?.marks ?? []).filter(mark => mark.at <= run.position + 1e-6);
export const task = () => Math.min(tasks().length - 1, Math.floor(run.position + 1e-6));

export function jump(position) { run.playing = false; run.position = Math.max(0, Math.min(position, head())); moved(true); }
export function toggle() {
  if (!run.training) return start();
  if (run.playing) run.playing = false;
  else { if (ended()) run.position = 0; run.playing = true; run.rested = 0; }
  moved(true);
}

function advance(seconds) {
  if (!run.training || !run.playing) return;
  if (ended()) {
    run.rested += seconds;
    if (!demo) { run.playing = false; moved(true); } else if (run.rested > REST) { run.position = 0; run.rested = 0; moved(true); }
    return;
  }
  if (still()) {  // no gliding: from the end of one task to the end of the next
    run.held += seconds;
    if (run.held < PACE && run.position) return;
    const next = Math.floor(run.position + 1e-6) + 1;
    if (next > head() + 1e-6) return;
    Object.assign(run, {held: 0, position: next});
  } else run.position = Math.min(head(), run.position + seconds / PACE);
  moved(false);
}

let shown = '';
function moved(always) {
  const key = `${Math.floor(run.position * MARKS * 4)} ${run.playing}`;
  if (!always && key === shown) return;
  shown = key;
  told(); tellHeader();
}

/** "live", "playing", "paused" or "recorded": what a person sees is never taken for what it is not. */
export function mode() {
  if (broken()) return 'failed';
  if (!run.playing && !ended()) return 'paused';
  if (!finished()) return run.position >= head() - 1e-6 ? 'live' : 'behind';
  return ended() ? 'recorded' : 'playing';
}
const seconds = () => Math.max(0, ...LANES.map(method => run.lanes[method]?.seconds ?? 0));  // both take turns, so the longer clock holds the other's turns too
const modeText = () => run.starting || !run.training ? null : !Object.keys(run.lanes).length ? t('mode.queued') : t(`mode.${mode()}`, {seconds: seconds().toFixed(1)});

function tellHeader() {
  store.onShow = pack() ? {id: run.training?.training ?? run.pack, title: pack().title[lang] ?? pack().title.en, mode: run.training ? mode() : 'queued', modeText: modeText(), position: run.training ? run.position : 0,
    begun: Boolean(run.training), tasks: tasks().map(one => ({name: titled(one), picture: picture(one.photo)}))} : null;
  changed();
}
watch(() => { const now = JSON.stringify([run.training?.training, run.pack, mode(), modeText()]); if (watch.before !== now) { watch.before = now; tellHeader(); } });

let last = performance.now();
setInterval(() => { const now = performance.now(), passed = Math.min(1, (now - last) / 1000); last = now; advance(passed); if (run.starting) told(); }, 80);

/* ---------- a reload finds the same run ---------- */
function remember() { if (!wall) kept.set('forget', run.training ? JSON.stringify({training: run.training, pack: run.pack, seed: run.seed, guess: run.guess}) : null); }
function remembered() { try { return JSON.parse(kept.get('forget')); } catch { return null; } }
