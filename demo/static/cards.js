/* A method's card: its paper, what it keeps, how ours differs, which claims of the paper were tried here, and what was measured. */
import {h, icon} from './dom.js';
import {has, lang, loadPart, t} from './i18n.js';
import {trouble} from './toast.js';

/** Names of the methods whose cards are open. */
export const open = new Set();

let asked = null;
/** What cards say in this language, fetched with the first that is opened; English is in the cards themselves. */
export const cardWords = () => asked ??= lang === 'en' ? Promise.resolve() : loadPart('cards').catch(error => { asked = null; trouble(error); });

/** A sentence of a card in this language; what nobody has translated, such as a plug-in's, as the card has it. */
function said(tag, card, field, english) {
  const key = `method.${card.name}.${field}`;
  return has(key) ? h(tag, {}, t(key)) : h(tag, {lang: 'en'}, english);
}
/** How ours differs from the paper. */
export const deviations = card => h('ul', {}, card.deviations.map((line, at) => said('li', card, `deviation${at + 1}`, line)));

/** The button that opens and closes a card; redraw() draws the list anew. */
export const cardButton = (card, title, redraw) => h('button.small.always', {type: 'button', 'aria-expanded': String(open.has(card.name)), 'aria-controls': `card-${card.name}`, 'aria-label': t('card.open', {method: title}), title: t('card.open', {method: title}), dataset: {focus: `card-${card.name}`, card: card.name},
  onclick: async () => { if (!open.delete(card.name)) { await cardWords(); open.add(card.name); } redraw(); }}, icon('help'));

export function drawCard(card) {
  if (!open.has(card.name)) return null;
  const fact = (key, value) => value ? h('div', {}, h('dt', {}, t(`card.${key}`)), h('dd', {}, value)) : null, own = field => card[field] ? said('span', card, field, card[field]) : null;
  const id = /^arXiv:(\d{4}\.\d{4,5})$/.exec(card.paper ?? '')?.[1], paper = id ? h('a', {href: `https://arxiv.org/abs/${id}`, target: '_blank', rel: 'noreferrer'}, card.paper) : own('paper');
  return h('div.methodcard', {id: `card-${card.name}`}, h('dl', {}, fact('paper', paper), fact('stores', own('stores')), fact('parameters', own('parameters')), fact('sees', card.sees === 'task' ? null : t('card.sees_all')), fact('verified', verified(card)), fact('measured', measured(card)),
    fact('deviations', card.deviations?.length ? deviations(card) : null)));
}

function verified({paper, verified: found}) {
  if (!found) return paper ? t('card.not_listed') : null;
  const tried = found.holds + found.fails + found.open;
  return tried ? t('card.tried', {...found, tried}) : t('card.untried', found);
}

/** Points that the default settings may lie from the paper's. */
const NEAR = 3;
const points = share => (100 * share).toFixed(1);
function measured({measured: found}) {
  if (!found) return null;
  const {accuracy, seeds, photos, preset} = found, less = preset && 100 * preset.less, how = Math.abs(less) <= NEAR ? 'near' : less > 0 ? 'above' : 'below';
  return [t('card.measured_said', {accuracy: points(accuracy), n: seeds, photos}), preset ? t('say.gap') + t(`card.preset_${how}`, {preset: preset.name, accuracy: points(preset.accuracy), n: preset.seeds, points: Math.abs(less).toFixed(1)}) : null];
}
