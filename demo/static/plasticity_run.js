/* Keep learning, its state: what may be chosen, what is chosen, and the start that is followed. Views watch and draw. */
import {get, post, Problem} from './api.js';
import {kept, lang, t} from './i18n.js';
import {CLASS_GROUPS, askGroups, groupSteps} from './plasticity_groups.js';
import {store} from './store.js';
import {current} from './tabs.js';
import {speak, trouble} from './toast.js';

export const FIRST = ['fresh', 'sgd', 'adam', 'shrink_perturb', 'adam_arrow'];
export const MEASURES = ['effective_rank', 'stable_rank', 'active', 'magnitude', 'gradient', 'drift'];
export const TASKS = [5, 10, 20, 40], EPOCHS = [20, 40], TRAIN = 160, BATCH = 40;
const STEP = 0.007;

const before = remembered();
export const state = {offered: null, id: before?.id ?? null, now: null, starting: false, problem: null, arm: before?.arm ?? '', measure: before?.measure ?? MEASURES[0],
  chosen: {arms: FIRST, study: 'permuted_digits', per_task: 2, tasks: 10, epochs: 20, seed: 0, ...before?.chosen}};
const watchers = new Set();
export const watch = draw => { watchers.add(draw); draw(); };
export const told = () => watchers.forEach(draw => { try { draw(); } catch (error) { console.error(error); } });

export const cardOf = name => state.offered?.arms.find(card => card.name === name) ?? null;
export const armsNow = () => state.now?.arms ?? [];
export const active = () => armsNow().some(arm => ['queued', 'running', 'paused'].includes(arm.status));
export const ofPhotos = () => state.chosen.study === CLASS_GROUPS;
export const stepsOf = epochs => epochs * (ofPhotos() ? groupSteps(TRAIN / BATCH) : Math.ceil(TRAIN / BATCH));
/** Seconds a start takes on one core: with the step time of the last start, where there was one. */
export function estimate() {
  const {arms, tasks, epochs} = state.chosen, known = new Map(armsNow().map(arm => [arm.name, arm.step]));
  return arms.reduce((sum, name) => sum + (known.get(name) ?? STEP) * stepsOf(epochs) * tasks, 0);
}

export function choose(values) { Object.assign(state.chosen, values); remember(); told(); lookAtPhotos(); }
const lookAtPhotos = () => { if (ofPhotos() && current() === 'plasticity') askGroups(state.chosen, told).catch(console.error); };
export function inspect(values) { Object.assign(state, values); stamp = ''; remember(); told(); look(); }

export async function start() {
  state.starting = true; told();
  try { const made = await post('plasticity', {...state.chosen, project: store.project?.id ?? null}); state.id = made.id; state.now = null; stamp = ''; spoken = 0; remember(); await look(); }
  catch (error) { trouble(error); }
  finally { state.starting = false; told(); beat(); }
}
export async function stop() {
  try { await post(`plasticity/${state.id}/stop`); stamp = ''; await look(); } catch (error) { trouble(error); }
}

/* ---------- the heart beat: only while the tab is seen ---------- */
let stamp = '', spoken = 0, timer = 0, asking = false, again = false;
const narrow = () => innerWidth < 760 ? '&narrow=1' : '';

async function look() {
  if (asking || !state.id) { again = Boolean(state.id); return; }
  const key = () => [state.id, state.arm, state.measure].join(' '), asked = key(), given = stamp;
  asking = true;
  try {
    const answer = await get(`plasticity/${state.id}?lang=${lang}&arm=${encodeURIComponent(state.arm)}&measure=${state.measure}${narrow()}&stamp=${encodeURIComponent(given)}`);
    if (asked !== key()) again = true; // chosen anew meanwhile
    else if (answer.curves) { stamp = answer.stamp; state.now = answer; say(); told(); }
  } catch (error) {
    if (!(error instanceof Problem)) console.error(error);
    else if (error.status === 404) { state.id = state.now = null; remember(); told(); }
  } finally { asking = false; }
  if (again) { again = false; await look(); }
}

function say() {
  const done = Math.min(...armsNow().map(arm => arm.accuracy.length));
  if (done > spoken) { spoken = done; if (active()) speak('plasticity', t('plastic.spoken', {n: done, say: state.now.say})); }
}

async function beat() {
  clearTimeout(timer);
  if (!document.hidden && current() === 'plasticity') {
    if (!state.offered) try { state.offered = await get('plasticity'); keepKnown(); told(); } catch (error) { if (refused(error)) return; if (!(error instanceof Problem)) console.error(error); }
    lookAtPhotos();
    if (state.offered && state.id && (active() || !state.now)) await look();
  }
  timer = setTimeout(beat, !active() && state.offered ? 1000 : armsNow().some(arm => arm.accuracy.length) ? 400 : 150); // the first point is waited for
}

/** A lab that only plays records has nothing to offer here: its sentence is shown, and it is not asked again. */
function refused(error) {
  if (error.status !== 403) return false;
  state.problem = error.problem;
  told();
  return true;
}

function keepKnown() {
  const known = state.chosen.arms.filter(cardOf);
  state.chosen.arms = known.length ? known : FIRST.filter(cardOf);
}

export function begin() { document.addEventListener('click', event => { if (event.target.closest?.('#story [role=tab]')) setTimeout(beat, 40); }); beat(); }

function remember() { const {id, arm, measure, chosen} = state; kept.set('plasticity', JSON.stringify({id, arm, measure, chosen})); }
function remembered() { try { return JSON.parse(kept.get('plasticity')); } catch { return null; } }
