/* The further seeds of a training: they run along unseen, and at the end they say how far the result depends on chance. */
import {h} from './dom.js';
import {rich, t} from './i18n.js';
import {changed, figuresAt, store} from './store.js';
import {goTo} from './tabs.js';

/** A sentence on the other seeds of the run shown; "" where there are none. */
export function along(run) {
  const mates = store.mates.get(run.id);
  if (!mates) return '';
  const seeds = mates.map(one => one.seed).join(t('list.comma')), done = mates.reduce((sum, one) => sum + one.done, 0), total = mates.reduce((sum, one) => sum + one.tasks, 0);
  return mates.every(one => one.status === 'finished') ? t('seeds.learnt', {seeds}) : t('seeds.along', {seeds, done, total});
}

const ends = new Map();
/** {key, line}: mean and spread of the end result over all seeds, once every one of them has finished; null before. */
export function drawSpread(run) {
  const runs = [run, ...store.mates.get(run.id) ?? []];
  if (runs.length < 2 || !runs.every(one => one.status === 'finished') || run.figures?.view?.stage !== 'finished') return null;
  runs.filter(one => !ends.has(one.id)).forEach(ask);
  const shares = runs.map(one => ends.get(one.id));
  if (shares.some(one => typeof one !== 'number')) return null;
  const mean = shares.reduce((sum, one) => sum + one, 0) / shares.length, spread = Math.sqrt(shares.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (shares.length - 1));
  const percent = value => (100 * value).toFixed(1);
  return {key: shares.join(), line: h('p.spread-line', {title: t('seeds.spread_help'), dataset: {spread: shares.join()}}, rich('seeds.spread', {n: shares.length, mean: percent(mean), spread: percent(spread)}), ' ', h('button.link', {type: 'button', onclick: () => goTo('compare')}, t('seeds.compare')))};
}

async function ask(run) {
  ends.set(run.id, null);
  try { ends.set(run.id, (await figuresAt(run, 1e9)).view.accuracy); changed(); }
  catch { ends.delete(run.id); }
}
