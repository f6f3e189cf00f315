/* Terms of the field: a word that explains itself on hover, focus or click. Definitions come from the one glossary (text/glossary). */
import {h} from './dom.js';
import {has, t} from './i18n.js';

const MARK = /(\[[^[\]|]+\|[a-z_0-9]+\]|\{\w+\})/, WIDE = 340;
let card = null, owner = null, leaving = 0;

/** A word in a sentence that shows what the term means. */
export function term(name, shown = t(`term.${name}`)) {
  if (!has(`term.${name}.is`)) return shown;
  const word = h('button.term', {type: 'button', dataset: {term: name}, onclick: () => show(word, name), onfocus: () => show(word, name), onblur: close, onpointerenter: () => show(word, name), onpointerleave: soon}, shown);
  return word;
}

/** The sentence `key` as nodes: filled blanks are bold, [words|term] explain themselves. */
export const prose = (key, values = {}) => t(key).split(MARK).map(piece => {
  const [, shown, name] = /^\[(.+)\|(\w+)\]$/.exec(piece) ?? [], blank = /^\{(\w+)\}$/.exec(piece)?.[1];
  return name ? term(name, shown) : blank && blank in values ? h('b', {}, String(values[blank])) : piece;
});

function show(word, name) {
  clearTimeout(leaving);
  if (owner === word) return;
  close();
  owner = word;
  card ??= document.body.appendChild(h('div.termcard.view', {id: 'termcard', role: 'tooltip', hidden: true, onpointerenter: () => clearTimeout(leaving), onpointerleave: soon}));
  card.replaceChildren(h('b', {}, t(`term.${name}`)), h('p', {}, t(`term.${name}.is`)));
  card.hidden = false;
  const box = word.getBoundingClientRect(), wide = Math.min(WIDE, innerWidth - 24), left = Math.max(12, Math.min(innerWidth - wide - 12, box.left));
  Object.assign(card.style, {width: `${wide}px`, left: `${left}px`, top: '0px'});
  const high = card.offsetHeight, below = box.bottom + 8;
  card.style.top = `${below + high > innerHeight - 8 && box.top - high - 8 > 0 ? box.top - high - 8 : below}px`;
  word.setAttribute('aria-describedby', 'termcard');
}

const soon = () => { clearTimeout(leaving); leaving = setTimeout(close, 200); };
function close() {
  clearTimeout(leaving);
  owner?.removeAttribute('aria-describedby');
  owner = null;
  if (card) card.hidden = true;
}

document.addEventListener('keydown', event => { if (event.key === 'Escape' && owner) { close(); event.preventDefault(); } }, true);
addEventListener('scroll', () => owner && close(), {capture: true, passive: true});
