/* The photos on a class card: a dozen, drawn when the card comes near; all of them on request, a screen at a time. */
import {get} from './api.js';
import {fill, h, icon, pretty} from './dom.js';
import {count, t} from './i18n.js';
import {changed, edit, store} from './store.js';
import {toast, trouble} from './toast.js';
import {thumb} from './upload.js';

const SHOWN = 12, CHUNK = 96;
/** Class id -> {shas, version, upto}: the classes shown whole. */
const whole = new Map();
const near = new WeakSet();
const watch = new IntersectionObserver(seen => { for (const one of seen) if (one.isIntersecting && !near.has(one.target)) { near.add(one.target); watch.unobserve(one.target); changed(); } }, {rootMargin: '800px'});

/** Waits with a card's photos until it comes near. */
export const watchCard = card => watch.observe(card);

export async function withUndo(what, values, key, words) {
  if (await edit(what, values)) toast({title: t(key, words), action: [t('undo.do'), () => edit('undo')], key: 'undo', seconds: 6, well: true});
}

export function drawThumbs(card, one, project) {
  if (!near.has(card)) return;
  const open = whole.get(one.id), node = card.querySelector('.thumbs'), shown = pretty(one.name);
  if (open && one.count <= SHOWN) whole.delete(one.id);
  else if (open && open.version !== project.version) load(one.id, open.upto);
  const all = whole.get(one.id), shas = all ? all.shas : one.photos.slice(0, SHOWN);
  card.classList.toggle('whole', Boolean(all));
  if (!fill(node, [shas.slice(0, all?.upto ?? SHOWN), one.count, shown, all?.version ?? null], () => [
    shas.slice(0, all?.upto ?? SHOWN).map((sha, at) => photo(one, project.id, sha, shown, at)),
    all ? shas.length > all.upto ? h('span.more') : null : Array.from({length: Math.max(0, SHOWN - one.count)}, () => h('i')),
    !all && one.count > SHOWN ? h('button.rest', {type: 'button', dataset: {focus: `all-${one.id}`}, 'aria-label': t('photos.all', {n: one.count, name: shown}), title: t('photos.all', {n: one.count, name: shown}), onclick: () => load(one.id)}, `+${one.count - SHOWN}`) : null])) return;
  drawBelow(card, one, Boolean(all));
  const more = node.querySelector('.more');
  if (more) new IntersectionObserver((seen, observer) => { if (!seen.some(each => each.isIntersecting)) return; observer.disconnect(); all.upto += CHUNK; changed(); }, {root: node, rootMargin: '300px'}).observe(more);
}

const photo = (one, pid, sha, shown, at) => h('span.thumb', {}, thumb(pid, sha, `${shown} ${at + 1}`),
  h('button', {type: 'button', 'aria-label': t('data.delete_photo', {name: shown, n: at + 1}), title: t('data.delete_photo', {name: shown, n: at + 1}), onclick: () => withUndo('delete_photo', {class: one.id, sha}, 'undo.photo', {name: shown})}));

/** Under the photos of a class shown whole: the way back, and all of them deleted at once. */
function drawBelow(card, one, open) {
  const node = card.querySelector('.below');
  fill(node, [open, one.count], () => open ? [h('button.link.quiet', {type: 'button', dataset: {focus: `few-${one.id}`}, onclick: () => { whole.delete(one.id); changed(); }}, t('photos.fewer')),
    h('button.link.quiet', {type: 'button', dataset: {do: 'empty', focus: `empty-${one.id}`}, onclick: () => withUndo('empty_class', {class: one.id}, 'undo.photos', {name: pretty(one.name), photos: count('data.photos', one.count)})}, icon('trash'), t('photos.empty', {n: one.count}))] : []);
}

const asking = new Set();
async function load(id, upto = CHUNK) {
  if (asking.has(id)) return;
  asking.add(id);
  try {
    const {photos, version} = await get(`projects/${store.project.id}/classes/${id}`);
    whole.set(id, {shas: photos, version: Math.max(version, store.project.version), upto});
  } catch (error) { trouble(error); whole.delete(id); }
  finally { asking.delete(id); changed(); }
}
