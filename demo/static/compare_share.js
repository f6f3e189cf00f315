/* Take it with you: files made by the server on the spot, charts made in the page, and projects that come back. */
import {get, Problem, send} from './api.js';
import {drawnCharts, picture} from './charts.js';
import {fill, h, icon, title} from './dom.js';
import {kept, lang, t} from './i18n.js';
import {changed, store, takeProject} from './store.js';
import {toast, trouble} from './toast.js';

const picked = {run: '', chart: null};
let working = '';

/** Draws the card into `node` now and whenever the function that comes back is called; `answer` gives what compare knows. */
export function mountShare(node, answer) {
  const charts = new Map();
  return () => {
    const said = answer(), runs = (said?.rows ?? []).flatMap(row => row.runs.map(run => ({...run, title: row.note ? `${row.title} · ${row.note}` : row.title})));
    const found = drawnCharts().map(one => ({node: one, name: one.closest('article')?.querySelector('h3')?.textContent ?? one.getAttribute('aria-label') ?? ''}));
    charts.clear();
    found.forEach(({node: one, name}, at) => charts.set(String(at), {node: one, name}));
    if (!runs.some(run => run.id === picked.run)) picked.run = runs.find(run => run.id === store.own)?.id ?? runs.at(-1)?.id ?? '';
    if (!charts.has(picked.chart)) picked.chart = charts.size ? '0' : null;
    const project = store.project?.id, any = runs.length > 0;
    fill(node, [project, any, said?.bytes, said?.runs, said?.photos, runs, picked, found.map(one => one.name), working, said?.stream], () => {
      const base = `projects/${project}/share`;
      const button = (name, text, run, off = false) => h('button.btn.ghost', {type: 'button', dataset: {save: name, focus: `save-${name}`}, disabled: off || Boolean(working), onclick: run}, text);
      const get = (name, text, path, off) => button(name, text, () => save(path, name), off);
      const take = (name, glyph, ...controls) => h('section.take', {'aria-label': t(`share.${name}`)}, icon(glyph), h('h4', {}, t(`share.${name}`)), h('p.sub', {}, t(`share.${name}_text`, {runs: said?.runs ?? 0})), h('div.acts', {}, controls));
      const needs = any ? null : h('p.fine.why', {}, t('share.needs_run'));
      const query = run => `?run=${encodeURIComponent(run)}`;
      const choose = runs.length > 1 ? h('label.pickrun', {}, h('span.label', {}, t('share.run')), h('select', {dataset: {focus: 'share-run'}, onchange: event => { picked.run = event.target.value; changed(); }}, runs.map(run => h('option', {value: run.id, selected: run.id === picked.run}, t('share.run_option', {method: run.title, seed: run.seed}))))) : null;
      const chooseChart = charts.size ? h('select', {'aria-label': t('share.chart'), dataset: {focus: 'share-chart'}, onchange: event => { picked.chart = event.target.value; changed(); }}, [...charts].map(([at, one]) => h('option', {value: at, selected: at === picked.chart}, one.name))) : h('p.fine', {}, t('share.no_chart'));
      return [title(t('share.title'), t('share.sub'), working ? h('span.tag', {role: 'status'}, t('share.working', {name: working})) : null),
        h('div.takes', {},
          take('project', 'box', get('project.fmn', t('share.project_save', {size: bytes(said?.bytes)}), `${base}/project.fmn`, !project), opener('share-open'), project ? null : h('p.fine.why', {}, t('share.needs_project'))),
          take('report', 'file', get('report.html', t('share.report_save'), `${base}/report.html?lang=${lang}&stream=${said?.stream ?? ''}`, !any), needs),
          take('numbers', 'table', get('numbers.csv', t('share.csv'), `${base}/numbers.csv`, !any), get('numbers.json', t('share.json'), `${base}/numbers.json`, !any), any ? null : h('p.fine.why', {}, t('share.needs_run'))),
          take('charts', 'chart', chooseChart, charts.size ? ['png', 'svg'].map(format => button(`chart.${format}`, t(`share.${format}`), () => saveChart(charts.get(picked.chart), format))) : null)),
        any ? h('div.ofrun', {}, choose, h('div.takes', {},
          take('code', 'code', get('run.py', t('share.save_py'), `${base}/run.py${query(picked.run)}`)),
          take('weights', 'weights', get('weights.safetensors', t('share.save_weights'), `${base}/weights.safetensors${query(picked.run)}`)))) : null];
    });
  };
}

const bytes = size => !size ? '' : size >= 1e6 ? `${Math.round(size / 1e5) / 10} MB` : `${Math.max(1, Math.round(size / 1e3))} kB`;

/* ---------- out ---------- */
async function save(path, name) {
  working = name; changed();
  try {
    let answer;
    try { answer = await fetch(path); } catch { throw new Problem({code: 'server_away', values: {}}, 0); }
    if (!answer.ok) { const body = await answer.json().catch(() => null); throw new Problem(body?.problem ?? {code: 'server_error', values: {status: answer.status}}, answer.status); }
    const named = /filename\*=UTF-8''([^;]+)/.exec(answer.headers.get('content-disposition') ?? '')?.[1];
    give(await answer.blob(), named ? decodeURIComponent(named) : name);
  } catch (error) { trouble(error); }
  finally { working = ''; changed(); }
}

async function saveChart({node, name}, format) {
  try { give(await (await fetch(await picture(node, format))).blob(), `${name.replace(/[\\/:*?"<>|]+/g, ' ').trim() || 'chart'}.${format}`); }
  catch (error) { trouble(error); }
}

function give(blob, name) {
  const link = h('a', {href: URL.createObjectURL(blob), download: name, hidden: true});
  document.body.append(link);
  link.click();
  setTimeout(() => { URL.revokeObjectURL(link.href); link.remove(); }, 20000);
  toast({title: t('share.saved', {name}), key: 'saved', seconds: 4, well: true});
}

/* ---------- in ---------- */
/** The button that opens a .fmn file. */
export function opener(focus) {
  const input = h('input', {type: 'file', accept: '.fmn,application/zip', hidden: true, onchange: () => { const [file] = input.files; input.value = ''; if (file) open(file); }});
  return [h('button.btn.ghost', {type: 'button', dataset: {open: '', focus}, disabled: Boolean(working), onclick: () => input.click()}, icon('folder'), t('share.open')), input];
}

export async function open(file) {
  working = file.name; changed();
  const done = toast({title: t('share.opening', {name: file.name}), key: 'opened', seconds: 0, well: true});
  try {
    const before = store.project?.counts.photos ? store.project.id : null, {id, project} = await send('projects/import', file);
    adopt(id, project);
    toast({title: t('share.opened', {name: project.name || file.name}), text: t('share.opened_text', {photos: project.counts.photos, runs: project.runs.length}), key: 'opened', seconds: 10, well: true,
      action: before && [t('share.back'), async () => { try { adopt(before, await get(`projects/${before}`)); } catch (error) { trouble(error); } }]});
  } catch (error) { done(); trouble(error); }
  finally { working = ''; changed(); }
}

function adopt(id, project) {
  kept.set('project', id);
  takeProject(project);
}

/** In My data's empty state, where someone who comes with a file looks first. */
export function openIntoData() {
  const acts = document.querySelector('#view-data .empty .acts');
  if (acts && !acts.querySelector('[data-open]')) acts.append(...opener('data-open'));
}
