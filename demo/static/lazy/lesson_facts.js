/* What a lesson waits for and what it tells: conditions and facts, computed from the data of the runs on the page and from nothing else. */
import {asked} from '../ask.js';
import {atHead} from '../clock.js';
import {boardShown} from '../compare.js';
import {pretty} from '../dom.js';
import {percent as whole} from '../forget_lane.js';
import {ended, latest, named, run, tasks} from '../forget_run.js';
import {percent, saidOf, shareOf, view} from '../inside.js';
import {panel} from '../inside_lambda.js';
import {active, state} from '../plasticity_run.js';
import {store} from '../store.js';
import {t} from '../i18n.js';

const lastFrame = () => view.figures?.frames.at(-1) ?? null;
const modular = () => Boolean(view.data && lastFrame()?.photo.chosen);
const grid = () => panel.grids.get(panel.source) ?? null;
const lambdas = () => (grid()?.rows ?? []).filter(row => row.accuracy);
const ownRun = method => [...store.runs.values()].find(one => one.method === method && !one.title && one.status === 'finished' && metrics(one)) ?? null;
const metrics = one => one.events.find(event => event.event === 'Finished')?.metrics ?? null;
const learners = () => (boardShown()?.rows ?? []).filter(row => !row.bound);
const points = share => (100 * share).toFixed(1);
const fixed = one => one ? one.mean.toFixed(3) : '–';

/** How many test photos the tasks before the last have, and whether one share of them is less than another by more than chance explains (two standard errors). */
const old = ({total}) => total.slice(0, -1).reduce((sum, n) => sum + n, 0);
const clearlyLess = (low, high, n) => high - low > 2 * Math.sqrt((Math.max(0, low * (1 - low)) + Math.max(0, high * (1 - high))) / n);

/** Condition -> whether it is met. */
export const UNTIL = {
  forget_ended: () => ended(),
  inside_naive: () => view.run?.method === 'finetune' && Boolean(view.data),
  inside_tosca: () => modular(),
  photo_asked: () => asked.run === view.run && Boolean(asked.answer),
  lambda_ready: () => lambdas().length > 1,
  lambda_end: () => lambdas().length > 1 && panel.at >= lambdas().length - 1,
  published: () => view.how === 'published' && Boolean(lastFrame()?.published),
  project_ready: () => Boolean(store.project?.ready.ok) && store.project.tasks.length > 1,
  both_trained: () => ['finetune', 'tosca'].every(method => { const one = ownRun(method); return one && atHead(one); }),
  compared: () => learners().length > 1,
  plasticity_ended: () => Boolean(state.now?.verdict) && !active(),
};

/** Fact -> {case: which text is true, values: its numbers, right: the choice that came out}, or null where there is no run to read. */
export const FACTS = {
  forgotten() {
    if (!ended()) return null;
    const {finetune: {best, last}, tosca} = run.lanes, left = best ? last / best : 1;
    return {case: best - last >= .3 ? 'fell' : 'held', right: left >= .75 ? 'most' : left >= .3 ? 'half' : 'few', values: {task: named(tasks()[0]), best: whole(best), naive: whole(last), tosca: whole(tosca.last), total: latest('finetune').total}};
  },
  taken() {
    if (!UNTIL.inside_naive()) return null;
    const end = view.data.frames.length - 1, right = (at, time) => saidOf(at, time) === view.data.points[at].class, counts = new Map();
    const first = view.data.points.map((_, at) => at).filter(at => view.data.points[at].task === 0), lost = first.filter(at => right(at, 0) && !right(at, end));
    lost.forEach(at => counts.set(saidOf(at, end), (counts.get(saidOf(at, end)) ?? 0) + 1));
    const says = [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '';
    return {case: lost.length ? 'taken' : 'none', values: {total: first.length, lost: lost.length, says: pretty(says), n: 1 + (view.run.tasks ?? []).findIndex(task => task.classes.includes(says))}};
  },
  doubt() {
    const {answer, point} = asked, mine = answer?.modules?.find(one => one.task === answer.module), own = point?.task ?? null;
    if (!mine || asked.run !== view.run) return null;
    const other = own === null ? null : answer.modules.find(one => one.task === own);
    return {case: own === null ? 'yours' : own === mine.task ? 'own' : 'other', values: {n: mine.task + 1, doubt: mine.entropy.toFixed(2), says: pretty(answer.says), truth: pretty(answer.truth ?? point?.class ?? ''), own: (own ?? 0) + 1, own_doubt: other ? other.entropy.toFixed(2) : ''}};
  },
  routing() {
    const [own] = modular() ? lastFrame().photo.terms : [], told = lastFrame()?.oracle ?? own?.right;
    if (!own || own.routing === null) return null;
    const choosing = told - own.accuracy, knowing = 1 - told;  // what is lost by choosing, and what the right module gets wrong as well
    return {case: own.wrong === null ? 'always' : choosing < .03 ? 'fine' : choosing > knowing ? 'bottleneck' : 'both', right: own.routing >= .95 ? 'nearly' : own.routing >= .8 ? 'most' : 'fewer', values: {routing: percent(own.routing), right: percent(own.right), wrong: percent(own.wrong), accuracy: percent(own.accuracy), oracle: percent(told), choosing: points(choosing), knowing: points(knowing)}};
  },
  sparsity() {
    const [first, last] = [lambdas()[0], lambdas().at(-1)];
    if (!last || first === last) return null;
    const moved = [first.displacement.mean, last.displacement.mean];
    return {case: moved[1] < .8 * moved[0] ? 'shrinks' : 'same', values: {low: first.sparsity, high: last.sparsity, zeros0: whole(first.zeros.mean), zeros1: whole(last.zeros.mean), move0: moved[0].toFixed(2), move1: moved[1].toFixed(2), oracle0: fixed(first.oracle), oracle1: fixed(last.oracle)}};
  },
  lambda_best() {
    const rows = lambdas(), [first, last] = [rows[0], rows.at(-1)];
    if (rows.length < 2) return null;
    const best = rows.reduce((a, b) => b.accuracy.mean > a.accuracy.mean ? b : a), spread = row => row.accuracy.sd + first.accuracy.sd, change = last.accuracy.mean - first.accuracy.mean;
    const judged = grid().verdict?.parts.find(part => part.name === 'accuracy'), gains = judged ? judged.holds : best.accuracy.mean - first.accuracy.mean > spread(best);  // paired over seeds where there are enough
    const moved = Math.abs(change) > .01 && Math.abs(change) > (judged && best === last ? judged.half : spread(last));
    return {case: !gains ? 'no_gain' : best.zeros.mean >= .5 ? 'emptied' : 'helps', right: !moved ? 'same' : change > 0 ? 'up' : 'down',
      values: {best: best.sparsity, accuracy: fixed(best.accuracy), none: fixed(first.accuracy), high: last.sparsity, last: fixed(last.accuracy), zeros: whole(best.zeros.mean), move0: first.displacement.mean.toFixed(2), move1: best.displacement.mean.toFixed(2)}};
  },
  leak() {
    const {photo, published} = lastFrame() ?? {};
    if (!published) return null;
    const [honest, leaky] = [shareOf(photo.rows), shareOf(published.rows)], gain = leaky - honest;
    return {case: gain >= .005 ? 'gains' : 'no_gain', right: Math.abs(gain) < .005 ? 'same' : Math.abs(gain) <= .03 ? 'little' : 'much', values: {honest: percent(honest), leaky: percent(leaky), gain: points(gain)}};
  },
  mine() {
    const [naive, tosca] = [ownRun('finetune'), ownRun('tosca')];
    if (!naive || !tosca) return null;
    const [a, b] = [metrics(naive), metrics(tosca)], values = {naive: percent(a.last_accuracy), tosca: percent(b.last_accuracy), naive_lost: points(a.forgetting ?? 0), tosca_lost: points(b.forgetting ?? 0)};
    if (a.forgetting === null) return {case: 'one_task', right: 'neither', values};
    const judged = naive.events.filter(event => event.event === 'Evaluated'), share = (event, task) => event.correct[task] / event.total[task];
    const drops = judged.slice(0, -1).map((event, task) => share(event, task) - share(judged.at(-1), task)), most = Math.max(...drops);
    return {case: clearlyLess(b.forgetting, a.forgetting, old(judged.at(-1))) ? 'less' : 'alike', right: most < .05 ? 'neither' : drops.indexOf(most) < drops.length / 2 ? 'early' : 'late', values};
  },
  board() {
    const [best, second] = learners();
    if (!second) return null;
    return {case: second.tied ? 'tie' : 'apart', values: {best: best.title, second: second.title, accuracy: percent(best.accuracy), low: percent(best.low), high: percent(best.high), n: best.total}};
  },
  finding() {
    const said = UNTIL.plasticity_ended() ? state.now.verdict : null;
    if (!said) return null;
    const came = {gap: 'lost', no_gap: 'same', better: 'better'}[said.found] ?? 'no_reference';
    return {case: came, right: {lost: 'worse', same: 'same', better: 'better'}[came], values: {finding: said.head}};
  },
  remedies() {
    const said = UNTIL.plasticity_ended() ? state.now.verdict : null;
    if (!said) return null;
    return {case: !said.tried ? 'not_asked' : said.helped ? 'some' : 'none', values: {lines: said.closed.join(t('say.gap'))}};
  },
};
