/* Every word of the page, from lab/text/<language>.json, where English fills what a language lacks. The language is ?lang=, else the one chosen before, else the browser's. */
export const kept = {
  get(name) { try { return localStorage.getItem(`fmn.${name}`); } catch { return null; } },
  set(name, value) { try { value === null ? localStorage.removeItem(`fmn.${name}`) : localStorage.setItem(`fmn.${name}`, value); } catch { /* a browser without storage still works, it only forgets */ } },
};

const wanted = new URLSearchParams(location.search).get('lang') || kept.get('lang') || navigator.language || 'en';
export const lang = wanted.slice(0, 2) === 'ja' ? 'ja' : 'en';
let words = {};

export async function loadWords() {
  words = await (await fetch(`lab/text/${lang}.json`)).json();
  document.documentElement.lang = lang;
}

/** The words of a part that is opened later, such as the lessons, beside those the page began with. */
export async function loadPart(name) { words = {...words, ...await (await fetch(`lab/text/${name}/${lang}.json`)).json()}; }

/** The sentence `key`, its {blanks} filled; numbers half-width in the language's own grouping. */
export function t(key, values = {}) {
  return String(words[key] ?? key).replace(/\{(\w+)\}/g, (blank, name) => values[name] ?? blank);
}
/** The same as pieces for the page: each filled blank is a <b>, so names are text and never markup. */
export function rich(key, values = {}) {
  return String(words[key] ?? key).split(/(\{\w+\})/).map(piece => {
    const name = /^\{(\w+)\}$/.exec(piece)?.[1];
    return name && name in values ? Object.assign(document.createElement('b'), {textContent: values[name]}) : piece;
  });
}
export const richCount = (key, n, values = {}) => rich(`${key}.${n === 1 ? 'one' : 'many'}`, {n: n.toLocaleString(lang), ...values});
export const has = key => key in words;

/** What a Problem says: in this language if we have it, else as the server put it. A value `why` is the code of what ails `first`. */
export function problemText(problem) {
  if (!problem) return '';
  const key = `problem.${problem.code}`, {why, ...values} = problem.values ?? {};
  return has(key) ? t(key, why ? {...values, why: problemText({code: why, values: {...values, name: values.first}})} : values) : problem.sentence ?? t('problem.unknown', {code: problem.code});
}

/** "4 photos", "1 photo": keys end in .one and .many. */
export const count = (key, n, values = {}) => t(`${key}.${n === 1 ? 'one' : 'many'}`, {n: n.toLocaleString(lang), ...values});

export function otherLanguage() {
  const next = lang === 'ja' ? 'en' : 'ja', asked = new URLSearchParams(location.search);
  asked.set('lang', next); kept.set('lang', next);
  location.search = asked;
}
