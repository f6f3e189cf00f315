/* A method's card: its paper, what it keeps, how ours differs, and which claims of the paper were tried here. */
import {h, icon} from './dom.js';
import {has, t} from './i18n.js';

/** Names of the methods whose cards are open. */
export const open = new Set();

/** The button that opens and closes a card; redraw() draws the list anew. */
export const cardButton = (card, title, redraw) => h('button.small.always', {type: 'button', 'aria-expanded': String(open.has(card.name)), 'aria-controls': `card-${card.name}`, 'aria-label': t('card.open', {method: title}), title: t('card.open', {method: title}), dataset: {focus: `card-${card.name}`, card: card.name},
  onclick: () => { if (!open.delete(card.name)) open.add(card.name); redraw(); }}, icon('help'));

export function drawCard(card) {
  if (!open.has(card.name)) return null;
  const words = field => has(`method.${card.name}.${field}`) ? t(`method.${card.name}.${field}`) : card[field], fact = (key, value) => value ? h('div', {}, h('dt', {}, t(`card.${key}`)), h('dd', {}, value)) : null;
  const id = /arXiv:(\d{4}\.\d{4,5})/.exec(card.paper ?? '')?.[1];
  const paper = !card.paper ? null : id && card.paper === `arXiv:${id}` ? h('a', {href: `https://arxiv.org/abs/${id}`, target: '_blank', rel: 'noreferrer'}, card.paper) : card.paper;
  return h('div.methodcard', {id: `card-${card.name}`}, h('dl', {}, fact('paper', paper), fact('stores', words('stores')), fact('parameters', card.parameters), fact('sees', card.sees === 'task' ? null : t('card.sees_all')), fact('verified', verified(card)),
    card.deviations?.length ? h('div', {}, h('dt', {}, t('card.deviations')), h('dd', {}, h('ul', {}, card.deviations.map(one => h('li', {}, one))))) : null));
}

function verified({paper, verified: found}) {
  if (!found) return paper ? t('card.not_listed') : null;
  const tried = found.holds + found.fails + found.open;
  return tried ? t('card.tried', {...found, tried}) : t('card.untried', found);
}
