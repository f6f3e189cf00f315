/* Which runs of a project the page follows, which run along as further seeds, and which trainings are still to come. */
import {SPEEDS, atHead, clock, head, isActive} from './clock.js';

/** told: one line a run, as the server told them last. now: runs whose training is to be shown whatever is still being played. */
export const lines = {told: [], now: new Set()};
const seen = new Set();

/**
 * Seconds until the page shows the end of the training of `run`, with all its methods and seeds: the longer of playing what is left and computing it.
 * 0 while nobody knows, and where nothing moves.
 */
export function secondsLeft(run, shown) {
  const mates = shown.filter(one => one.training === run.training), active = lines.told.filter(one => one.training === run.training && ['queued', 'running'].includes(one.status));
  if (!clock.playing || active.length && active.every(one => one.left === null)) return 0;
  const play = mates.map(one => ((isActive(one) ? one.total : head(one)) - one.position) * SPEEDS[clock.speed]);
  return Math.ceil(Math.max(...play, ...active.map(one => one.left ?? 0)));
}
/** Whether a run is one of several of its training. */
export const isOneOfMany = run => lines.told.filter(one => one.training === run.training).length > 1;

/**
 * leaders: of each method, in its newest training on show, the line of the first seed of each choice of settings; mates: [[leader's id, lines of its other seeds]];
 * waiting: [{training, runs, place, wait, held}] by place, held when it is learning already but another one is still being played.
 */
export function lineUp(shown) {
  const trainings = new Map();
  for (const one of lines.told) trainings.set(one.training, [...trainings.get(one.training) ?? [], one]);
  const all = [...trainings].map(([training, runs]) => ({training, runs, begun: runs.some(one => one.begun || one.status !== 'queued')}));
  const playing = shown.some(run => trainings.has(run.training) && !(atHead(run) && (run.position >= run.total - 1e-9 || !isActive(run))));
  const wanted = ({training, runs}) => seen.has(training) || runs.some(one => lines.now.has(one.id));
  let visible = all.filter(one => wanted(one) || one.begun && !playing);
  if (!visible.length) visible = all.filter(one => one.begun).slice(-1);
  if (!visible.length) visible = all.slice(0, 1);
  visible.forEach(one => seen.add(one.training));
  const newest = new Map(visible.flatMap(one => one.runs.map(run => [run.method, one])));
  const leaders = [], mates = new Map();
  for (const [method, {runs}] of newest) {
    const variants = new Map();
    for (const one of runs.filter(one => one.method === method)) { const key = JSON.stringify(one.settings); variants.set(key, [...variants.get(key) ?? [], one]); }
    for (const same of variants.values()) {
      const [first, ...rest] = same.sort((a, b) => a.seed - b.seed);
      leaders.push(first);
      if (rest.length) mates.set(first.id, rest);
    }
  }
  const waiting = all.filter(one => !visible.includes(one)).map(({training, runs, begun}) => ({training, runs, held: begun, place: Math.max(...runs.map(one => one.place)), wait: runs.find(one => one.wait !== null)?.wait ?? null}));
  return {leaders, mates, waiting: waiting.sort((a, b) => a.place - b.place)};
}
