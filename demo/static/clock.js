/* When to show what. Runs compute at full speed; the page plays their events so that a task lasts 8 s (x1), 2 s (x4), or as it comes. */
import {kept} from './i18n.js';

export const SPEEDS = {x1: 8, x4: 2, live: 0};
const ENCODE = .25, TRAIN = .92;

export const clock = {
  speed: kept.get('speed') in SPEEDS ? kept.get('speed') : 'x1', playing: true,
  setSpeed(name) { clock.speed = name; kept.set('speed', name); },
};

/** Where an event lies on the time axis: task plus the part of it that is done. The same shares as in view.py. */
function placeOf(event, before) {
  switch (event.event) {
    case 'RunStarted': return 0;
    case 'TaskStarted': case 'Resumed': case 'Stopped': return event.task;
    case 'Encoded': return event.stage === 'train' && event.task >= Math.floor(before) ? Math.max(before, event.task + ENCODE * event.done / Math.max(1, event.total)) : before;
    case 'Step': return event.task + ENCODE + (TRAIN - ENCODE) * event.step / Math.max(1, event.steps);
    case 'Evaluated': case 'Diagnosed': return event.task + .96;
    case 'TaskFinished': return event.task + 1;
    default: return before;
  }
}

export function newRun(info) {
  return {...info, events: [], places: [], since: 0, position: 0, cursor: 0, hold: null, figures: null, figuresAt: -1, computed: 0, total: info.tasks?.length ?? 0};
}

export function addEvents(run, items) {
  for (const {event} of items) {
    run.places.push(placeOf(event, run.places.at(-1) ?? 0));
    run.events.push(event);
    if (event.event === 'RunStarted') run.total = event.tasks.length;
    if (event.event === 'TaskFinished') run.computed += Object.values(event.seconds).reduce((sum, s) => sum + s, 0);
  }
  run.since = items.length ? items.at(-1).n + 1 : run.since;
  run.position = Math.min(run.position, head(run));
}

export const head = run => run.places.at(-1) ?? 0;
export const isActive = run => ['queued', 'running', 'paused'].includes(run.status);
export const atHead = run => run.position >= head(run) - 1e-9;

function cursorAt(run, position) {
  for (let n = run.places.length; n > 0; n--) if (run.places[n - 1] <= position + 1e-9) return n;
  return 0;
}

/** Moves a run's clock on by `seconds`; true when there is something new to show. */
export function advance(run, seconds) {
  if (clock.playing) {
    const pace = SPEEDS[clock.speed], goal = Math.min(head(run), run.hold ?? Infinity);
    run.position = Math.min(goal, pace ? run.position + seconds / pace : goal);
    if (run.hold !== null && run.position >= run.hold - 1e-9) { run.hold = null; clock.playing = false; }
  }
  return moved(run);
}

export function jump(run, position) {
  run.position = Math.max(0, Math.min(position, head(run)));
  return moved(run);
}

function moved(run) {
  const cursor = cursorAt(run, run.position), changed = cursor !== run.cursor;
  run.cursor = cursor;
  return changed;
}

/** The cursor right after task `task` was judged and saved: what the time scrubber of Look inside asks for. */
export function cursorAfter(run, task) {
  for (let n = run.events.length; n > 0; n--) if (run.events[n - 1].event === 'TaskFinished' && run.events[n - 1].task === task) return n;
  return run.events.length;
}

/** "queued", "live", "playing", "paused", "recorded", "stopped" or "failed": one word for header and strip. */
export function modeOf(run) {
  if (run.status === 'queued' && !run.events.length) return 'queued';
  if (!atHead(run)) return clock.playing ? 'playing' : 'paused';
  if (run.status === 'paused' || isActive(run) && !clock.playing) return 'paused';
  if (isActive(run)) return 'live';
  return {finished: 'recorded', stopped: 'stopped', failed: 'failed'}[run.status] ?? 'recorded';
}
