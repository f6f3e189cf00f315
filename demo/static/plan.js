/* My data, right side: the order of learning. Classes are chips; drag them, or move the focused one with Alt and the arrows. */
import {photoUrl} from './api.js';
import {fill, h, hueOf, icon, pretty, segmented} from './dom.js';
import {taskName} from './header.js';
import {count, has, problemText, t} from './i18n.js';
import {goTo} from './tabs.js';
import {edit, store, subscribe} from './store.js';
import {speak, toast} from './toast.js';

let carried = null, chosen = null;

export function mountPlan(side) {
  const kind = h('div.field'), presets = h('div.field'), list = h('ol.plan', {'aria-label': t('plan.title')}), out = h('div.leftout'), foot = h('div.planfoot');
  side.setAttribute('aria-label', t('plan.title'));
  side.replaceChildren(h('div', {}, h('h2', {}, t('plan.title')), h('p.sub', {}, t('plan.lead'))), kind, presets, list, out, foot);
  side.addEventListener('keydown', onKey);
  subscribe(() => {
    const project = store.project;
    if (!project?.classes.length) return;
    fill(kind, [project.kind], () => drawKind(project));
    fill(presets, [project.kind, project.domains.length > 0, project.preset], () => drawPresets(project));
    fill(list, [project.tasks, project.classes.map(one => [one.id, one.name, one.photos[0], one.count]), chosen], () => drawTasks(project));
    const rest = project.classes.filter(one => one.task < 0);
    fill(out, [rest.map(one => [one.id, one.name, one.photos[0]]), chosen], () => rest.length ? drawRest(project, rest) : []);
    fill(foot, [project.ready, project.kind, quality(project)], () => drawFoot(project));
  });
}

function drawKind(project) {
  const kinds = ['class', 'domain', 'task'];
  return [h('span.label', {}, t('kind.label')), segmented(t('kind.label'), kinds.map(one => [one, t(`kind.${one}`)]), project.kind, value => edit('kind', {kind: value}), 'kind'), h('p.sub', {}, t(`kind.${project.kind}_text`))];
}

function drawPresets(project) {
  if (project.kind === 'domain') return [];
  const names = ['1', '2', '4', 'shuffle'];
  return [h('span.label', {}, t('preset.label')), h('div.seg.actions', {role: 'group', 'aria-label': t('preset.label')}, names.map(how => h('button', {type: 'button', 'aria-pressed': how === 'shuffle' ? null : String(how === project.preset), dataset: {focus: `preset-${how}`, preset: how}, onclick: () => edit('preset', {how})}, t(`preset.${how}`)))), h('p.sub', {}, t(project.preset ? 'preset.auto' : 'preset.hand'))];
}

function drawTasks(project) {
  const byId = new Map(project.classes.map(one => [one.id, one]));
  const rows = project.tasks.map((task, at) => {
    const classes = task.classes.map(id => byId.get(id)).filter(Boolean), photo = classes[0]?.photos[0];
    const name = h('b.taskname', {contentEditable: 'true', spellcheck: false, role: 'textbox', 'aria-label': t('plan.name_of', {n: at + 1}), onkeydown: event => { if (event.key === 'Enter') { event.preventDefault(); event.target.blur(); } },
      onblur: event => { const wanted = event.target.textContent.trim(); if (wanted && wanted !== taskName(task, at)) edit('rename_task', {task: at, name: wanted}); else event.target.textContent = taskName(task, at); }}, taskName(task, at));
    const row = h(`li.${hueOf(at)}`, {dataset: {task: String(at)}}, h('span.bead', {class: photo ? '' : 'ghost'}, photo ? h('img', {src: photoUrl(project.id, photo), alt: ''}) : null, h('b', {}, String(at + 1))),
      h('div', {}, h('div.taskhead', {}, name, h('button.small', {type: 'button', 'aria-label': t('plan.delete', {n: at + 1}), title: t('plan.delete', {n: at + 1}), onclick: () => removeTask(at)}, icon('cross'))),
        h('div.chips', {}, classes.length ? classes.map((one, place) => chip(project, one, at, place)) : h('span.sub', {}, t('plan.empty')))));
    return landing(row, at);
  });
  const last = project.tasks.length;
  const add = landing(h('li.add', {dataset: {task: String(last)}}, h('span.bead.ghost', {}, h('b', {}, String(last + 1))), h('div', {}, h('button.link', {type: 'button', dataset: {focus: 'add-task'}, onclick: () => edit('add_task')}, t('plan.new')), h('div.sub', {}, t('plan.drop')))), last);
  return [...rows, add];
}

async function removeTask(task) {
  if (await edit('delete_task', {task})) toast({title: t('undo.task', {n: task + 1}), action: [t('undo.do'), () => edit('undo')], key: 'undo', seconds: 6, well: true});
}

function drawRest(project, rest) {
  return landing(h('div.rest', {}, h('b', {}, t('plan.left_out')), h('p.sub', {}, t('plan.left_text')), h('div.chips', {}, rest.map((one, place) => chip(project, one, -1, place)))), -1);
}

function chip(project, one, task, place) {
  const name = pretty(one.name), photo = one.photos[0];
  const node = h('button.chip', {type: 'button', draggable: true, class: one.count < 2 ? 'short' : '', dataset: {focus: `chip-${one.id}`, class: String(one.id), task: String(task), place: String(place)}, 'aria-pressed': String(chosen === one.id),
    'aria-label': t('plan.chip', {name, task: task + 1, place: place + 1}), title: t('plan.chip_help'), onclick: event => { event.stopPropagation(); pick(one.id, task, place); }},
    icon('grip'), photo ? h('img', {src: photoUrl(project.id, photo), alt: '', draggable: false}) : null, h('span', {}, name));
  node.ondragstart = event => { carried = one.id; event.dataTransfer.effectAllowed = 'move'; event.dataTransfer.setData('text/x-class', String(one.id)); node.classList.add('carried'); };
  node.ondragend = () => { carried = null; document.querySelectorAll('.carried, .landing').forEach(n => n.classList.remove('carried', 'landing')); };
  return node;
}

/** A click chooses a chip; a click on another task (or chip) then brings it there: the way for fingers. */
function pick(id, task, place) {
  if (chosen !== null && chosen !== id) { const moved = chosen; chosen = null; return void move(moved, task, place); }
  chosen = chosen === id ? null : id;
  store.project && redraw();
}
const redraw = () => document.dispatchEvent(new Event('fmn:redraw'));

function landing(node, task) {
  const ours = event => carried !== null && event.dataTransfer;
  node.addEventListener('dragover', event => { if (ours(event)) { event.preventDefault(); event.stopPropagation(); event.dataTransfer.dropEffect = 'move'; node.classList.add('landing'); } });
  node.addEventListener('dragleave', event => { if (!node.contains(event.relatedTarget)) node.classList.remove('landing'); });
  node.addEventListener('drop', event => {
    if (carried === null) return;
    event.preventDefault(); event.stopPropagation(); node.classList.remove('landing');
    const over = event.target.closest('.chip');
    move(carried, task, over ? Number(over.dataset.place) : lengthOf(task));
  });
  node.addEventListener('click', event => { if (chosen === null || event.target.closest('button, [contenteditable]')) return; const moved = chosen; chosen = null; move(moved, task, lengthOf(task)); });
  return node;
}

const lengthOf = task => task < 0 ? 0 : store.project.tasks[task]?.classes.length ?? 0;

async function move(id, task, at) {
  const project = await edit('move_class', {class: id, task, at});
  const one = project?.classes.find(each => each.id === id);
  if (one) speak('plan', one.task < 0 ? t('plan.said_out', {name: pretty(one.name)}) : t('plan.said', {name: pretty(one.name), task: one.task + 1, place: project.tasks[one.task].classes.indexOf(id) + 1}), 0);
  setTimeout(() => document.querySelector(`[data-focus="chip-${id}"]`)?.focus(), 0);  // after the list is drawn anew, which is as late
}

function onKey(event) {
  const node = event.target.closest?.('.chip');
  if (!node) return;
  const id = Number(node.dataset.class), task = Number(node.dataset.task), place = Number(node.dataset.place), last = store.project.tasks.length;
  if (event.key === 'Escape') { chosen = null; redraw(); return; }
  if (event.key === 'Delete') { event.preventDefault(); move(id, -1, 0); return; }
  if (!event.altKey) return;
  const steps = {ArrowLeft: () => place > 0 && move(id, task, place - 1), ArrowRight: () => place < lengthOf(task) - 1 && move(id, task, place + 1), ArrowUp: () => task > -1 && move(id, task - 1, lengthOf(task - 1)), ArrowDown: () => task < last && move(id, task + 1, lengthOf(task + 1))};
  if (!(event.key in steps)) return;
  event.preventDefault(); event.stopPropagation();
  steps[event.key]();
}

/* ---------- ready or not, and why ---------- */
const quality = project => { const used = project.classes.filter(one => one.task >= 0); return [project.tasks.filter(task => task.classes.length).length, used.length, used.reduce((sum, one) => sum + one.count, 0)]; };

export function reasons(project) {
  return project.ready.reasons.map(one => h('p', {}, problemText(one), one.repair ? [' ', h('button.link', {type: 'button', onclick: () => { const {do: what, ...values} = one.repair; edit(what, values); }}, repairText(one))] : null));
}
const repairText = one => has(`repair.${one.repair.do}`) ? t(`repair.${one.repair.do}`, {...one.values, name: one.values?.name ?? one.values?.class ?? ''}) : t('repair.any');

/** With one task nothing comes after it: one line that says so, with the way out where there is one. */
export function alone(project) {
  const [tasks, classes] = quality(project);
  if (!project.ready.ok || tasks !== 1) return null;
  const split = project.kind !== 'domain' && classes > 1;
  return h('p.fine', {dataset: {alone: ''}}, t('plan.one_task'), split ? [' ', h('button.link', {type: 'button', dataset: {focus: 'split'}, onclick: () => edit('preset', {how: classes < 4 ? '1' : '2'})}, t('repair.preset'))] : null);
}

function drawFoot(project) {
  const [tasks, classes, photos] = quality(project), {ok} = project.ready;
  return [h('p.sub', {dataset: {quality: ''}}, t('plan.quality', {tasks: count('plan.tasks', tasks), classes: count('data.classes', classes), photos: count('data.photos', photos)})), alone(project),
    h('button.btn.wide', {type: 'button', id: 'go-train', disabled: !ok, 'aria-describedby': ok ? null : 'why-not', dataset: {focus: 'go-train'}, onclick: () => goTo('train')}, t('plan.go'), icon('arrow')),
    ok ? null : h('div.reason', {role: 'status', id: 'why-not'}, icon('warn'), h('div', {}, h('b', {}, count('plan.waiting', project.ready.reasons.length)), reasons(project)))];
}
