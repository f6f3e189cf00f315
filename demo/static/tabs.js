/* Gradio's tabs, with what they lack: an address, arrow keys, number keys, and a place after a reload. */
import {redrawAll} from './charts.js';
import {tabOf, withTab} from './link.js';

export const tabs = () => [...document.querySelectorAll('#story [role=tab]')].filter(tab => !tab.closest('.visually-hidden'));
const names = () => tabs().map(tab => tab.dataset.tabId);
export const current = () => names()[tabs().findIndex(tab => tab.getAttribute('aria-selected') === 'true')];

export function goTo(name) {
  tabs()[names().indexOf(name)]?.click();
  scrollTo({top: 0});
}

function remember() {
  const name = current();
  if (name && location.hash !== withTab(name)) history.replaceState(null, '', `${location.search || location.pathname}${withTab(name)}`);
  [0, 60, 300].forEach(wait => setTimeout(redrawAll, wait));
}

export function startTabs() {
  const wanted = tabOf();
  if (current() !== names()[0]) remember();  // somebody was quicker than this script: their tab stays
  else if (names().includes(wanted) && wanted !== current()) goTo(wanted);
  document.addEventListener('click', event => { if (event.target.closest?.('#story [role=tab]')) setTimeout(remember, 30); });
  addEventListener('hashchange', () => { const name = tabOf(); if (names().includes(name) && name !== current()) goTo(name); });
  document.addEventListener('keydown', onKey);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector('dialog[open]')) return;
  const list = tabs(), at = list.indexOf(document.activeElement), step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (at >= 0 && step) { const next = list[(at + step + list.length) % list.length]; next.focus(); next.click(); event.preventDefault(); return; }
  if (event.target.closest?.('input:not([type=range]):not([type=checkbox]), textarea, select, [contenteditable]:not([contenteditable=false])')) return;
  if (/^[1-9]$/.test(event.key)) { const tab = list[Number(event.key) - 1]; if (tab) { tab.click(); tab.focus(); } return; }
  if (event.key === ' ' && !event.target.closest?.('button, a, input, [role=tab]')) { document.querySelector(`#tab-${current()} [data-play]`)?.click(); event.preventDefault(); }
}
