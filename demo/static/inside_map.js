/* A map of points on a canvas: five hundred photos are redrawn in a few milliseconds, so that time can be scrubbed. Pointer, touch and arrow keys reach every point. */
import {token} from './charts.js';
import {h, hueOf, pretty} from './dom.js';

const SIDES = [0, [4, .785], [4, 0], [3, 0], [5, 0, .45], [6, 0, .55], [5, 0], [3, Math.PI]];
const NEAR = {mouse: 16, touch: 26}, EDGE = 16;

/** Draws in `plot`; near(at or null, x, y) hears of the point below pointer or keys, pick(at) of the one chosen. Returns {draw}. */
export function pointMap(plot, {name, near, pick}) {
  const canvas = h('canvas.pointmap', {tabIndex: 0, role: 'application', 'aria-label': name}), brush = canvas.getContext('2d');
  plot.append(canvas);
  let spots = [], at = null;
  const show = now => { at = now; now === null ? near(null) : near(now, ...spots[now]); };
  const closest = (event, within) => {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let best = null, least = within;
    spots.forEach(([px, py], one) => { const far = Math.hypot(px - x, py - y); if (far < least) { least = far; best = one; } });
    return best;
  };
  canvas.addEventListener('pointermove', event => { if (event.pointerType === 'touch') return; const found = closest(event, NEAR.mouse); canvas.style.cursor = found === null ? '' : 'pointer'; if (found !== at) show(found); });
  canvas.addEventListener('pointerleave', () => show(null));
  canvas.addEventListener('blur', () => show(null));
  canvas.addEventListener('click', event => { const found = closest(event, event.pointerType === 'touch' ? NEAR.touch : NEAR.mouse); if (found !== null) { show(found); pick(found); } });
  canvas.addEventListener('keydown', event => {
    const way = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1]}[event.key];
    if (way && !event.altKey && spots.length) { event.preventDefault(); show(at === null ? 0 : toward(spots, at, way)); }
    else if ((event.key === 'Enter' || event.key === ' ') && at !== null) { event.preventDefault(); event.stopPropagation(); pick(at); }
  });
  return {draw: figure => { spots = paint(canvas, brush, plot, figure); at = null; }};
}

/** The nearest point that lies in direction `way` of point `at`; itself at the edge. */
function toward(spots, at, [dx, dy]) {
  let best = at, least = Infinity;
  spots.forEach(([x, y], one) => {
    const along = (x - spots[at][0]) * dx + (y - spots[at][1]) * dy, aside = Math.abs((x - spots[at][0]) * dy) + Math.abs((y - spots[at][1]) * dx);
    if (along > .5 && along + 2 * aside < least) { least = along + 2 * aside; best = one; }
  });
  return best;
}

/** Photos not learnt yet below, wrong ones as grey outlines, right ones in their task's colour on top, then names. Returns [x, y] of every point in pixels. */
function paint(canvas, brush, plot, {places, points, states, keys, ring, now}) {
  const [wide, high, ratio] = [plot.offsetWidth, plot.offsetHeight, Math.min(3, devicePixelRatio || 1)], colours = new Map(), colour = one => colours.get(one) ?? colours.set(one, token(one)).get(one);
  Object.assign(canvas, {width: Math.round(wide * ratio), height: Math.round(high * ratio)});
  brush.setTransform(ratio, 0, 0, ratio, 0, 0);
  brush.clearRect(0, 0, wide, high);
  const all = [...places, ...keys], span = axis => { const list = all.map(place => place[axis]), low = Math.min(...list), size = Math.max(...list) - low || 1; return value => (value - low) / size; }, [across, up] = [span(0), span(1)];
  const put = ([x, y]) => [EDGE + across(x) * (wide - 2 * EDGE), high - EDGE - up(y) * (high - 3 * EDGE)], spots = places.map(put), shapes = shapesOf(points);
  for (const state of ['unseen', 'wrong', 'right']) points.forEach((point, at) => {
    if (states[at] !== state) return;
    const [x, y] = spots[at];
    brush.globalAlpha = state === 'unseen' ? .5 : 1;
    trace(brush, x, y, state === 'unseen' ? 2.6 : state === 'wrong' ? 5 : 5.6, state === 'unseen' ? 0 : shapes[at]);
    if (state !== 'wrong') { brush.fillStyle = colour(state === 'right' ? hueOf(point.task) : 'line-strong'); brush.fill(); }
    if (state !== 'unseen') { brush.lineWidth = state === 'wrong' ? 1.7 : 1; brush.strokeStyle = colour(state === 'wrong' ? 'ink-3' : 'dot-line'); brush.stroke(); }
  });
  brush.globalAlpha = 1;
  names(brush, points, spots, now, colour, wide, high);
  keys.forEach((key, one) => { const [x, y] = put(key); trace(brush, x, y, 13, 0); brush.fillStyle = colour('card'); brush.fill(); brush.lineWidth = 3; brush.strokeStyle = colour(ring(one)); brush.stroke(); write(brush, String(one + 1), x, y + 5, '700 14px', colour('ink'), null); });
  return spots;
}

/** (n,) which symbol each point gets: the place of its class in its task, shifted where the hues of tasks repeat. */
function shapesOf(points) {
  const classes = new Map();
  return points.map(point => { const known = classes.get(point.task) ?? classes.set(point.task, []).get(point.task); if (!known.includes(point.class)) known.push(point.class); return (known.indexOf(point.class) + Math.floor(point.task / 6)) % SIDES.length; });
}

/** Lays a path: a circle, or a polygon or star of SIDES[shape] of about the same area. */
function trace(brush, x, y, size, shape) {
  brush.beginPath();
  if (!SIDES[shape]) { brush.arc(x, y, size, 0, 7); return; }
  const [count, turn, inner] = SIDES[shape], steps = inner ? 2 * count : count, reach = size * (count === 3 ? 1.35 : inner ? 1.35 : 1.2);
  for (let one = 0; one < steps; one++) { const angle = turn + 2 * Math.PI * one / steps - Math.PI / 2, far = inner && one % 2 ? reach * inner : reach; brush.lineTo(x + far * Math.cos(angle), y + far * Math.sin(angle)); }
  brush.closePath();
}

function write(brush, text, x, y, font, fill, halo) {
  brush.font = `${font} ${token('sans')}`;
  brush.textAlign = 'center';
  if (halo) { brush.lineJoin = 'round'; brush.lineWidth = 4; brush.strokeStyle = halo; brush.strokeText(text, x, y); }
  brush.fillStyle = fill;
  brush.fillText(text, x, y);
}

/** The name of each class learnt by now, beside its photos where it covers the fewest marks, the tightest class first; one that would cover another name is left to the pointer. */
function names(brush, points, spots, now, colour, wide, high) {
  const groups = new Map(), placed = [];
  points.forEach((point, at) => { if (point.task <= now) { const key = `${point.task} ${point.class}`, one = groups.get(key) ?? groups.set(key, {point, x: [], y: []}).get(key); one.x.push(spots[at][0]); one.y.push(spots[at][1]); } });
  brush.font = `600 14px ${token('sans')}`;
  for (const one of [...groups.values()].sort((a, b) => loose(a) - loose(b))) {
    const name = pretty(one.point.class), text = `${one.point.task + 1} ${name.length > 15 ? `${name.slice(0, 14)}…` : name}`, half = brush.measureText(text).width / 2 + 4;
    const room = (x, y) => x >= half && x <= wide - half && y >= 12 && y <= high - 8 && !placed.some(other => Math.abs(other.y - y) < 18 && Math.abs(other.x - x) < other.half + half);
    let best = null, least = Infinity;
    for (const [x, y] of beside(one, half)) {
      if (!room(x, y)) continue;
      let covers = 0;
      for (const [px, py] of spots) if (Math.abs(px - x) < half + 3 && Math.abs(py - y + 5) < 12) covers++;
      if (covers < least) { least = covers; best = [x, y]; }
      if (!covers) break;
    }
    if (best) placed.push({x: best[0], y: best[1], half, text});
  }
  for (const {x, y, text} of placed) write(brush, text, x, y, '600 14px', colour('ink'), colour('card'));
}

const middle = list => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/** How far the points of a class lie from their middle, on average. */
function loose(one) {
  const [x, y] = [middle(one.x), middle(one.y)];
  return one.x.reduce((sum, each, at) => sum + Math.hypot(each - x, one.y[at] - y), 0) / one.x.length;
}

/** Places for the middle of a name's base line, the best liked first: over and under the class's middle, over, under and beside all of it. */
function beside(one, half) {
  const [x, y] = [middle(one.x), middle(one.y)], by = {over: Math.min(...one.y), under: Math.max(...one.y), left: Math.min(...one.x), right: Math.max(...one.x)};
  return [[x, y - 13], [x, y + 22], [x, by.over - 12], [x, by.under + 21], [by.right + half + 8, y + 5], [by.left - half - 8, y + 5], [by.right + half, by.over - 8], [by.left - half, by.over - 8], [by.right + half, by.under + 18], [by.left - half, by.under + 18], [x, y - 30], [x, y + 39]];
}
