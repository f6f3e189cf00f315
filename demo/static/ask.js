/* Ask one photo: the doubt of every module, who answers, what each would say, and the answer after every task. */
import {photoUrl, post, send} from './api.js';
import {bud, dot, fill, glyph, h, hueOf, icon, pretty, title} from './dom.js';
import {taskName} from './header.js';
import {t} from './i18n.js';
import {changed, titleOf} from './store.js';
import {trouble} from './toast.js';
import {dropZone} from './drop.js';

const asked = {run: null, at: null, point: null, url: null, answer: null, waiting: false};

/** Returns draw(view), with draw.ask(run, {at, point}) for a photo of the cloud. */
export function mountAsk(card) {
  const picker = h('input.hidden', {type: 'file', accept: 'image/*,.heic,.heif', onchange: () => { if (picker.files[0]) askFile(view.run, picker.files[0]); picker.value = ''; }});
  const body = h('div.askbody');
  card.replaceChildren(title(t('ask.title'), t('ask.sub'), h('button.btn.ghost', {type: 'button', dataset: {do: 'ask'}, onclick: () => picker.click()}, icon('file'), t('ask.another'))), picker, body);
  dropZone(card, files => askFile(view.run, files[0]));
  let view = null;
  const draw = now => {
    view = now;
    if (asked.run !== view.run) Object.assign(asked, {run: view.run, at: null, point: null, url: null, answer: null, waiting: false});
    fill(body, [view.run.id, view.time, asked.at, asked.url, asked.waiting, asked.answer], () => asked.url ? drawAsked(view) : [h('div.soon', {}, bud(), h('p.sub', {}, t('ask.empty')), h('button.btn.ghost', {type: 'button', onclick: () => draw.ask(view.run, pickOne(view))}, t('ask.any')))]);
  };
  draw.ask = (run, {at, point}) => { askPhoto(run, at, point); card.scrollIntoView({block: 'nearest', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'}); };
  return draw;
}

/** A photo worth asking: one that was right once and is wrong now, else the first. */
function pickOne({data}) {
  const last = data.frames.at(-1), found = data.points.findIndex((point, at) => last.class[at] !== point.class && data.frames[point.task]?.class[at] === point.class), at = Math.max(0, found);
  return {at, point: data.points[at]};
}

async function askPhoto(run, at, point) {
  Object.assign(asked, {run, at, point, url: photoUrl(run.project, point.photo, 'full'), answer: null, waiting: true});
  await answered(run, post(`runs/${run.id}/ask?photo=${point.photo}`));
}

async function askFile(run, file) {
  if (asked.url?.startsWith('blob:')) URL.revokeObjectURL(asked.url);
  Object.assign(asked, {run, at: null, point: null, url: URL.createObjectURL(file), answer: null, waiting: true});
  await answered(run, send(`runs/${run.id}/ask`, file));
}

async function answered(run, request) {
  const url = asked.url;
  changed();
  try { const answer = await request; if (asked.url === url) asked.answer = answer; }
  catch (error) { trouble(error); if (asked.url === url && asked.at === null) asked.url = null; }
  if (asked.url === url) asked.waiting = false;
  changed();
}

function drawAsked(view) {
  const truth = asked.answer?.truth ?? asked.point?.class ?? null, modules = modulesAt(view);
  const picture = h('figure', {}, h('img', {src: asked.url, alt: truth ? pretty(truth) : t('ask.yours')}), h('figcaption', {}, truth ? [h('b', {}, pretty(truth)), h('span.sub', {}, t('ask.truth'))] : [h('b', {}, t('ask.yours')), h('span.sub', {}, t('ask.unknown'))]));
  return [h('div.askrow', {class: modules.length ? '' : 'plain'}, picture, modules.length ? bars(view, modules) : h('div.nomodules', {}, h('p', {}, h('b', {}, asked.answer ? t('ask.says', {says: pretty(asked.answer.says), percent: Math.round(100 * asked.answer.confidence)}) : t('ask.waiting'))), h('p.sub', {}, t('ask.no_modules', {method: titleOf(view.run.method)}))), story(view, truth))];
}

/** [{task, entropy, says, wins}] at the time shown: from the frames for a test photo, else what ask said of the last moment. */
function modulesAt({data, time}) {
  const frame = data.frames[time], at = asked.at;
  if (at !== null && frame.entropy[at]?.length) return frame.entropy[at].map((entropy, task) => ({task, entropy, says: frame.vote[at]?.[task] ?? '', wins: frame.module[at] === task}));
  return (asked.answer?.modules ?? []).map(one => ({task: one.task, entropy: one.entropy, says: one.says, wins: asked.answer.module === one.task}));
}

function bars(view, modules) {
  const early = asked.at !== null && view.data.points[asked.at].task > view.time, total = view.data.frames.length, known = new Map(modules.map(one => [one.task, one]));
  return h('div', {}, h('div.barhead', {'aria-hidden': 'true'}, h('span', {}, t('ask.module')), h('span', {}, t('ask.doubt')), h('span', {}, t('ask.would'))),
    h('ol.bars', {}, Array.from({length: total}, (_, task) => {
      const one = known.get(task), name = taskName(view.run.tasks?.[task], task);
      if (!one) return h('li.later', {'aria-label': t('ask.not_yet', {name})}, dot(task), h('span.nm', {}, name), h('span.meterbar', {style: {'--v': 0}}, h('i')), h('span.val', {}, ''), h('span.vote', {}, ''));
      const heard = t('ask.bar', {name, doubt: one.entropy.toFixed(2), says: pretty(one.says)}) + (one.wins ? t('say.gap') + t('ask.answers') : '');
      return h('li', {class: one.wins ? 'win' : '', 'aria-label': heard, dataset: {module: String(task), entropy: String(one.entropy)}}, dot(task), h('span.nm', {}, name), h('span.meterbar', {style: {'--v': Math.min(1, one.entropy)}}, h('i')), h('span.val', {}, one.entropy.toFixed(2)), h('span.vote', {}, h('span', {}, pretty(one.says)), one.wins ? h('span.pill', {}, icon('check'), t('ask.answers')) : null));
    })), h('p.fine', {}, t('ask.doubt_help') + (early ? t('say.gap') + t('ask.too_early') : '')));
}

function story(view, truth) {
  const {frames, points} = view.data, taught = asked.at === null ? 0 : points[asked.at].task;
  const steps = asked.answer?.history?.length ? asked.answer.history : frames.map(frame => asked.at === null ? null : frame.class[asked.at] === undefined ? null : {says: frame.class[asked.at], module: frame.module[asked.at] ?? null});
  let knew = false;
  const cells = frames.map((_, at) => {
    const step = steps[at], state = at === view.time ? 'here' : at > view.time ? 'later' : '';
    if (!step || at < taught) return h('li.unseen', {class: state}, h('span.mark', {}, '·'), h('b', {}, t('ask.unseen')), h('span', {}, dot(at)));
    const right = truth === null ? null : step.says === truth, lost = knew && right === false;
    knew = right === true;
    return h('li', {class: `${right === null ? '' : right ? 'right' : 'wrong'} ${state}`, dataset: {after: String(at), says: step.says}, title: t('ask.step', {n: at + 1, says: pretty(step.says)})}, lost ? h('em', {}, t('ask.forgotten')) : null, h('span.mark', {}, right === null ? '' : icon(right ? 'check' : 'cross')), h('b', {}, pretty(step.says)),
      h('span', {}, step.module === null || step.module === undefined ? '' : dot(step.module), step.confidence === undefined || step.confidence === null ? '' : ` ${Math.round(step.confidence * 100)}%`));
  });
  return h('div.stories', {}, h('p.label', {}, t('ask.story')), h('div.story', {style: {'--n': Math.min(frames.length, 6)}}, h('span', {}, glyph(view.run.method), titleOf(view.run.method)), h('ol', {}, cells)), h('p.fine', {}, t('ask.story_help')));
}
