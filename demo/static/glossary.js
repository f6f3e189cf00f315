/* Terms of the field: a word that explains itself on hover, focus or click. Definitions come from the one glossary (text/glossary). */
import {h} from './dom.js';
import {has, t} from './i18n.js';

const MARK = /([(（「“]?\[[^[\]|]+\|[a-z_0-9]+\]|\{\w+\})/, WIDE = 340;
let card = null, owner = null, leaving = 0;

/** A word in a sentence that shows what the term means. */
export function term(name, shown = t(`term.${name}`)) {
  if (!has(`term.${name}.is`)) return shown;
  const word = h('button.term', {type: 'button', dataset: {term: name}, onclick: () => show(word, name), onfocus: () => show(word, name), onblur: close, onpointerenter: () => show(word, name), onpointerleave: soon}, shown);
  return word;
}

/** A text as nodes: [words|term] explain themselves. */
const pieces = (text, values) => text.split(MARK).map(piece => {
  const [, before, shown, name] = /^(.?)\[(.+)\|(\w+)\]$/.exec(piece) ?? [], blank = /^\{(\w+)\}$/.exec(piece)?.[1];
  return name ? before ? h('span.glued', {}, before, term(name, shown)) : term(name, shown) : blank && blank in values ? h('b', {}, String(values[blank])) : piece;
});
/** The sentence `key` with its blanks filled in bold. */
export const prose = (key, values = {}) => pieces(t(key), values);
/** The sentence `key` with its blanks filled as they are. */
export const explained = (key, values = {}) => pieces(t(key, values), {});

function show(word, name) {
  clearTimeout(leaving);
  if (owner === word) return;
  close();
  owner = word;
  card ??= document.body.appendChild(h('div.termcard.view', {id: 'termcard', role: 'tooltip', hidden: true, onpointerenter: () => clearTimeout(leaving), onpointerleave: soon}));
  card.replaceChildren(h('b', {}, t(`term.${name}`)), h('p', {}, t(`term.${name}.is`)));
  card.hidden = false;
  place();
  word.setAttribute('aria-describedby', 'termcard');
}

function place() {
  const box = owner.getBoundingClientRect(), wide = Math.min(WIDE, innerWidth - 24), left = Math.max(12, Math.min(innerWidth - wide - 12, box.left));
  Object.assign(card.style, {width: `${wide}px`, left: `${left}px`, top: '0px'});
  const high = card.offsetHeight, below = box.bottom + 8;
  card.style.top = `${below + high > innerHeight - 8 && box.top - high - 8 > 0 ? box.top - high - 8 : below}px`;
}

const soon = () => { clearTimeout(leaving); leaving = setTimeout(close, 200); };
function close() {
  clearTimeout(leaving);
  owner?.removeAttribute('aria-describedby');
  owner = null;
  if (card) card.hidden = true;
}

document.addEventListener('keydown', event => { if (event.key === 'Escape' && owner) { close(); event.preventDefault(); } }, true);
addEventListener('scroll', () => { if (owner) owner === document.activeElement ? place() : close(); }, {capture: true, passive: true});  // the key that comes to a word may scroll to it
