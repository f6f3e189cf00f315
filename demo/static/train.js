/* Train: who learns what, and the three charts of the run shown. Frames stay, figures flow through Plotly.react. */
import {bud, fill, glyph, h, hueOf, icon, segmented, title} from './dom.js';
import {chart, frame} from './charts.js';
import {atHead, clock, head, isActive, jump, modeOf} from './clock.js';
import {contents, isNamed, modeText, taskName} from './header.js';
import {count, problemText, rich, t} from './i18n.js';
import {isOneOfMany, secondsLeft} from './lineup.js';
import {mountMethods} from './methods.js';
import {mountExperiments} from './experiments.js';
import {drawQueue, time} from './queue.js';
import {along, drawSpread} from './seeds.js';
import {changed, command, labelOf, ownRun, ownRuns, show, store, subscribe, withdraw} from './store.js';
import {goTo} from './tabs.js';
import {speak} from './toast.js';

export function mountTrain(root) {
  const side = h('aside.card.side', {'aria-label': t('methods.title')}), drawMethods = mountMethods(side);
  const strip = h('section.card.live', {'aria-label': t('strip.title')}), queue = h('section.card.queue', {'aria-label': t('queue.title'), 'aria-live': 'polite'}), which = h('div.which'), rows = () => ownRun()?.figures?.view?.rows ?? [];
  const curves = frame(424, t('charts.curves'), () => table(rows())), matrix = frame(424, t('charts.matrix'), () => table(rows())), loss = frame(190, t('charts.loss'), () => lossTable());
  const charts = h('div.charts', {}, h('div.two.even', {}, h('article.card', {id: 'chart-curves'}, title(t('charts.curves'), t('charts.curves_sub')), which, curves.parts), h('article.card', {id: 'chart-matrix'}, title(t('charts.matrix'), t('charts.matrix_sub')), matrix.parts)),
    h('div.two.even', {}, h('article.card', {id: 'chart-loss'}, title(t('charts.loss'), t('charts.loss_sub')), loss.parts), h('article.card.result', {id: 'result', 'aria-live': 'polite'})));
  const empty = h('article.card.note-card', {}, bud(), h('div', {}, h('h3', {}, t('train.empty_title')), h('p.sub', {}, t('train.empty_text'))));
  root.replaceChildren(h('div.traincols', {}, side, h('div.main', {}, strip, queue, charts, empty, h('article.card.experiments', {id: 'experiments'}))));
  mountExperiments(root.querySelector('#experiments'));
  subscribe(() => {
    drawMethods();
    drawQueue(queue);
    const run = ownRun(), runs = ownRuns();
    root.firstElementChild.classList.toggle('hasrun', Boolean(run));
    strip.hidden = charts.hidden = !run; empty.hidden = Boolean(run);
    if (!run) return;
    drawStrip(strip, run, runs);
    fill(which, [run.id, runs.map(one => [one.id, labelOf(one)])], () => runs.length > 1 ? segmented(t('charts.which'), runs.map(one => [one.id, labelOf(one)]), run.id, show, 'which') : [h('span.one', {}, glyph(run.method), labelOf(run))]);
    drawResult(root.querySelector('#result'), run);
    if (!run.figures || run.painted === run.figures && root.painted === run.id) return;
    run.painted = run.figures; root.painted = run.id;
    for (const [name, one] of Object.entries({curves, matrix, loss})) { chart(one.plot, run.figures[name], {run: `${run.id}-${name}`, zoom: name !== 'matrix'}); one.tell(run.figures.say[name]); }
    speak('run', run.figures.say.curves);
  });
}

const label = (task, at) => { const name = isNamed(task) ? task.name : contents(task, 2); return name ? t('task.named', {n: at + 1, name}) : t('task.n', {n: at + 1}); };
function table(rows) {
  const tasks = ownRun()?.tasks ?? [];
  return [[t('table.after'), ...rows.at(-1)?.map((_, at) => t('task.n', {n: at + 1})) ?? []], rows.map((row, after) => [label(tasks[after], after), ...row.map(([right, total], task) => ({text: total ? t('table.cell', {percent: (100 * right / total).toFixed(1), right, total}) : '', data: {cell: `${after},${task}`, right: String(right), total: String(total)}}))])];
}
function lossTable() {
  const run = ownRun(), last = new Map();
  for (const event of run.events.slice(0, run.cursor)) if (event.event === 'Step' && event.loss !== null) { const one = last.get(event.task) ?? [event.loss, event.loss]; last.set(event.task, [one[0], event.loss]); }
  return [[t('table.task'), t('table.first'), t('table.last')], [...last].map(([task, [first, end]]) => [taskName(run.tasks?.[task], task), first.toFixed(3), end.toFixed(3)])];
}

/* ---------- status strip ---------- */
function drawStrip(strip, run, runs) {
  const mode = modeOf(run), done = Math.floor(run.position + 1e-9), part = Math.round((run.position - done) * 100) / 100, others = runs.filter(one => one !== run);
  const seconds = ['live', 'playing', 'recorded'].includes(mode) ? secondsLeft(run, runs) : 0, left = seconds ? seconds >= 90 ? time(seconds) : t('strip.seconds', {n: seconds}) : null, encoded = run.figures?.view?.encoded ?? null;
  strip.dataset.run = run.id; strip.dataset.mode = mode; strip.dataset.status = run.status;
  if (!strip.firstChild) strip.append(h('div.progress', {role: 'status'}), h('div.buttons'), h('div.pace'));
  const [progress, buttons, pace] = strip.children;
  fill(progress, [run.id, mode, run.status, done, part, left, run.place, encoded, run.problem, run.restarted, run.tasks, run.wait ?? null, store.mates.get(run.id) ?? null, others.map(one => [one.id, modeOf(one), Math.round(one.position * 20)])], () => [
    h('div.top', {}, h('p', {}, sentence(run, mode, done)), left ? h('p.eta', {}, rich(isOneOfMany(run) ? 'strip.left_all' : 'strip.left', {seconds: left})) : null),
    h('div.segbar', {role: 'img', 'aria-label': t('strip.bar', {done, total: run.total})}, Array.from({length: run.total}, (_, at) => h(`i.${hueOf(at)}`, {style: {'--p': at < done ? 1 : at === done ? part : 0}}))),
    h('p.sub', {}, [detail(run, mode, encoded), along(run)].filter(Boolean).join(t('say.gap'))),
    others.length ? h('ul.others', {}, others.map(one => h('li', {}, h('button', {type: 'button', dataset: {focus: `other-${one.id}`}, onclick: () => { show(one.id); }}, glyph(one.method), h('span', {}, labelOf(one)), h('span.segbar.thin', {'aria-hidden': 'true'}, Array.from({length: one.total}, (_, at) => h(`i.${hueOf(at)}`, {style: {'--p': Math.max(0, Math.min(1, one.position - at))}}))), h('span.sub', {}, t(`short.${modeOf(one)}`)))))) : null]);
  fill(buttons, [mode, run.status, atHead(run), isActive(run), runs.some(isActive)], () => controls(run, mode));
  fill(pace, [clock.speed], () => [h('span.label', {}, t('pace.label')), segmented(t('pace.label'), ['x1', 'x4', 'live'].map(name => [name, t(`pace.${name}`), t(`pace.${name}_help`)]), clock.speed, name => { clock.setSpeed(name); changed(); }, 'pace'), h('span.fine', {}, t(`pace.${clock.speed}_help`))]);
}

function sentence(run, mode, done) {
  const method = labelOf(run), task = done + 1, now = run.tasks?.[done], name = isNamed(now) ? now.name : contents(now, 2);
  if (mode === 'queued' && run.place > 0 && run.wait > 0) return rich('strip.queued_in', {method, place: run.place, time: time(run.wait)});
  if (mode === 'queued') return run.place > 1 ? rich('strip.queued', {method, place: run.place}) : rich('strip.next', {method});
  if (mode === 'failed') return rich('strip.failed', {method});
  if (mode === 'stopped') return rich('strip.stopped', {method, done: count('plan.tasks', done)});
  if (mode === 'recorded' || done >= run.total) return rich('strip.finished', {method, total: count('plan.tasks', run.total)});
  return mode === 'paused' ? rich(name ? 'strip.paused' : 'strip.paused_plain', {method, task, name}) : rich(name ? 'strip.learning' : 'strip.learning_plain', {method, task, name});
}

function detail(run, mode, encoded) {
  const view = run.figures?.view, lines = [];
  if (mode === 'failed') return problemText(run.problem ?? view?.problem ?? {code: 'run_failed', values: {}});
  if (mode === 'playing' || mode === 'recorded') lines.push(modeText(run) + t('say.stop'));
  if (mode === 'recorded') lines.push(t('strip.computed', {seconds: run.computed.toFixed(1)}));
  if (encoded && ['live', 'playing'].includes(mode)) lines.push(t('strip.encoding', {done: encoded[0], total: encoded[1]}));
  if (mode === 'live' && !encoded) lines.push(t(`strip.stage_${view?.stage ?? 'waiting'}`));
  if (run.restarted && isActive(run)) lines.push(t('strip.restarted'));
  if (mode === 'stopped' || mode === 'paused') lines.push(t('strip.kept'));
  return lines.join(t('say.gap'));
}

function controls(run, mode) {
  const all = ownRuns, active = () => all().filter(isActive);
  const button = (name, run, extra = {}) => h('button.btn.ghost', {type: 'button', dataset: {do: name, focus: `do-${name}`, ...extra}, onclick: run}, t(`do.${name}`));
  const pause = button('pause', () => { clock.playing = false; active().filter(one => one.status !== 'paused').forEach(one => command(one, 'pause')); changed(); }, {play: ''});
  const resume = button('resume', () => { clock.playing = true; all().filter(one => ['paused', 'stopped'].includes(one.status)).forEach(one => command(one, 'resume')); changed(); }, {play: ''});
  const step = button('step', () => { all().forEach(one => { one.hold = Math.floor(one.position + 1e-9) + 1; if (isActive(one) && one.hold > head(one)) command(one, 'step'); }); clock.playing = true; changed(); });
  const stop = button('stop', () => active().forEach(one => command(one, 'stop')));
  const end = button('end', () => { clock.playing = true; all().forEach(one => { one.hold = null; jump(one, Infinity); }); changed(); });
  const again = button('again', () => { clock.playing = true; all().forEach(one => jump(one, 0)); changed(); }, {play: ''});
  if (mode === 'queued') return [run.begun ? stop : button('withdraw', () => withdraw({runs: [...all(), ...[...store.mates.values()].flat()].filter(one => one.training === run.training)}))];
  if (mode === 'recorded') return [active().length ? stop : null, again, h('button.btn', {type: 'button', dataset: {do: 'inside', focus: 'do-inside'}, onclick: () => goTo('inside')}, t('do.inside'), icon('arrow'))];
  if (mode === 'stopped' || mode === 'failed') return mode === 'stopped' ? [resume, again] : [again];
  return [mode === 'paused' ? resume : pause, step, isActive(run) ? stop : end];
}

/* ---------- what came out ---------- */
const percent = value => value === null || value === undefined ? t('result.none') : `${(100 * value).toFixed(1)}%`;

function drawResult(node, run) {
  const view = run.figures?.view, ended = view?.stage === 'finished';
  const spread = drawSpread(run);
  fill(node, [run.id, ended, spread?.key ?? null, view?.metrics, view?.parameters, view?.bytes, view?.accuracy, view?.tasks_done], () => {
    if (!view?.rows.length) return [h('div.soon', {}, bud(), h('h3', {}, t('result.soon')), h('p.sub', {}, t('result.soon_text')))];
    const metrics = view.metrics ?? {}, fact = (key, value, name) => h('div.fact', {title: t(`${key}_help`)}, h('dt', {}, t(key)), h('dd', {dataset: {metric: name}}, value));
    return [title(ended ? t('result.title') : t('result.now'), t(ended ? 'result.sub' : 'result.now_sub', {tasks: count('plan.tasks', view.rows.length)})),
      h('p.big', {}, h('output', {dataset: {metric: 'accuracy'}}, percent(view.accuracy)), h('span', {}, t('result.accuracy'))), spread?.line,
      h('dl.factlist', {}, ended ? fact('result.average', percent(metrics.average_accuracy), 'average_accuracy') : null, ended ? fact('result.forgetting', percent(metrics.forgetting), 'forgetting') : null,
        fact('result.parameters', view.parameters === null ? t('result.none') : view.parameters.toLocaleString(), 'parameters'), fact('result.memory', view.bytes === null ? t('result.none') : `${Math.max(1, Math.round(view.bytes / 1000)).toLocaleString()} kB`, 'bytes'))];
  });
}
