/* Charts reached by keys: arrows move from point to point or cell to cell, and what it says is shown and read out. */
import {h} from './dom.js';
import {t} from './i18n.js';

const WAYS = {ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0]};

/** Makes a frame's plot walkable: a row is a line, or a row of a map. Returns the place where what was reached is read out. */
export function walkable(plot) {
  const said = h('p.hidden', {'aria-live': 'polite'});
  let at = null;
  const leave = () => { if (at && plot.data) window.Plotly.Fx.unhover(plot); at = null; said.textContent = ''; };
  Object.assign(plot, {tabIndex: 0});
  plot.setAttribute('role', 'application');
  plot.setAttribute('aria-roledescription', t('plastic.walk'));
  plot.addEventListener('blur', leave);
  plot.addEventListener('keydown', event => {
    const way = WAYS[event.key], rows = rowsOf(plot);
    if (event.key === 'Escape' && at) { event.stopPropagation(); leave(); }
    if (!way || event.altKey || !rows.length) return;
    event.preventDefault();
    const row = at ? Math.max(0, Math.min(rows.length - 1, at[0] + way[0])) : 0, last = rows[row].says.length - 1;
    at = [row, at ? Math.max(0, Math.min(last, at[1] + way[1])) : last];
    window.Plotly.Fx.hover(plot, [{curveNumber: rows[row].trace, ...rows[row].point(at[1])}]);
    said.textContent = rows[row].says[at[1]].replaceAll('<br>', ' ');
  });
  return said;
}

const rowsOf = plot => (plot.data ?? []).flatMap(({type, customdata, x, y}, trace) => !customdata?.length ? []
  : type === 'heatmap' ? customdata.map((says, row) => ({trace, says, point: column => ({xval: x[column], yval: y[row]})})) : [{trace, says: customdata, point: pointNumber => ({pointNumber})}]);
