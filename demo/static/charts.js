/* Charts: plotly.js comes lazily, tokens become the theme's colours, and Plotly.react keeps node and zoom over a whole run. */
import {h, icon} from './dom.js';
import {lang, t} from './i18n.js';

let plotly = null;
const loadPlotly = () => plotly ??= new Promise((done, fail) => {
  const script = document.createElement('script');
  script.src = 'plotly.js'; script.onload = () => done(window.Plotly); script.onerror = () => { plotly = null; fail(new Error('plotly.js')); };
  document.head.append(script);
});

/** The value of a CSS token in the theme shown now. */
export const token = name => getComputedStyle(document.body).getPropertyValue(`--${name}`).trim();

/** The figure with every "@name" replaced by its token. */
function painted(value, of = token) {
  if (typeof value === 'string') return value.startsWith('@') ? of(value.slice(1)) : value;
  if (Array.isArray(value)) return value.map(one => painted(one, of));
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, painted(one, of)]));
  return value;
}

const charts = new Map();
const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/**
 * Draws `figure` in `node`; `run` names what the zoom belongs to: it is kept until another run is shown or a double click.
 * Plotly's own uirevision drops a zoom when the figure brings another range, as ours does while a run grows, so it is kept here.
 */
export async function chart(node, figure, {run = 'run', on = {}, zoom = true} = {}) {
  charts.set(node, {figure, run, on, zoom});
  if (!node.offsetWidth) return;
  const Plotly = await loadPlotly();
  const latest = charts.get(node);
  if (!latest || !node.isConnected || !node.offsetWidth) return;
  const {data, layout} = painted(latest.figure), touch = matchMedia('(pointer: coarse)').matches;
  if (node.zoomOf !== latest.run) { node.zoomOf = latest.run; node.zoomed = {}; }
  for (const axis of ['xaxis', 'yaxis']) layout[axis] = {...layout[axis], fixedrange: !latest.zoom, ...node.zoomed[axis] && {range: node.zoomed[axis]}};
  Object.assign(layout, {uirevision: latest.run, height: node.offsetHeight, dragmode: latest.zoom && !touch ? 'zoom' : false});
  if (node.offsetWidth < 420 && layout.margin?.r > 100) {
    layout.margin = {...layout.margin, r: 132, l: 44};
    for (const one of layout.annotations ?? []) one.text = one.text.replace(/ \+\d+$/, '').replace(/^(<b>[^<]*<\/b>  .{9}).{2,}$/, '$1…');
  }
  await Plotly.react(node, data, layout, {responsive: true, displayModeBar: false, displaylogo: false, doubleClick: 'reset', scrollZoom: false, locale: lang});
  if (node.wired) return;
  node.wired = true;
  node.on('plotly_relayout', change => { for (const axis of ['xaxis', 'yaxis']) if (`${axis}.range[0]` in change) node.zoomed[axis] = [change[`${axis}.range[0]`], change[`${axis}.range[1]`]]; });
  node.on('plotly_doubleclick', () => { node.zoomed = {}; const {figure: now, ...options} = charts.get(node); chart(node, now, options); });
  for (const name of ['click', 'hover', 'unhover']) node.on(`plotly_${name}`, event => charts.get(node)?.on[name]?.(event));
}

/** The charts drawn so far, in the order of the page. */
export const drawnCharts = () => [...charts.keys()].filter(node => node.isConnected && node.data).sort((a, b) => a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1);

/** A data URL of a drawn chart on white in the light theme's colours, whatever theme is shown. format: "png" (twice as fine) or "svg". */
export async function picture(node, format) {
  const light = getComputedStyle(document.documentElement), Plotly = await loadPlotly();
  const {data, layout} = painted(charts.get(node).figure, name => light.getPropertyValue(`--${name}`).trim());
  const size = {width: node._fullLayout?.width || 760, height: node._fullLayout?.height || 460};
  return Plotly.toImage({data, layout: {...layout, ...size, paper_bgcolor: '#ffffff'}}, {format, ...size, scale: format === 'png' ? 2 : 1});
}

export function redrawAll() {
  for (const [node, {figure, ...options}] of charts) node.isConnected ? chart(node, figure, options) : charts.delete(node);
}
let soon = 0;
const redrawSoon = () => { clearTimeout(soon); soon = setTimeout(redrawAll, still() ? 0 : 80); };
new ResizeObserver(redrawSoon).observe(document.documentElement);
new MutationObserver(redrawSoon).observe(document.body, {attributes: true, attributeFilter: ['class']});
export const redrawWhenSeen = node => new IntersectionObserver(seen => seen.some(one => one.isIntersecting) && redrawSoon()).observe(node);

/**
 * A chart's frame: the plot node, one sentence below it, and "Show as table". `table` gives [head cells, rows of cells] on demand.
 * A cell is text, or {text, data} to mark it for machines.
 */
export function frame(height, name, table) {
  const plot = h('div.plot', {style: {'--h': `${height}px`}, role: 'img', 'aria-label': name}), say = h('p.say'), holder = h('div.tableholder', {hidden: true});
  const button = h('button.link.quiet', {type: 'button', 'aria-expanded': 'false', onclick: () => { holder.hidden = !holder.hidden; button.setAttribute('aria-expanded', String(!holder.hidden)); button.lastChild.data = holder.hidden ? t('table.show') : t('table.hide'); update(); }}, icon('table'), t('table.show'));
  const cell = (tag, one) => h(tag, one?.data ? {dataset: one.data} : {}, String(one?.text ?? one ?? ''));
  function update() {
    if (holder.hidden) return;
    const [headings, rows] = table();
    holder.replaceChildren(h('table.numbers', {}, h('caption.hidden', {}, name), h('thead', {}, h('tr', {}, headings.map(text => h('th', {scope: 'col'}, text)))),
      h('tbody', {}, rows.map(row => h('tr', {}, row.map((one, at) => at ? cell('td', one) : cell('th', one)))))));
  }
  const tell = text => { if (say.textContent !== text) { say.textContent = text; plot.setAttribute('aria-label', `${name}. ${text}`); } update(); };
  return {plot, tell, update, parts: [plot, say, button, holder]};
}
