/* Ask one photo: the doubt of every module, who answers, where the network looks, and the answer of every method after every task. */
import {photoUrl, post, send} from './api.js';
import {drawLook} from './ask_look.js';
import {openCamera} from './camera.js';
import {bud, dot, fill, glyph, h, icon, pretty, title} from './dom.js';
import {dropZone} from './drop.js';
import {explained} from './glossary.js';
import {taskName} from './header.js';
import {t} from './i18n.js';
import {answerHere} from './pack_names.js';
import {changed, store, titleOf} from './store.js';
import {trouble} from './toast.js';

const NOTHING = {at: null, point: null, file: null, url: null, answer: null, waiting: false, others: []};
/** The photo asked about: of the cloud (`point`, its place `at` in the frames of the shown run) or a file of the person's own. */
export const asked = {run: null, ...NOTHING};
const OTHERS = 2;

/** Returns draw(view), with draw.ask(view, {at, point}) for a photo of the cloud. */
export function mountAsk(card) {
  const picker = h('input.hidden', {type: 'file', accept: 'image/*,.heic,.heif', tabIndex: -1, 'aria-hidden': 'true', onchange: () => { if (picker.files[0]) askFile(view.run, picker.files[0]); picker.value = ''; }});
  const body = h('div.askbody');
  card.replaceChildren(title(t('ask.title'), explained('ask.sub'), h('div.acts', {}, h('button.btn.ghost', {type: 'button', dataset: {do: 'ask-camera'}, onclick: () => openCamera({one: true, name: '', take: file => askFile(view.run, file), files: () => picker.click()})}, icon('camera'), t('ask.camera')), h('button.btn.ghost', {type: 'button', dataset: {do: 'ask'}, onclick: () => picker.click()}, icon('file'), t('ask.another')))), picker, body);
  dropZone(card, files => askFile(view.run, files[0]));
  let view = null;
  const draw = now => {
    view = now;
    if (asked.run !== view.run) askAnew(view);
    const lost = forgotten(view), at = Math.max(0, lost);
    fill(body, [view.run.id, view.time, view.how, asked.at, asked.url, asked.waiting, asked.answer, asked.others, titleOf(view.run.method), lost], () => asked.url ? drawAsked(view) : [h('div.soon', {}, bud(), h('p.sub', {}, t('ask.empty')), h('button.btn.ghost', {type: 'button', dataset: {do: 'ask-any'}, onclick: () => draw.ask(view, {at, point: view.data.points[at]})}, t(lost < 0 ? 'ask.one' : 'ask.any')))]);
  };
  draw.ask = ({run}, {at, point}) => { askPhoto(run, at, point); card.scrollIntoView({block: 'start', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'}); };
  return draw;
}

/** Where the first photo is that was right once and is wrong at the end; -1 where none was forgotten. */
function forgotten({data}) {
  const last = data.frames.at(-1);
  return data.points.findIndex((point, at) => last.class[at] !== point.class && data.frames[point.task]?.class[at] === point.class);
}

/** Another method is shown: the photo stays and is asked of it. In its frames it has another place, or none where it was trained on. */
function askAnew({run, data}) {
  const {point, file, url} = asked;
  if (!url || asked.run.project !== run.project) { forget(run); return; }
  if (file) { askFile(run, file); return; }
  const at = data.points.findIndex(one => one.photo === point.photo);
  askPhoto(run, at < 0 ? null : at, at < 0 ? {...point, task: null} : data.points[at]);
}

function forget(run) {
  if (asked.url?.startsWith('blob:')) URL.revokeObjectURL(asked.url);
  Object.assign(asked, {...NOTHING, run});
}

const askPhoto = (run, at, point) => ask(run, {at, point, url: photoUrl(run.project, point.photo, 'full')}, id => post(`runs/${id}/ask?photo=${point.photo}`));
const askFile = (run, file) => ask(run, {file, url: URL.createObjectURL(file)}, id => send(`runs/${id}/ask?${new URLSearchParams({name: file.name ?? 'photo'})}`, file));

let turn = 0;
/** The shown run answers first; then, for comparison, the other runs of the same tasks. An answer to an earlier question is dropped. */
async function ask(run, what, request) {
  const mine = ++turn, wanted = () => turn === mine;
  forget(run);
  Object.assign(asked, what, {waiting: true});
  changed();
  try { const answer = await patiently(() => request(run.id), wanted); if (wanted()) asked.answer = answerHere(run, answer); }
  catch (error) { trouble(error); if (wanted() && asked.at === null) forget(run); }
  if (wanted()) asked.waiting = false;
  changed();
  const names = one => JSON.stringify(one.tasks?.map(task => task.classes));
  const mates = [...store.runs.values()].filter(one => one.id !== run.id && one.status === 'finished' && names(one) === names(run)).slice(0, OTHERS);
  for (const mate of mates) {
    if (!wanted()) return;
    try { const answer = await request(mate.id); if (wanted()) { asked.others = [...asked.others, {run: mate, history: answerHere(mate, answer.history)}]; changed(); } } catch { /* the comparison is a courtesy */ }
  }
}

/** Asks again while the worker or its backbone is still on its way, at most for a minute. */
async function patiently(request, wanted) {
  for (let tries = 0; ; tries++) {
    try { return await request(); }
    catch (error) { if (error.status !== 503 || tries > 30 || !wanted()) throw error; await new Promise(done => setTimeout(done, 2000)); }
  }
}

function drawAsked(view) {
  const truth = asked.answer?.truth ?? asked.point?.class ?? null, modules = modulesAt(view), step = stepsOf(view)[view.time];
  const picture = h('figure', {}, drawLook(asked.url, truth ? pretty(truth) : t('ask.yours'), asked.answer?.attention ?? null), h('figcaption', {}, truth ? [h('b', {}, pretty(truth)), h('span.sub', {}, t('ask.truth'))] : [h('b', {}, t('ask.yours')), h('span.sub', {}, t('ask.unknown'))]));
  const says = step?.says ?? asked.answer?.says, sure = step?.confidence ?? asked.answer?.confidence;
  return [h('div.askrow', {class: modules.length ? '' : 'plain'}, picture, modules.length ? bars(view, modules) : h('div.nomodules', {}, h('p', {}, h('b', {}, says && sure !== undefined ? t('ask.says', {says: pretty(says), percent: Math.round(100 * sure)}) : t('ask.waiting'))), h('p.sub', {}, t('ask.no_modules', {method: titleOf(view.run.method)}))), stories(view, truth))];
}

/** [{task, entropy, says, wins}] at the time shown: from the frames for a test photo, else what ask said of that moment. */
function modulesAt({data, time, how}) {
  const frame = data.frames[time], at = asked.at, winner = how === 'published' && frame.published && at !== null ? frame.published.module[at] : frame.module[at];
  if (at !== null && frame.entropy[at]?.length) return frame.entropy[at].map((entropy, task) => ({task, entropy, says: frame.vote[at]?.[task] ?? '', wins: winner === task}));
  const then = asked.answer?.history?.[time] ?? asked.answer;
  return (then?.modules ?? []).map(one => ({task: one.task, entropy: one.entropy, says: one.says, wins: then.module === one.task}));
}

function bars(view, modules) {
  const early = asked.at !== null && view.data.points[asked.at].task > view.time, total = view.data.frames.length, known = new Map(modules.map(one => [one.task, one]));
  return h('div', {}, h('div.barhead', {'aria-hidden': 'true'}, h('span', {}, t('ask.module')), h('span', {}, t('ask.doubt')), h('span', {}, t('ask.would'))),
    h('ol.bars', {}, Array.from({length: total}, (_, task) => {
      const one = known.get(task), name = taskName(view.run.tasks?.[task], task);
      if (!one) return h('li.later', {'aria-label': t('ask.not_yet', {name})}, dot(task), h('span.nm', {}, name), h('span.meterbar', {style: {'--v': 0}}, h('i')), h('span.val', {}, ''), h('span.vote', {}, ''));
      const heard = t('ask.bar', {name, doubt: one.entropy.toFixed(2), says: pretty(one.says)}) + (one.wins ? t('say.gap') + t('ask.answers') : '');
      return h('li', {class: one.wins ? 'win' : '', 'aria-label': heard, dataset: {module: String(task), entropy: String(one.entropy)}}, dot(task), h('span.nm', {}, name), h('span.meterbar', {style: {'--v': Math.min(1, one.entropy)}}, h('i')), h('span.val', {}, one.entropy.toFixed(2)), h('span.vote', {}, h('span', {}, pretty(one.says)), one.wins ? h('span.pill', {}, icon('check'), t('ask.answers')) : null));
    })), h('p.fine', {}, t('ask.doubt_help') + (early ? t('say.gap') + t('ask.too_early') : '')), routes(view));
}

/** The module every router would choose for this photo, where the method reports others beside its own. */
function routes(view) {
  const then = asked.answer?.history?.[view.time], others = then?.routes ?? [];
  if (!others.length) return null;
  const own = asked.at === null ? null : view.data.points[asked.at].task;
  const name = route => t(`route.${route}`);
  return h('div.routes', {}, h('p.label', {}, t('ask.routes')), h('ul', {}, [{route: 'answer', module: then.module}, ...others].map(one => h('li', {'aria-label': t('ask.route', {name: name(one.route), n: one.module + 1}), dataset: {route: one.route}}, h('span', {}, name(one.route)), dot(one.module), own === one.module ? h('span.mine', {title: t('ask.own_task')}, icon('check')) : null))));
}

/** [{says, confidence, module} or null after each task] of the shown run. */
function stepsOf({data: {frames}, how}) {
  if (asked.at === null) return asked.answer?.history ?? [];
  return frames.map(frame => { const one = how === 'published' && frame.published ? frame.published : frame; return one.class[asked.at] === undefined ? asked.answer?.history?.[frames.indexOf(frame)] ?? null : {says: one.class[asked.at], module: one.module?.[asked.at] ?? null, confidence: one === frame ? frame.confidence[asked.at] : undefined}; });
}

function stories(view, truth) {
  const all = [{run: view.run, steps: stepsOf(view)}, ...asked.others.map(one => ({run: one.run, steps: one.history}))], order = [...store.runs.keys()];
  all.sort((a, b) => order.indexOf(a.run.id) - order.indexOf(b.run.id));
  return h('div.stories', {}, h('p.label', {}, t('ask.story')), all.map(one => story(view, truth, one.run, one.steps)), h('p.fine', {}, t('ask.story_help')));
}

function story(view, truth, run, steps) {
  const {frames, points} = view.data, taught = asked.at === null ? 0 : points[asked.at].task;
  let knew = false, lost = null;
  const cells = frames.map((_, at) => {
    const step = steps[at], state = at === view.time ? 'here' : at > view.time ? 'later' : '';
    if (!step || at < taught) return h('li.unseen', {class: state}, h('span.mark', {}, '·'), h('b', {}, t('ask.unseen')), h('span', {}, dot(at)));
    const right = truth === null ? null : step.says === truth, first = knew && right === false && lost === null;
    if (first) lost = {at, says: step.says};
    knew ||= right === true;
    return h('li', {class: `${right === null ? '' : right ? 'right' : 'wrong'} ${state}`, dataset: {after: String(at), says: step.says}, title: t('ask.step', {n: at + 1, says: pretty(step.says)})}, first ? h('em', {}, t('ask.forgotten')) : null, h('span.mark', {}, right === null ? '' : icon(right ? 'check' : 'cross')), h('b', {}, pretty(step.says)),
      h('span', {}, step.module === null || step.module === undefined ? '' : dot(step.module), step.confidence === undefined || step.confidence === null ? '' : ` ${Math.round(step.confidence * 100)}%`));
  });
  const method = titleOf(run.method), end = steps.at(-1)?.says === truth;
  const told = truth === null || !steps.length ? '' : lost ? t('ask.lost_at', {method, n: lost.at + 1, says: pretty(lost.says)}) + (end ? t('say.gap') + t('ask.lost_back') : '') : t(knew ? 'ask.kept' : 'ask.never', {method});
  return h('div.story', {style: {'--n': Math.min(frames.length, 6)}, dataset: {method: run.method}}, h('span', {}, glyph(run.method), method), h('ol', {}, cells), told ? h('p.fine.told', {}, told) : null);
}
