/* Settings in the address: #train&method=tosca&lambda=0.01&seed=3&hide=expert. The first part is the tab; what is not known is said and left. */
import {t} from './i18n.js';
import {toast} from './toast.js';

/** Settings by the name people know. */
const ALIAS = {lambda: 'sparsity'};
const OWN = ['pack', 'method', 'seed', 'seeds', 'hide'], KEPT = ['pack', 'hide'];
/** What a link may hide, by a class of the page. */
const HIDES = ['expert', 'experiments', 'share'];

/** {tab, pairs: [[key, value]]} of a hash; a part without "=" that comes first is the tab. */
export function parse(hash = location.hash) {
  const parts = hash.replace(/^#/, '').split('&').filter(Boolean), tab = parts[0] && !parts[0].includes('=') ? parts.shift() : null;
  const text = value => { try { return decodeURIComponent(value.replace(/\+/g, ' ')); } catch { return value; } };
  return {tab, pairs: parts.filter(one => one.includes('=')).map(one => { const at = one.indexOf('='); return [text(one.slice(0, at)).slice(0, 60), text(one.slice(at + 1)).slice(0, 200)]; })};
}
const build = (tab, pairs) => `#${[tab, ...pairs.map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value).replace(/%2C/g, ',')}`)].filter(Boolean).join('&')}`;

/** The tab a hash asks for: named first, or the one its settings belong to. */
export function tabOf(hash = location.hash) {
  const {tab, pairs} = parse(hash), keys = pairs.map(([key]) => key);
  return tab ?? (keys.includes('pack') ? 'forget' : keys.some(key => key !== 'hide') ? 'train' : null);
}
/** The hash for another tab, settings kept. */
export const withTab = name => build(name, parse().pairs);
export const valueOf = key => parse().pairs.find(([name]) => name === key)?.[1] ?? null;

let now = {search: location.search, hash: location.hash};
/** Writes the address: over the entry of the browser's history that is there, or as a new one. Ours are marked: those typed by hand are not. */
export function write({search = location.search, hash = location.hash, push = false}) {
  history[push ? 'pushState' : 'replaceState']({lab: true}, '', `${location.pathname}${search}${hash}`);
  now = {search, hash};
}
/** An entry gone back to names its tab and takes over the settings and the lesson of the entry left: they have not changed. */
export const carry = name => write({search: now.search, hash: build(name, parse(now.hash).pairs)});

/** What has been changed by hand is no longer what the link said; what it hides stays hidden. */
export function leave() {
  const {tab, pairs} = parse(), rest = pairs.filter(([key]) => KEPT.includes(key));
  if (rest.length < pairs.length) write({hash: build(tab, rest)});
}

/** Hides what `hide` names. */
export function hide() {
  const wanted = (valueOf('hide') ?? '').split(',').filter(Boolean);
  for (const one of HIDES) document.body.classList.toggle(`hide-${one}`, wanted.includes(one));
  say(wanted.filter(one => !HIDES.includes(one)).map(name => t('link.hide_unknown', {name, known: HIDES.join(t('list.comma'))})));
}

/** Puts what the hash asks for into `draft`, checked against the cards; true where something was asked for. */
export function read(draft, cards) {
  const {pairs} = parse(), wrong = [], asked = pairs.filter(([key]) => !KEPT.includes(key));
  if (!asked.length || pairs.some(([key]) => key === 'pack')) return false;
  const methods = asked.filter(([key]) => key === 'method').flatMap(([, value]) => value.split(',')).map(one => one.trim()).filter(Boolean);
  const known = methods.filter(name => cards.some(card => card.name === name));
  wrong.push(...methods.filter(name => !known.includes(name)).map(name => t('link.method_unknown', {name})));
  if (known.length) Object.assign(draft, {methods: cards.map(card => card.name).filter(name => known.includes(name)), settings: {}});
  for (const [key, value] of asked) {
    if (key === 'seed' || key === 'seeds') { const n = Number(value), good = key === 'seed' ? Number.isInteger(n) && n >= 0 && n <= 9999 : n === 1 || n === 3; if (good && value.trim()) draft[key] = n; else wrong.push(t(`link.${key}_bad`, {value})); }
    else if (!OWN.includes(key)) wrong.push(...setting(draft, cards, key, value));
  }
  say(wrong);
  return true;
}

/** "lambda" goes to every chosen method that has it, "tosca.lambda" to one. Returns the sentences on what did not do. */
function setting(draft, cards, key, value) {
  const [method, last] = key.includes('.') ? key.split('.', 2) : [null, key], name = ALIAS[last] ?? last;
  const owners = cards.filter(card => (method ? card.name === method : draft.methods.includes(card.name)) && card.settings.some(one => one.name === name));
  if (!owners.length) return [t('link.setting_unknown', {name: key})];
  const wrong = [];
  for (const card of owners) {
    const one = card.settings.find(each => each.name === name), given = valueFor(one, value);
    if (given === null) wrong.push(t('link.setting_bad', {name: key, value, wanted: one.kind === 'bool' ? 'true, false' : one.kind === 'choice' ? one.choices.join(t('list.comma')) : t('link.range', {low: one.low, high: one.high})}));
    else if (given === one.default) delete draft.settings[card.name]?.[name];
    else (draft.settings[card.name] ??= {})[name] = given;
  }
  return wrong;
}

function valueFor(one, text) {
  if (one.kind === 'bool') return {true: true, false: false, 1: true, 0: false}[text] ?? null;
  if (one.kind === 'choice') return one.choices.find(each => String(each) === text) ?? null;
  const n = text.trim() ? Number(text) : NaN;
  return Number.isFinite(n) && n >= one.low && n <= one.high && (one.kind !== 'int' || Number.isInteger(n)) ? n : null;
}

function say(lines) { if (lines.length) toast({title: t('link.ignored'), items: lines.slice(0, 6), key: 'link', seconds: 6}); }

/** The address that makes the same choice on any lab: methods, settings that differ from their defaults, seeds, and what is hidden. */
export function linkTo(draft, cards) {
  const back = Object.fromEntries(Object.entries(ALIAS).map(([known, name]) => [name, known])), pairs = [['method', draft.methods.join(',')]];
  for (const name of draft.methods) for (const [key, value] of Object.entries(draft.settings[name] ?? {})) pairs.push([draft.methods.length > 1 ? `${name}.${back[key] ?? key}` : back[key] ?? key, String(value)]);
  pairs.push(['seed', String(draft.seed)], ...draft.seeds > 1 ? [['seeds', String(draft.seeds)]] : [], ...parse().pairs.filter(([key]) => key === 'hide'));
  const search = new URLSearchParams(location.search);
  search.delete('__theme');
  return `${location.origin}${location.pathname}${String(search) ? `?${search}` : ''}${build('train', pairs.filter(([, value]) => value))}`;
}

/** Copies a text; where the browser does not let us, the note shows it to copy by hand. */
export async function copy(text) {
  let done = false;
  try { await navigator.clipboard.writeText(text); done = true; } catch { /* http pages have no clipboard */ }
  toast({title: t(done ? 'link.copied' : 'link.by_hand'), text: t('link.what'), items: done ? [] : [text], key: 'copied', seconds: done ? 6 : 0, well: done});
}
