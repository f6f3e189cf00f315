/* Short notes in the corner: what happened, what was kept, and the way back. They stay until read when they carry an action. */
import {h, icon} from './dom.js';
import {problemText, t} from './i18n.js';

let tray;
function place() {
  if (!tray) {
    tray = document.body.appendChild(h('div.toasts', {role: 'region', 'aria-live': 'polite', 'aria-label': t('toast.region')}));
    document.addEventListener('keydown', event => { if (event.key === 'Escape' && !event.defaultPrevented && !document.querySelector('dialog[open]')) tray.lastElementChild?.remove(); });
  }
  return tray;
}

/** Shows {title, text, items: [lines], action: [label, do], key}; a second note with the same key replaces the first. well: nothing went wrong. */
export function toast({title = '', text = '', items = [], action = null, key = null, seconds = 8, well = false}) {
  if (key) place().querySelector(`[data-key="${CSS.escape(key)}"]`)?.remove();
  const close = () => note.remove();
  const note = h(`div.toast${well ? '.well' : ''}`, {dataset: {key: key ?? ''}, role: 'status'}, icon(well ? 'check' : 'warn'),
    h('div.words', {}, title ? h('b', {}, title) : null, text ? h('p', {}, text) : null,
      items.length ? h('ul', {}, items.map(line => h('li', {}, line))) : null,
      action ? h('button.link', {type: 'button', onclick: () => { close(); action[1](); }}, action[0]) : null),
    h('button.close', {type: 'button', 'aria-label': t('toast.close'), onclick: close}, icon('cross')));
  place().append(note);
  while (place().children.length > 3) place().firstElementChild.remove();
  if (seconds) setTimeout(close, (action || items.length ? 3 : 1) * seconds * 1000);
  return close;
}

export const trouble = error => toast({title: t('toast.trouble'), text: problemText(error.problem ?? {code: 'page_error', values: {}, sentence: String(error.message ?? error)}), key: 'trouble'});

const spoken = {};
/** Says a sentence to a screen reader, only when it is new; what comes within `apart` ms of the last waits, and the newest is said. */
export function speak(channel, text, apart = 5000) {
  const last = spoken[channel] ??= {text: '', at: 0, timer: 0, node: document.body.appendChild(h('div.hidden', {'aria-live': 'polite'}))};
  if (!text) return;
  clearTimeout(last.timer);
  const say = () => { if (text !== last.text) Object.assign(last, {text, at: Date.now()}).node.textContent = text; };
  const wait = last.at + apart - Date.now();
  if (wait > 0) last.timer = setTimeout(say, wait); else say();
}
