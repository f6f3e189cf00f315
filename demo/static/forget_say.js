/* What "See it forget" says in words: the question, what is going on, and the verdict, all from the run's own numbers. */
import {h} from './dom.js';
import {t} from './i18n.js';
import {latest, named, run, task, tasks, titled} from './forget_run.js';
import {percent} from './forget_lane.js';

export const share = (method, at = run.position) => { const mark = latest(method, at); return mark ? percent(mark.right / mark.total) : '–'; };

/** What a screen reader hears of the last task that has been learnt; '' before the first. */
export function spoken() {
  const n = Math.floor(run.position + 1e-6);
  return run.training && n ? t('forget.spoken', {n, naive: share('finetune', n), tosca: share('tosca', n), task: titled(tasks()[0])}) : '';
}

/** The question to guess at, its tasks in bold. */
export function question() {
  const order = tasks().map(named).flatMap((name, at) => [at ? t('forget.then') : '', h('b', {}, name)]);
  const [before, after] = t('forget.question', {tasks: '\n', n: run.memory.length, task: named(tasks()[0])}).split('\n');
  return [before, order, after];
}
export const running = () => latest('finetune') ? t('forget.running', {n: task() + 1, of: tasks().length, name: titled(tasks()[task()]), task: named(tasks()[0])}) : t('forget.queued');

export function said() {
  const {finetune, tosca} = run.lanes, values = {g: run.guess, a: finetune.kept, b: tosca.kept, of: finetune.of};
  return t(run.guess === null ? 'forget.end' : run.guess === finetune.kept ? 'forget.end_right' : 'forget.end_guess', values);
}
/** Which of the two kept more of task 1 by at least one photo in twenty; nothing is promised, so every outcome has its sentence. */
export function reason() {
  const {finetune, tosca} = run.lanes, gap = tosca.last - finetune.last, fell = finetune.best - finetune.last >= .3, values = {task: named(tasks()[0])};
  return t(gap >= .05 ? fell ? 'forget.why_modules' : 'forget.why_little' : gap > -.05 ? 'forget.why_tie' : 'forget.why_worse', values);
}
export function facts() {
  const {finetune, tosca, simplecil} = run.lanes, values = {total: latest('finetune').total, task: named(tasks()[0]), best: percent(finetune.best), naive: percent(finetune.last), tosca: percent(tosca.last), naive_all: percent(finetune.whole), tosca_all: percent(tosca.whole), plain_all: simplecil?.whole ? percent(simplecil.whole) : ''};
  return [t('forget.facts', values), simplecil?.whole ? t('say.gap') + t(simplecil.whole - tosca.whole >= .02 ? 'forget.plain_wins' : simplecil.whole - tosca.whole > -.02 ? 'forget.plain_ties' : 'forget.plain_loses', values) : ''].join('');
}
