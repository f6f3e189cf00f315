/* A heat map as a table of real cells: quick to redraw while time is scrubbed, and every cell can be reached by keys. It draws the figures of figures.py. */
import {dot, h} from './dom.js';

/** Cells of a heat-map figure in `node`; chosen: [column, row] to outline; pick(column, row) where cells can be selected; axes: words across and down. */
export function drawGrid(node, figure, {chosen = null, pick = null, axes: [across, down], names}) {
  const [heat, numbers] = figure.data, wide = Math.max(...heat.z.map(row => row.length)), texts = new Map();
  numbers.x.forEach((x, at) => texts.set(`${x} ${numbers.y[at]}`, [numbers.text[at], numbers.textfont.color[at]]));
  const focused = node.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
  const cell = (value, x, y) => {
    if (value === null || value === undefined) return h('td', {class: x <= y ? 'well' : ''});
    const [text, ink] = texts.get(`${x} ${y}`) ?? ['', ''], said = String(heat.customdata?.[y]?.[x] ?? '').replace(/<br>/g, '. ').replace(/&amp;/g, '&').replace(/&lt;/g, '<').replace(/&gt;/g, '>'), own = chosen && chosen[0] === x && chosen[1] === y;
    const look = {'--heat': shade(heat.colorscale, (value - heat.zmin) / (heat.zmax - heat.zmin)), '--on-heat': ink || 'inherit'};
    return h('td', {class: own ? 'own' : ''}, pick ? h('button', {type: 'button', style: look, title: said, 'aria-label': said, 'aria-pressed': String(Boolean(own)), dataset: {focus: `cell-${x}-${y}`, cell: `${x} ${y}`}, onclick: () => pick(x, y)}, text) : h('span', {style: look, title: said}, text));
  };
  node.removeAttribute('role');
  node.replaceChildren(h('div.gridframe', {}, h('span.across', {'aria-hidden': 'true'}, across), h('span.down', {'aria-hidden': 'true'}, down), h('table.heatgrid', {class: wide > 8 ? 'dense' : '', 'aria-label': node.getAttribute('aria-label')},
    h('thead', {}, h('tr', {}, h('td'), Array.from({length: wide}, (_, x) => h('th', {scope: 'col', title: names(x)}, dot(x))))),
    h('tbody', {}, heat.z.map((row, y) => h('tr', {}, h('th', {scope: 'row', title: names(y)}, dot(y)), Array.from({length: wide}, (_, x) => cell(row[x], x, y))))))));
  if (focused) node.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus({preventScroll: true});
}

/** The colour of a share, straight between the stops as Plotly draws them. */
function shade(stops, share) {
  const at = Math.max(0, Math.min(1, share)), next = Math.max(1, stops.findIndex(([stop]) => at <= stop)), [[low, dark], [high, bright]] = [stops[next - 1], stops[next]], part = (at - low) / (high - low);
  return `rgb(${[1, 3, 5].map(one => { const [a, b] = [dark, bright].map(colour => parseInt(colour.slice(one, one + 2), 16)); return Math.round(a + part * (b - a)); }).join(' ')})`;
}
