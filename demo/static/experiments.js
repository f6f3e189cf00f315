/* Ready-made experiments: one click trains the variants, and rows with differences and one sentence come back from the server. */
import {get} from './api.js';
import {memory} from './compare.js';
import {fill, h, icon, title} from './dom.js';
import {lang, t} from './i18n.js';
import {lines} from './lineup.js';
import {time} from './queue.js';
import {changed, show, store, subscribe, tryOut} from './store.js';
import {current, goTo} from './tabs.js';

const state = {all: null, key: null, asking: false, open: null};

export function mountExperiments(card) {
  const list = h('div.trials');
  card.replaceChildren(title(t('experiments.title'), t('experiments.sub')), list);
  subscribe(() => {
    if (current() !== 'train') return;
    const key = JSON.stringify([store.project?.id, store.project?.version, store.status?.backbone?.state, lines.told.map(one => [one.id, one.status])]);
    if (store.project && key !== state.key) refresh(key);
    const all = store.project ? state.all : null;
    fill(list, [all, state.open, blocked()], () => all ? all.map(draw) : [h('p.sub', {}, t('experiments.unready'))]);
  });
}

async function refresh(key) {
  if (state.asking) return;
  state.asking = true;
  try { state.all = (await get(`projects/${store.project.id}/experiments?lang=${lang}`)).experiments; state.key = key; }
  catch (error) { if (error.status === undefined) console.error(error); } // asked again with the next change
  finally { state.asking = false; changed(); }
}

const blocked = () => !store.project?.ready.reasons.every(one => one.code === 'no_methods') || store.status?.worker !== 'ready' || store.status?.backbone?.state !== 'ready' || store.starting;

function draw(one) {
  const {last} = one, going = last && (last.state === 'running' || last.state === 'queued'), open = state.open === one.name || going;
  const runs = one.variants.length > 1 ? t('experiments.runs', {n: one.variants.length}) : t('experiments.one_run');
  return h('section.trial', {dataset: {experiment: one.name, state: last?.state ?? 'none'}},
    h('h4', {}, h('button.name', {type: 'button', 'aria-expanded': String(Boolean(open)), dataset: {focus: `trial-${one.name}`}, onclick: () => { state.open = state.open === one.name ? null : one.name; changed(); }}, one.title, icon('down'))),
    h('p.sub', {}, [runs, one.seconds === null ? null : t('experiments.about', {time: time(one.seconds)})].filter(Boolean).join(' · ')),
    h('button.btn.ghost', {type: 'button', dataset: {once: '', run: one.name, focus: `run-${one.name}`}, disabled: blocked() || going, onclick: () => { state.open = one.name; tryOut(one.name); }}, t(last ? 'experiments.again' : 'experiments.run')),
    going ? h('p.stand', {role: 'status'}, last.state === 'queued' ? t('experiments.waiting') : t('experiments.running', last)) : null,
    last?.say ? h('p.say', {role: 'status'}, last.say) : last?.state === 'failed' ? h('p.say', {role: 'status'}, t('experiments.failed')) : null,
    open ? detail(one) : null);
}

function detail(one) {
  const shown = one.variants.filter(() => !one.routes), sizes = shown.map(variant => variant.bytes);
  return h('div.trialmore', {}, h('p.sub', {}, one.asks),
    shown.length ? h('ul.chips', {}, shown.map(variant => h('li', {}, h('b', {}, variant.label), h('span', {}, t('experiments.module', {size: memory(variant.bytes)}))))) : null,
    one.equal ? h('p.fine', {}, t('experiments.equal', {size: memory(Math.max(...sizes)), within: (100 * one.within).toFixed(1)})) : null,
    one.last?.rows.length ? table(one) : null);
}

const percent = value => value === null ? t('result.none') : (100 * value).toFixed(1), signed = value => `${value < 0 ? '−' : '+'}${Math.abs(100 * value).toFixed(1)}`;

function table({routes, last}) {
  const names = ['accuracy', 'than', 'routing', ...routes ? [] : ['forgetting', 'parameters', 'stores', 'seconds']];
  const cells = row => [`${percent(row.accuracy)} (${percent(row.interval[0])}–${percent(row.interval[1])})`, row.than === null ? '–' : row.beside ? signed(row.than[0]) : `${signed(row.than[0])} (${row.than.slice(1).map(signed).join(' … ')})`, percent(row.routing),
    ...routes ? [] : [percent(row.forgetting), row.parameters === null ? t('result.none') : row.parameters.toLocaleString(lang), memory(row.bytes), row.seconds.toFixed(1)]];
  return [h('div.tableholder', {tabIndex: 0, role: 'group', 'aria-label': t('experiments.table')}, h('table.numbers', {}, h('caption.hidden', {}, t('experiments.table')),
    h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, t(routes ? 'experiments.router_of' : 'experiments.variant')), names.map(name => h('th', {scope: 'col', title: name === 'than' ? t('experiments.than_help') : null}, t(`experiments.${name}`))))),
    h('tbody', {}, last.rows.map(row => h('tr', {class: row.beside ? 'beside' : '', dataset: {right: String(row.right), total: String(row.total)}}, h('th', {scope: 'row'}, row.label), cells(row).map(text => h('td', {}, text))))))),
    h('button.link', {type: 'button', dataset: {focus: 'trial-see'}, onclick: () => { if (!routes) goTo('compare'); else { show(last.runs[0]); goTo('inside'); } }}, t(routes ? 'do.inside' : 'experiments.see'))];
}
