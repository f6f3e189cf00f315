/* A folder of the computer the lab runs on, opened by its path; only who sits at that computer is offered it. */
import {get, post} from './api.js';
import {fill, h, icon} from './dom.js';
import {count, problemText, t} from './i18n.js';
import {ensureProject, store, takeProject} from './store.js';
import {toast, trouble} from './toast.js';

const BUSY = ['listing', 'reading', 'storing'], HOME = ['localhost', '127.0.0.1', '[::1]'];
const opening = {said: null, timer: 0, asked: null};

/** Returns {node, draw}: a closed line that opens to a field, and how far the reading is. */
export function folderForm() {
  const field = h('input', {type: 'text', id: 'folder-path', spellcheck: false, autocomplete: 'off', placeholder: t('folder.example'), maxLength: 4096}), status = h('div.folderstate', {role: 'status'});
  const go = h('button.btn.ghost', {type: 'submit', dataset: {do: 'open-folder'}}, icon('folder'), t('folder.open'));
  const form = h('form', {onsubmit: event => { event.preventDefault(); begin(field, draw); }}, h('label', {for: 'folder-path'}, t('folder.path')), h('div.row', {}, field, go), h('p.fine', {}, t('folder.help')));
  const node = h('details.openfolder', {}, h('summary', {}, icon('down'), t('folder.title')), form, status);
  function draw() {
    const {project} = store, allowed = Boolean(store.status?.local && !store.status.classroom && HOME.includes(location.hostname)), busy = BUSY.includes(opening.said?.state);
    node.hidden = !allowed;
    if (!allowed) return;
    if (project && opening.asked !== project.id) { opening.asked = project.id; opening.said = null; watch(draw); }  // a reading goes on over a reload
    go.disabled = busy;
    fill(status, opening.said, () => opening.said && busy ? [h('span', {}, words(opening.said)), h('span.progressline', {style: {'--v': opening.said.state === 'listing' ? 0 : (opening.said.done / Math.max(1, opening.said.total) + (opening.said.state === 'storing' ? 1 : 0)) / 2}}),
      h('button.btn.ghost', {type: 'button', dataset: {do: 'stop-folder'}, onclick: () => post(`projects/${project.id}/folder`, {do: 'stop'}).catch(trouble)}, t('do.stop'))] : []);
    if (busy) node.open = true;
  }
  return {node, draw};
}

const words = ({state, name, done, total}) => t(`folder.${state}`, {name, done: done.toLocaleString(), total: total.toLocaleString()});

async function begin(field, draw) {
  if (!field.value.trim()) return field.focus();
  try { const project = await ensureProject(); opening.asked = project.id; opening.said = await post(`projects/${project.id}/folder`, {path: field.value}); draw(); watch(draw); }
  catch (error) { trouble(error); field.focus(); field.select(); }
}

/** Asks how far it is, twice a second, until it has ended; then says what came of it. */
async function watch(draw) {
  clearTimeout(opening.timer);
  const {id} = store.project, before = opening.said;
  try {
    const said = await get(`projects/${id}/folder`);
    if (store.project?.id !== id) return;
    opening.said = said;
    if (BUSY.includes(said.state)) { opening.timer = setTimeout(() => watch(draw), 500); if (said.state === 'storing') takeProject(await get(`projects/${id}`)); }
    else if (before && BUSY.includes(before.state)) { takeProject(await get(`projects/${id}`)); report(said); }
  } catch { opening.timer = setTimeout(() => watch(draw), 2000); }
  draw();
}

function report(said) {
  if (said.state === 'failed') return void toast({title: t('folder.failed', {name: said.name}), text: problemText(said.problem), key: 'folder', seconds: 0});
  const lines = said.skipped.slice(0, 4).map(one => problemText({...one, values: {...one.values, name: one.name.split('/').at(-1)}}));
  if (said.skipped.length > 4) lines.push(t('upload.more', {n: said.skipped.length - 4}));
  const part = said.found > said.total && said.state === 'done' ? t('folder.part', {found: said.found.toLocaleString(), total: said.total.toLocaleString()}) : '';
  toast({title: count('folder.in', said.added, {name: said.name}), text: part, items: lines, key: 'folder', seconds: lines.length ? 0 : 8, well: !lines.length && !part});
}
