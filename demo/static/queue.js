/* The queue: trainings that wait for the one under way, each with its place, about how long, and the way out. */
import {fill, glyph, h, icon} from './dom.js';
import {count, rich, t} from './i18n.js';
import {nameOf, showTraining, store, titleOf, withdraw} from './store.js';

/** About how long: seconds up to a minute and a half, minutes beyond. */
export const time = seconds => seconds >= 90 ? t('strip.minutes', {n: Math.round(seconds / 60)}) : t('strip.seconds', {n: Math.max(1, Math.ceil(seconds / 5) * 5)});

export function drawQueue(card) {
  card.hidden = !store.waiting.length;
  fill(card, store.waiting.map(one => [one.training, one.place, one.held, one.wait === null ? null : time(one.wait)]), () => [h('h3', {}, t('queue.title')), h('ul.waitlist', {}, store.waiting.map(line))]);
}

function line(one) {
  const methods = [...new Set(one.runs.map(run => run.method))], seeds = [...new Set(one.runs.map(run => run.seed))], first = methods.slice(0, 3).map(titleOf).join(t('list.comma'));
  const names = one.runs[0].experiment ? nameOf(one.runs) : methods.length > 3 ? t('queue.and_more', {names: first, n: methods.length - 3}) : first;
  const act = one.held ? h('button.btn.ghost', {type: 'button', dataset: {do: 'show-now', focus: `now-${one.training}`}, onclick: () => showTraining(one)}, icon('play'), t('queue.show'))
    : h('button.btn.ghost', {type: 'button', dataset: {do: 'withdraw', focus: `out-${one.training}`}, onclick: () => withdraw(one)}, icon('cross'), t('queue.take_out'));
  return h('li.waits', {dataset: {training: one.training, place: String(one.place)}}, h('span.glyphs', {'aria-hidden': 'true'}, methods.slice(0, 3).map(glyph)), h('div', {}, h('b', {}, names), h('p.sub', {}, `${seeds.length > 1 ? t('queue.seeds', {seeds: seeds.join(t('list.comma'))}) : t('queue.seed', {seed: seeds[0]})}${t('say.stop')}`, t('say.gap'), when(one))), act);
}

function when({place, wait, held, runs}) {
  if (held) return t(runs.every(one => one.status === 'finished') ? 'queue.done' : 'queue.held');
  if (place < 2) return wait === null ? t('queue.next') : rich('queue.next_in', {time: time(wait)});
  return wait === null ? count('queue.ahead', place - 1) : rich('queue.ahead_in', {n: place, time: time(wait)});
}
