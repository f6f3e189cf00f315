/* The top bar: whose run, what is shown of it, the beads of its tasks, and the page's own tools. */
import {photoUrl, post} from './api.js';
import {isActive, modeOf} from './clock.js';
import {fill, flower, h, hueOf, icon, pretty} from './dom.js';
import {kept, otherLanguage, problemText, t} from './i18n.js';
import {lessonsButton} from './lessons.js';
import {write} from './link.js';
import {labelOf, ownRun, shownRun, store, subscribe} from './store.js';
import {current, tabs} from './tabs.js';
import {trouble} from './toast.js';

export function mountHeader(root) {
  const run = h('div.run'), line = h('div.line'), note = h('div.status', {role: 'status'});
  const dark = h('button', {type: 'button', dataset: {do: 'theme'}, onclick: toggleTheme});
  root.replaceChildren(h('div.bar', {},
    h('a.brand', {href: '#', 'aria-label': 'Forget-Me-Not', onclick: event => event.preventDefault()}, flower(), h('span', {}, 'Forget-Me-Not')), run, line,
    h('nav.tools', {'aria-label': t('header.tools')}, lessonsButton(), h('button', {type: 'button', lang: t('header.other_code'), dataset: {do: 'language'}, onclick: otherLanguage}, t('header.other')), dark,
      h('button', {type: 'button', dataset: {do: 'help'}, title: t('header.help'), 'aria-label': t('header.help'), onclick: showHelp}, icon('help')))), note);
  const drawTheme = () => { const now = document.body.classList.contains('dark'), name = t(now ? 'header.light' : 'header.dark'); Object.assign(dark, {title: name}); dark.setAttribute('aria-label', name); dark.replaceChildren(icon(now ? 'sun' : 'moon')); };
  new MutationObserver(drawTheme).observe(document.body, {attributes: true, attributeFilter: ['class']});
  drawTheme();
  subscribe(() => { drawRun(run, line); drawStatus(note); });
}

function toggleTheme() {
  const dark = document.body.classList.toggle('dark'), asked = new URLSearchParams(location.search);
  kept.set('theme', dark ? 'dark' : 'light');
  asked.set('__theme', dark ? 'dark' : 'light');
  write({search: `?${asked}`});
}

/** "Live", "Playing back (computed in 2.1 s)", "Recorded" …: what a person sees is never taken for what it is not. */
export function modeText(run) {
  const mode = modeOf(run), seconds = run.computed.toFixed(1);
  return mode === 'playing' ? isActive(run) ? t('mode.behind') : t('mode.playing', {seconds}) : t(`mode.${mode}`);
}

function drawRun(box, line) {
  const tab = current() ?? 'forget', run = tab === 'inside' ? shownRun() : ownRun();
  if (tab === 'forget' && store.onShow) { drawShow(box, line, store.onShow); return; }
  fill(box, [run?.id ?? null, run ? modeText(run) : null, run ? labelOf(run) : null], () => run ? [h('b', {}, labelOf(run)), h('span.tag', {dataset: {mode: modeOf(run)}}, modeText(run))] : []);
  const tasks = run?.tasks ?? (store.project?.tasks ?? []).map(task => ({name: task.name, classes: task.classes.map(classOf), photo: firstPhoto(task)}));
  const done = run ? Math.floor(run.position + 1e-9) : 0, part = run ? Math.round((run.position - done) * 50) / 50 : 0, project = run?.project ?? store.project?.id;
  drawLine(line, tasks.map(task => ({...task, picture: task.photo ? photoUrl(project, task.photo) : null})), done, part, Boolean(run));
}

/** The starter pack on show in "See it forget". */
function drawShow(box, line, {title, mode, modeText: text, position, begun, tasks}) {
  fill(box, ['show', title, mode, text], () => [h('b', {}, title), text ? h('span.tag', {dataset: {mode}}, text) : null]);
  const done = Math.floor(position + 1e-6);
  drawLine(line, tasks, done, Math.round((position - done) * 50) / 50, begun);
}

function drawLine(line, tasks, done, part, begun) {
  fill(line, [tasks.map(task => [task.name, task.picture]), done, part, begun], () => tasks.length ? h('ol.timeline', {class: tasks.length > 10 ? 'tight many' : tasks.length > 4 ? 'tight' : '', style: {'--n': tasks.length}, 'aria-label': t('header.timeline')}, tasks.map((task, at) => {
    const state = !begun ? 'next' : at < done ? 'done' : at === done ? 'now' : 'next', name = isNamed(task) ? task.name : contents(task, 1) || taskName(task, at);
    return h(`li.${state}.${hueOf(at)}`, {title: t('task.named', {n: at + 1, name: isNamed(task) ? task.name : contents(task)}), style: {'--p': state === 'done' ? 1 : state === 'now' ? part : 0}, 'aria-current': state === 'now' ? 'step' : null},
      h('span.bead', {}, task.picture ? h('img', {src: task.picture, alt: ''}) : null, h('b', {}, String(at + 1))), h('em', {}, name));
  })) : []);
}

/** A task's own name; one that was never named is called by its number, in this language. */
export const isNamed = task => Boolean(task?.name) && !/^Task \d+$/.test(task.name);
export const taskName = (task, at) => isNamed(task) ? task.name : t('task.n', {n: at + 1});
/** What is in a task, as its first classes and how many more: the best name a task has that nobody has named. */
export function contents(task, most = 20) {
  const names = (task?.classes ?? []).map(pretty), rest = names.length - most;
  return names.slice(0, most).join(t('list.comma')) + (rest > 0 ? ` +${rest}` : '');
}
const classOf = id => store.project.classes.find(one => one.id === id)?.name ?? '';
const firstPhoto = task => store.project.classes.find(one => one.id === task.classes[0])?.photos[0] ?? null;

/** The backbone on its way, a worker starting anew, a server out of reach: one calm line, gone when all is well. */
function drawStatus(note) {
  const {status, away} = store, backbone = status?.backbone;
  const megabytes = bytes => (bytes / 1e6).toFixed(0);
  const text = away ? t('status.away') : !status ? '' : status.worker === 'restarting' ? t('status.restarting')
    : backbone?.state === 'failed' ? t('status.failed') : backbone?.state === 'fetching' ? backbone.total ? t('status.fetching', {done: megabytes(backbone.done), total: megabytes(backbone.total)}) : t('status.fetching_start')
    : backbone?.state === 'converting' ? t('status.converting') : backbone?.state === 'loading' || status.worker === 'starting' ? t('status.loading') : status.read_only ? t('still.note') : '';
  const problem = backbone?.state === 'failed' ? backbone.problem : null;
  note.hidden = !text;
  const share = backbone?.state === 'fetching' && backbone.total ? backbone.done / backbone.total : null;
  fill(note, [text, problem, share], () => [h('span', {}, text), problem ? h('span', {}, t('say.gap'), problemText(problem), ' ', h('button.link', {type: 'button', onclick: () => post('status', {do: 'retry'}).catch(trouble)}, t('status.retry'))) : null, share === null ? null : h('span.progressline', {style: {'--v': share}})]);
}

function showHelp() {
  const close = () => box.close(), row = (keys, text) => h('li', {}, h('kbd', {}, keys), h('span', {}, text));
  const box = h('dialog.help.view', {'aria-label': t('header.help'), onclose: () => box.remove()}, h('h2', {}, t('help.title')), h('p.lead', {}, t('help.lead')),
    h('ul.keys', {}, row(`1 – ${tabs().length}`, t('help.tabs')), row(t('help.space'), t('help.play')), row('← →', t('help.arrows')), row('Alt + ← → ↑ ↓', t('help.move')), row('Ctrl + V', t('help.paste'))),
    h('button.btn', {type: 'button', onclick: close}, t('help.close')));
  document.body.append(box);
  box.showModal();
}
