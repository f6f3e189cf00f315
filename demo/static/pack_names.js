/* The classes of a starter pack in the language of the page; a person's own classes are never translated. */
import {get} from './api.js';
import {lang} from './i18n.js';

let packs = null;
export async function loadPackNames() { packs ??= Object.fromEntries((await get('packs')).packs.map(one => [`pack:${one.name}`, one])); }

/** What a class of this run is called here. */
export const nameHere = (run, name) => { const words = packs?.[run?.project]?.captions[name]; return words?.[lang] ?? words?.en ?? name; };

/** An answer of a run, every class in it named as here. */
export function answerHere(run, value, key = '') {
  if (typeof value === 'string') return key === 'says' || key === 'truth' ? nameHere(run, value) : value;
  if (Array.isArray(value)) return value.map(one => answerHere(run, one, key));
  return value && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, answerHere(run, one, name)])) : value;
}
