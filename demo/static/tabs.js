/* Gradio's tabs, with what they lack: an address, arrow keys, number keys, and a place after a reload. */
import {redrawAll} from './charts.js';
import {carry, tabOf, withTab, write} from './link.js';

export const tabs = () => [...document.querySelectorAll('#story [role=tab]')].filter(tab => !tab.closest('.visually-hidden'));
const names = () => tabs().map(tab => tab.dataset.tabId);
export const current = () => names()[tabs().findIndex(tab => tab.getAttribute('aria-selected') === 'true')];

export function goTo(name) {
  tabs()[names().indexOf(name)]?.click();
  scrollTo({top: 0});
}

let arriving = false;
/** Brings the tab an address names: nobody went there by hand, so it is no new entry of the browser's history. */
export function arrive(name) {
  arriving = true;
  goTo(name);
  arriving = false;
  write({hash: withTab(name)});
}

function remember(push) {
  const name = current();
  if (name && location.hash !== withTab(name)) write({hash: withTab(name), push});
}

/** Back and Forward bring the tab alone, settings and lesson stay as they are; an address typed by hand is taken whole. */
function onMove(event) {
  const known = names().includes(tabOf()), name = known ? tabOf() : event.state?.lab ? names()[0] : current();
  if (event.state?.lab) carry(name);
  if (name !== current()) arrive(name);
  else write({});
}

export function startTabs() {
  const wanted = tabOf();
  if (current() !== names()[0]) remember(false);  // somebody was quicker than this script: their tab stays
  else if (names().includes(wanted) && wanted !== current()) arrive(wanted);
  write({});
  document.addEventListener('click', onClick);
  addEventListener('popstate', onMove);
  document.addEventListener('keydown', onKey);
}

function onClick(event) {
  if (!event.target.closest?.('#story [role=tab]')) return;
  if (!arriving) setTimeout(remember, 30, true);
  [30, 90, 330].forEach(wait => setTimeout(redrawAll, wait));
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector('dialog[open]')) return;
  const list = tabs(), at = list.indexOf(document.activeElement), step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (at >= 0 && step) { const next = list[(at + step + list.length) % list.length]; next.focus(); next.click(); event.preventDefault(); return; }
  if (event.target.closest?.('input:not([type=range]):not([type=checkbox]), textarea, select, [contenteditable]:not([contenteditable=false])')) return;
  if (/^[1-9]$/.test(event.key)) { const tab = list[Number(event.key) - 1]; if (tab) { tab.click(); tab.focus(); } return; }
  if (event.key === ' ' && !event.target.closest?.('button, a, input, [role=tab]')) { document.querySelector(`#tab-${current()} [data-play]`)?.click(); event.preventDefault(); }
}
