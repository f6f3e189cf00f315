/* My data, left side: what photos there are. Cards are kept per class, so typing a name or dropping photos is never interrupted. */
import {bud, dot, fill, h, icon, pretty} from './dom.js';
import {folderForm} from './folder.js';
import {count, has, problemText, richCount, t} from './i18n.js';
import {drawThumbs, watchCard, withUndo} from './photos.js';
import {mountPlan} from './plan.js';
import {edit, store, subscribe} from './store.js';
import {toast} from './toast.js';
import {choose, photoZone, pasteFromButton, pasted, record, upload} from './upload.js';

const GOOD = 20, LEAST = 2, GOOD_TO_KNOW = ['note_bursts'];
let focusClass = null;

export function mountData(root) {
  const head = h('div.title', {}, h('h2', {}, t('data.title')), h('p.lead', {}, t('data.lead')), h('p.fine', {}, t('data.private')));
  const facts = h('div.facts', {'aria-live': 'polite'}), row = h('div.factrow', {}, facts, acts()), progress = h('div.uploading', {role: 'status', hidden: true}), grid = h('div.grid'), empty = emptyState(), side = h('aside.card.side');
  const folder = folderForm();
  root.replaceChildren(h('div.datacols', {}, h('section', {'aria-label': t('data.title')}, head, row, progress, folder.node, empty, grid), side));
  photoZone(root);
  document.addEventListener('paste', event => {
    const typing = event.target.closest?.('input, textarea, [contenteditable=true]');
    if (!typing && root.offsetWidth && pasted(event, nameOf(focusClass))) toast({title: t('upload.pasted'), key: 'paste', seconds: 4, well: true});
  });
  mountPlan(side);
  subscribe(() => {
    const project = store.project, classes = project?.classes ?? [], any = classes.length > 0;
    empty.hidden = any; grid.hidden = row.hidden = !any; side.hidden = !any; head.classList.toggle('alone', !any);
    root.firstElementChild.classList.toggle('nothing', !any);
    drawFacts(facts, project); drawProgress(progress); folder.draw();
    drawCards(grid, project);
  });
}

const nameOf = id => store.project?.classes.find(one => one.id === id)?.name ?? '';
const noteText = note => has(`note.${note.code}`) ? t(`note.${note.code}`, note.values) : problemText(note);

/** Ways to add photos to no class in particular: folders and zips bring their own. */
function acts() {
  const act = (picture, key, run) => h('button', {type: 'button', onclick: run}, icon(picture), t(key));
  return h('div.acts', {}, act('file', 'data.files', () => choose()), act('folder', 'data.folder', () => choose({folder: true})), act('paste', 'data.paste', () => pasteFromButton('')));
}

function emptyState() {
  return h('div.empty', {}, bud(), h('h3', {}, t('data.empty_title')), h('p.sub', {}, t('data.empty_text')),
    h('div.acts', {}, h('button.btn', {type: 'button', dataset: {do: 'files'}, onclick: () => choose()}, icon('file'), t('data.choose_files')), h('button.btn.ghost', {type: 'button', dataset: {do: 'folder'}, onclick: () => choose({folder: true})}, icon('folder'), t('data.choose_folder')), h('button.btn.ghost', {type: 'button', dataset: {do: 'camera'}, onclick: () => record('')}, icon('camera'), t('data.camera')),
      h('button.btn.ghost', {type: 'button', dataset: {do: 'paste'}, onclick: () => pasteFromButton('')}, icon('paste'), t('data.paste'))),
    h('p.fine', {}, t('data.empty_shape')));
}

function drawFacts(node, project) {
  if (!project) return;
  const classes = project?.classes ?? [], small = classes.filter(one => one.count < LEAST).length, counts = classes.map(one => one.count), near = (project?.counts.near ?? 0) + (project?.counts.doubles ?? 0);
  const uneven = counts.length > 1 && Math.min(...counts) > 0 && Math.max(...counts) / Math.min(...counts) >= 4;
  fill(node, [classes.length, project?.counts, small, uneven], () => [
    h('div', {}, richCount('data.classes', classes.length)), h('div', {}, richCount('data.photos', project.counts.photos)),
    small ? h('div.flag', {}, icon('warn'), count('data.small', small)) : null, uneven ? h('div.flag', {}, icon('warn'), t('data.uneven')) : null, near ? h('div.flag', {}, icon('warn'), count('data.near', near)) : null]);
}

function drawProgress(node) {
  node.hidden = !upload.running;
  if (upload.running) fill(node, [upload.done, upload.total], () => [h('span', {}, t('upload.progress', {done: upload.done, total: upload.total})), h('span.progressline', {style: {'--v': upload.done / Math.max(1, upload.total)}})]);
}

/* ---------- class cards ---------- */
function drawCards(grid, project) {
  const wanted = new Map((project?.classes ?? []).map(one => [String(one.id), one]));
  for (const node of [...grid.children]) if (node.dataset.class && !wanted.has(node.dataset.class)) node.remove();
  let after = null;
  for (const [id, one] of wanted) {
    let card = grid.querySelector(`[data-class="${id}"]`);
    if (!card) { card = newCard(one.id); grid.append(card); }
    if ((after ? after.nextElementSibling : grid.firstElementChild) !== card) after ? after.after(card) : grid.prepend(card);
    drawCard(card, one, project);
    after = card;
  }
  let last = grid.querySelector('.newclass');
  if (!last) { last = newClass(); grid.append(last); } else if (grid.lastElementChild !== last) grid.append(last);
}

function newCard(id) {
  const name = h('h3', {contentEditable: 'plaintext-only', spellcheck: false, role: 'textbox', title: t('data.rename')});
  if (name.contentEditable !== 'plaintext-only') name.contentEditable = 'true';
  name.onkeydown = event => { if (event.key === 'Enter') { event.preventDefault(); name.blur(); } if (event.key === 'Escape') { name.textContent = pretty(nameOf(id)); name.blur(); } };
  name.onblur = () => { const wanted = name.textContent.trim(), old = nameOf(id); if (wanted && wanted !== pretty(old)) edit('rename_class', {class: id, name: wanted}); else name.textContent = pretty(old); };
  const act = (icons, label, run) => h('button', {type: 'button', title: label, dataset: {act: label}, onclick: run}, icon(icons), h('span', {}, label));
  const card = h('article.card.class', {dataset: {class: String(id)}, tabIndex: -1, onpointerdown: () => { focusClass = id; }},
    h('header', {}, h('span.where'), name, h('span.count')), h('div.thumbs'), h('div.below'), h('div.quality'), h('div.classgate'),
    h('div.acts', {}, act('camera', t('data.camera'), () => record(nameOf(id), pretty(nameOf(id)))), act('file', t('data.files'), () => choose({into: nameOf(id)})), act('paste', t('data.paste'), () => pasteFromButton(nameOf(id))), h('button.bin', {type: 'button', title: t('data.delete_class'), dataset: {do: 'delete'}, onclick: () => withUndo('delete_class', {class: id}, 'undo.class', {name: pretty(nameOf(id))})}, icon('trash'))));
  card.addEventListener('focusin', () => { focusClass = id; });  // there is no onfocusin to set
  photoZone(card, () => nameOf(id));
  watchCard(card);
  return card;
}

function drawCard(card, one, project) {
  const name = card.querySelector('h3'), shown = pretty(one.name), short = one.count < LEAST;
  if (document.activeElement !== name && name.textContent !== shown) name.textContent = shown;
  name.setAttribute('aria-label', t('data.name_of', {name: shown}));
  card.setAttribute('aria-label', shown);
  card.querySelector('.bin').setAttribute('aria-label', t('data.delete_named', {name: shown}));
  card.querySelectorAll('[data-act]').forEach(button => button.setAttribute('aria-label', t('data.act_for', {act: button.dataset.act, name: shown})));
  card.classList.toggle('short', short);
  store.gate?.(card.querySelector('.classgate'), one.id);
  fill(card.querySelector('.where'), [one.task], () => h('span', {role: 'img', 'aria-label': one.task >= 0 ? t('task.n', {n: one.task + 1}) : t('plan.left_out')}, one.task >= 0 ? dot(one.task) : h('span.dot.none', {title: t('plan.left_out')}, '–')));
  fill(card.querySelector('.count'), one.count, () => richCount('data.photos', one.count));
  drawThumbs(card, one, project);
  fill(card.querySelector('.quality'), [one.count, one.notes], () => {
    const lines = one.notes.length ? one.notes.map(note => h('span.note', {class: GOOD_TO_KNOW.includes(note.code) ? 'ok' : ''}, icon(GOOD_TO_KNOW.includes(note.code) ? 'check' : 'warn'), noteText(note))) : [h('span.note', {class: short ? '' : 'ok'}, icon(short ? 'warn' : 'check'), short ? count('data.needs', LEAST - one.count) : one.count < GOOD / 2 ? t('data.enough_few') : t('data.enough'))];
    return [h('span.meter', {style: {'--v': Math.min(1, one.count / GOOD)}, 'aria-hidden': 'true'}), ...lines];
  });
}

function newClass() {
  const name = h('input', {type: 'text', placeholder: t('data.new_placeholder'), 'aria-label': t('data.new_name'), maxLength: 60});
  const add = async event => { event.preventDefault(); const wanted = name.value.trim(); if (!wanted) return name.focus(); if (await edit('add_class', {name: wanted})) name.value = ''; };
  const card = h('article.newclass', {'aria-label': t('data.new')}, bud(), h('h3', {}, t('data.new')), h('form', {onsubmit: add}, name, h('button.btn.ghost', {type: 'submit', 'aria-label': t('data.new_add')}, icon('plus'))), h('p.sub', {}, t('data.new_text')),
    h('div.acts', {}, h('button', {type: 'button', dataset: {do: 'camera'}, onclick: () => record(name.value.trim())}, icon('camera'), t('data.camera')), h('button', {type: 'button', onclick: () => choose({into: name.value.trim()})}, icon('file'), t('data.files')), h('button', {type: 'button', onclick: () => choose({folder: true})}, icon('folder'), t('data.folder'))));
  photoZone(card, () => name.value.trim());
  return card;
}
