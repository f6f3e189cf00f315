/* Elements without innerHTML: h() builds nodes, names and sentences only ever become text. Icons are our own constants. */
const NS = 'http://www.w3.org/2000/svg';

/** h('button.btn.ghost', {onclick, 'aria-label': …}, child, 'text', [children]) -> element */
export function h(spec, props = {}, ...children) {
  const [tag, ...classes] = spec.split('.');
  const node = document.createElement(tag || 'div');
  if (classes.length) node.className = classes.join(' ');
  set(node, props);
  node.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return node;
}

function set(node, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'class') node.className += ` ${value}`;
    else if (name === 'style') for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
    else if (name === 'dataset') Object.assign(node.dataset, value);
    else if (name.startsWith('on') || name in node && !name.includes('-') && name !== 'list' && name !== 'role') node[name] = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
}

/** Replaces the children of a node, but only when `key` changed: what is drawn keeps its focus and scroll. */
export function fill(node, key, build) {
  const text = typeof key === 'string' ? key : JSON.stringify(key);
  if (node.drawn === text) return false;
  node.drawn = text;
  const focused = node.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
  node.replaceChildren(...[build()].flat(Infinity).filter(Boolean));
  if (focused) node.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus({preventScroll: true});
  return true;
}

const PATHS = {
  check: [['M5 12.5l4.5 4.5L19 7.5'], 3], cross: [['M6.5 6.5l11 11M17.5 6.5l-11 11'], 3], play: [['M8 5.5v13l10.5-6.5z'], 2, true], pause: [['M8 6v12M16 6v12'], 3.4],
  arrow: [['M5 12h14M13 6l6 6-6 6']], file: [['M6 3h8l4 4v14H6z', 'M14 3v4h4']], folder: [['M3 6h6l2 2.5h10V19H3z']], paste: [['M7 5H5v16h14V5h-2', 'M9 3h6v4H9z']],
  moon: [['M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z']], sun: [['M12 7.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M19 5l-1.4 1.4M6.4 17.6L5 19']],
  book: [['M12 6.5C10 5 7 4.5 4 4.5v14c3 0 6 .5 8 2 2-1.5 5-2 8-2v-14c-3 0-6 .5-8 2z', 'M12 6.5v14']], list: [['M9 6h11M9 12h11M9 18h11M4.5 6h.1M4.5 12h.1M4.5 18h.1'], 2.4],
  box: [['M12 3l8 4.5v9L12 21l-8-4.5v-9z', 'M4 7.5l8 4.5 8-4.5M12 12v9']], code: [['M8.5 7L3.5 12l5 5M15.5 7l5 5-5 5']], chart: [['M4 4v16h16', 'M8 15.5v.1M12 9.5v.1M17 7v.1M15.5 14v.1'], 2.6], weights: [['M6 6h4v4H6zM14 6h4v4h-4zM6 14h4v4H6zM14 14h4v4h-4z']],
  warn: [['M12 4L2.8 19.5h18.4z', 'M12 10v4M12 16.8v.2']], trash: [['M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13']], plus: [['M12 5v14M5 12h14'], 2.6], replay: [['M5 12a7 7 0 1 0 2.2-5.1M5 4v4h4']],
  camera: [['M4 7.5h3.5L9 5h6l1.5 2.5H20V19H4z', 'M12 10a3 3 0 1 0 0 6a3 3 0 1 0 0-6z']], link: [['M10 13.5a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.7-5.7L12 6.6', 'M14 10.5a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 5.7 5.7l1.3-1.3']],
  help: [['M9 9a3 3 0 1 1 4.2 2.8c-.9.4-1.2 1-1.2 2', 'M12 17.5v.2'], 2.4], grip: [['M9 6h.1M9 12h.1M9 18h.1M15 6h.1M15 12h.1M15 18h.1'], 2.6], table: [['M3 5h18v14H3zM3 10h18M10 5v14']], down: [['M6 9l6 6 6-6'], 2.6],
};

function svg(tag, props, ...children) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export function icon(name) {
  const [paths, width = 2, solid = false] = PATHS[name];
  return svg('svg', {class: 'i', viewBox: '0 0 24 24', fill: 'none', stroke: 'currentColor', 'stroke-width': width, 'stroke-linecap': 'round', 'stroke-linejoin': 'round', 'aria-hidden': 'true'},
    ...paths.map(d => svg('path', {d, fill: solid ? 'currentColor' : 'none'})));
}

const PETAL = 'M20 18.4C15 15.2 11.6 10.4 13.9 6.6c1.6-2.7 4.6-2.5 6.1-.5 1.5-2 4.5-2.2 6.1.5 2.3 3.8-1.1 8.6-6.1 11.8z';
export function flower() {
  const whole = [0, 72, 144, 216].map(turn => svg('path', {d: PETAL, fill: 'var(--petal)', transform: `rotate(${turn} 20 20)`}));
  const lost = svg('path', {d: PETAL, fill: 'none', stroke: 'var(--petal)', 'stroke-width': 1.5, 'stroke-dasharray': '2.4 2.2', transform: 'rotate(288 20 20)'});
  const eye = [[5.2, '--paper'], [4, '--sun'], [1.3, '--sun-deep']].map(([r, token]) => svg('circle', {cx: 20, cy: 20, r, fill: `var(${token})`}));
  return svg('svg', {class: 'flower', viewBox: '0 0 40 40', 'aria-hidden': 'true'}, ...whole, lost, ...eye);
}
export function bud() {
  const paths = ['M30 56C30 42 31 34 30 27', 'M30 46c-9 0-13-5-14-11 8 0 13 4 14 11zM31 40c7 0 11-3 13-9-7-.5-12 2-13 9z', 'M30 27c-7-1-9-7-7-13 3 1 5 2 7 5 2-3 4-4 7-5 2 6 0 12-7 13z'];
  return svg('svg', {class: 'bud', viewBox: '0 0 60 60', fill: 'none', stroke: 'currentColor', 'stroke-width': 2, 'stroke-linecap': 'round', 'aria-hidden': 'true'},
    ...paths.map((d, at) => svg('path', {d, fill: at === 2 ? 'var(--brand-soft)' : 'none'})));
}

/* A method is a dash and a marker in ink, the same in list, legend and curve. The table comes from figures.py. */
let glyphs = {glyphs: {}, dashes: ['solid'], markers: ['circle']};
export const useGlyphs = table => { glyphs = {...table, glyphs: {...glyphs.glyphs, ...table.glyphs}}; };
const DASH = {solid: '', dash: '9 6', dot: '2 5', longdash: '14 5', longdashdot: '14 4 2 4', dashdot: '9 4 2 4', '5px,3px': '5 3'};
const MARK = {circle: 'M17 9a5 5 0 1 0 10 0a5 5 0 1 0-10 0z', square: 'M17.5 4.5h9v9h-9z', diamond: 'M22 3l6 6-6 6-6-6z', 'triangle-up': 'M22 3l6 10.5H16z', x: 'M17.5 4.5l9 9M26.5 4.5l-9 9',
  star: 'M22 2.5l2 4.4 4.8.5-3.6 3.2 1 4.7-4.2-2.4-4.2 2.4 1-4.7-3.6-3.2 4.8-.5z', 'line-ew': ''};
export function glyph(method) {
  const total = [...method].reduce((sum, letter) => sum + letter.codePointAt(0), 0), {dashes, markers} = glyphs;
  const [dash, marker] = glyphs.glyphs[method] ?? [dashes[total % dashes.length], markers[Math.floor(total / dashes.length) % markers.length]];
  return svg('svg', {class: 'glyph', viewBox: '0 0 44 18', fill: 'var(--ink)', stroke: 'var(--ink)', 'stroke-width': 2.4, 'aria-hidden': 'true'},
    svg('path', {d: 'M1 9h42', 'stroke-dasharray': DASH[dash] ?? ''}), svg('path', {d: MARK[marker] ?? '', 'stroke-width': marker === 'x' ? 3 : 1}));
}

export const hueOf = task => `t${task % 6 + 1}`;
export const dot = task => h(`span.dot.${hueOf(task)}`, {}, String(task + 1));
export const title = (heading, sub, right = null) => h('header.head', {}, h('div', {}, h('h3', {}, heading), sub ? h('p.sub', {}, sub) : null), right);
export const pretty = name => String(name).replace(/_/g, ' ');

/** What the keys do in a group of radio buttons: arrows go to the next one, round and round, and choose it. */
const stepping = buttons => event => {
  const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
  if (!step || event.altKey) return;
  event.preventDefault();
  const next = buttons[(buttons.indexOf(event.target.closest('[role=radio]')) + step + buttons.length) % buttons.length];
  next.focus(); next.click();
};

/** A radio group that looks like one control: arrows move, the chosen one is told to `choose`. */
export function segmented(label, options, chosen, choose, name = label) {
  const at = Math.max(0, options.findIndex(([value]) => value === chosen));
  const buttons = options.map(([value, text, extra], n) => h('button', {
    type: 'button', role: 'radio', 'aria-checked': String(value === chosen), tabIndex: n === at ? 0 : -1, title: extra ?? null, dataset: {focus: `${name}-${value}`, value},
    onclick: () => choose(value),
  }, text));
  return h('div.seg', {role: 'radiogroup', 'aria-label': label, onkeydown: stepping(buttons)}, buttons);
}

/** A radio group of our own looks: arrows move, a click or Space chooses. */
export function radios(label, options, chosen, pick, name, look) {
  const at = Math.max(0, options.findIndex(([value]) => value === chosen));
  const buttons = options.map(([value, inside], n) => h(`button.${name}`, {type: 'button', role: 'radio', 'aria-checked': String(value === chosen), tabIndex: n === at ? 0 : -1, dataset: {focus: `${name}-${value}`, value: String(value)}, onclick: () => pick(value)}, inside));
  return h(`div.${look}`, {role: 'radiogroup', 'aria-label': label, onkeydown: stepping(buttons)}, buttons);
}
