/* Photos on their way in: files, folders (also dragged), zips and the clipboard. One file a request, three at a time, each failure named. */
import {photoUrl, send} from './api.js';
import {openCamera} from './camera.js';
import {h} from './dom.js';
import {dropZone} from './drop.js';
import {count, problemText, t} from './i18n.js';
import {changed, ensureProject, takeProject} from './store.js';
import {toast, trouble} from './toast.js';

export const upload = {total: 0, done: 0, added: 0, skipped: [], running: false};
const ATONCE = 3, HIDDEN = /(^|\/)(\.|__MACOSX)/;

/** Sends [{file, name, class, domain}]; the page may be used meanwhile. */
export async function sendFiles(items) {
  const wanted = items.filter(item => !HIDDEN.test(item.name));
  if (!wanted.length) return;
  let project;
  try { project = await ensureProject(); } catch (error) { trouble(error); return; }
  if (!upload.running) Object.assign(upload, {total: 0, done: 0, added: 0, skipped: [], running: true});
  upload.total += wanted.length;
  changed();
  queue.push(...wanted.map(item => ({...item, project: project.id})));
  const lanes = Array.from({length: ATONCE - active}, lane);
  await Promise.all(lanes);
  if (active || queue.length || !upload.running) return;
  upload.running = false;
  report();
  changed();
}

const queue = [];
let active = 0;
async function lane() {
  active++;
  try {
    for (let item = queue.shift(); item; item = queue.shift()) {
      try {
        const asked = new URLSearchParams({name: item.name, class: item.class ?? '', domain: item.domain ?? '', ...item.burst ? {burst: item.burst} : {}});
        const {added, skipped, project} = await send(`projects/${item.project}/photos?${asked}`, item.file);
        upload.added += added; upload.skipped.push(...skipped);
        takeProject(project);
      } catch (error) { upload.skipped.push({name: item.name, ...(error.problem ?? {code: 'server_away', values: {}})}); }
      upload.done++;
      changed();
    }
  } finally { active--; }
}

function report() {
  if (!upload.skipped.length) return;
  const why = one => t('upload.skipped_line', {why: problemText({...one, values: {...one.values, name: one.name.split('/').at(-1)}})});
  const all = [...new Set(upload.skipped.map(why))], lines = all.slice(0, 6);  // a full disk is one sentence, not one a file
  if (all.length > 6) lines.push(t('upload.more', {n: all.length - 6}));
  toast({title: count('upload.left_out', upload.skipped.length), text: upload.added ? count('upload.rest_in', upload.added) : '', items: lines, key: 'skipped', seconds: 0});
}

/** Lets a person choose files or a folder; photos of a folder take the name of the folder they lie in. */
export function choose({folder = false, into = ''} = {}) {
  const input = h('input.hidden', {type: 'file', multiple: true, accept: folder ? '' : 'image/*,.heic,.heif,.zip,application/zip', webkitdirectory: folder});
  input.onchange = () => { sendFiles([...input.files].map(file => item(file, file.webkitRelativePath || file.name, into))); input.remove(); };
  input.oncancel = () => input.remove();
  document.body.append(input);
  input.click();
}

/** Records photos into the class `into()` names; what is held as one burst stays together. */
export function record(into, shown) {
  const name = into || looseClass();
  openCamera({name: shown || name, take: (file, burst) => sendFiles([{file, name: file.name, class: name, burst}]), files: () => choose({into: name})});
}

/** A loose photo goes into `into`, else into a new class; in a folder its folder's name decides. */
function item(file, name, into = '') {
  const loose = !name.includes('/') && !/\.zip$/i.test(name);
  return {file, name, class: into || (loose ? looseClass() : '')};
}
let loose = null;
const looseClass = () => loose ??= t('data.first_class');

/** Makes `node` a place for photos: files, folders and zips go into the class `into()` names. */
export function photoZone(node, into = () => '') {
  dropZone(node, async (files, items) => {
    const entries = items.map(one => one.webkitGetAsEntry?.()).filter(Boolean), target = into();
    const found = entries.length ? (await Promise.all(entries.map(entry => walk(entry)))).flat() : files.map(file => [file, file.name]);
    sendFiles(found.map(([file, name]) => item(file, name, target)));
  });
}

/** Every [file, path] below a dropped entry; readEntries gives at most 100 at a time, so it is asked until empty. */
async function walk(entry, path = '') {
  const name = path + entry.name;
  if (HIDDEN.test(name)) return [];
  if (entry.isFile) return [[await new Promise((done, fail) => entry.file(done, fail)), name]];
  const reader = entry.createReader(), found = [];
  for (;;) {
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length) break;
    for (const one of some) found.push(...await walk(one, `${name}/`));
  }
  return found;
}

/** Photos in a clipboard event, for the class that has the focus (or a new one). */
export function pasted(event, into) {
  const files = [...event.clipboardData?.files ?? []].filter(file => file.type.startsWith('image/'));
  if (!files.length) return false;
  event.preventDefault();
  sendFiles(files.map((file, at) => item(file, file.name || `pasted-${at + 1}.png`, into)));
  return true;
}

/** The paste button: asks the browser for the clipboard; where that is not allowed it says which keys do the same. */
export async function pasteFromButton(into) {
  try {
    const items = await navigator.clipboard.read(), files = [];
    for (const one of items) for (const type of one.types) if (type.startsWith('image/')) files.push(new File([await one.getType(type)], `pasted.${type.split('/')[1]}`, {type}));
    if (files.length) return void sendFiles(files.map(file => item(file, file.name, into)));
    toast({title: t('upload.no_picture'), text: t('upload.no_picture_text'), key: 'paste'});
  } catch { toast({title: t('upload.paste_keys'), text: t('upload.paste_keys_text'), key: 'paste'}); }
}

export const thumb = (project, sha, alt) => h('img', {src: photoUrl(project, sha), alt, loading: 'lazy', decoding: 'async', draggable: false});
