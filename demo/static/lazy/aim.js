/* A target on the plane of learning and keeping: dragged or moved by keys; what lies nearest is named, trained or estimated. */
import {h} from '../dom.js';
import {t} from '../i18n.js';
import {changed, store, train} from '../store.js';
import {goTo} from '../tabs.js';

const INSIDE = 0.02, NEAR = 0.1, STEP = 0.005, LEAP = 0.025;
const percent = value => (100 * value).toFixed(1);

/** A target over `plot`; `rows` and `estimates` are asked for whenever it moves. */
export function mountAim(plot, box, answer) {
  const spot = JSON.parse(sessionStorage.getItem('fmn.aim') ?? 'null') ?? {x: 0.9, y: 0.95};
  const ring = h('button.aim', {type: 'button'}), said = h('p.say', {role: 'status'}), act = h('div.acts');
  box.append(h('p.sub', {}, t('aim.help')), said, act);
  plot.after(ring);  // beside the chart, which is one picture to a screen reader

  const axes = () => plot._fullLayout?.xaxis ? [plot._fullLayout.xaxis, plot._fullLayout.yaxis] : null;
  const clamp = (value, [low, high]) => Math.min(high, 1, Math.max(low, 0, value));

  function draw() {
    const both = axes();
    if (!both) return;
    const [x, y] = both;
    spot.x = clamp(spot.x, x.range); spot.y = clamp(spot.y, y.range);
    ring.style.left = `${plot.offsetLeft + x._offset + x.l2p(spot.x)}px`; ring.style.top = `${plot.offsetTop + y._offset + y.l2p(spot.y)}px`;
    ring.setAttribute('aria-label', t('aim.handle', {learns: percent(spot.x), keeps: percent(spot.y)}));
    tell();
  }

  /** Everything on the plane by its distance from the ring, nearest first. */
  function nearest() {
    const {rows, estimates} = answer(), far = (learns, keeps) => Math.hypot(learns - spot.x, keeps - spot.y);
    const trained = rows.filter(row => !row.bound && row.learning_accuracy !== null && row.forgetting !== null).map(row => ({title: row.title, learns: row.learning_accuracy, keeps: 1 - row.forgetting}));
    return [...trained, ...estimates.map(one => ({...one, estimate: true}))].map(one => ({...one, away: far(one.learns, one.keeps)})).sort((a, b) => a.away - b.away);
  }

  function tell() {
    const [one] = nearest();
    if (!one) { said.textContent = t('aim.handle', {learns: percent(spot.x), keeps: percent(spot.y)}); return; }
    const values = {method: one.title, learns: percent(one.learns), keeps: percent(one.keeps), away: (100 * one.away).toFixed(1), seeds: one.seeds};
    const reached = !one.estimate && one.away <= INSIDE;
    const text = reached ? t('aim.reached', values) : one.away > NEAR ? t('aim.far', values) : t(one.estimate ? 'aim.estimate' : 'aim.near', values);
    if (said.textContent !== text) said.textContent = text;
    ring.classList.toggle('reached', reached);
    const wanted = one.estimate ? one.method : '';
    if (act.dataset.method === wanted) return;
    act.dataset.method = wanted;
    act.replaceChildren(...(wanted ? [h('button.btn', {type: 'button', onclick: () => begin(wanted)}, t('aim.train'))] : []));
  }

  async function begin(method) {
    const {settings = {}, seed = 0} = store.project?.chosen ?? {};
    const own = Object.fromEntries(Object.entries(settings).filter(([name]) => name === method));
    if ((await train([method], own, seed))?.length) goTo('train');
  }

  const keep = () => sessionStorage.setItem('fmn.aim', JSON.stringify(spot));
  ring.addEventListener('pointerdown', event => { event.preventDefault(); event.stopPropagation(); ring.focus(); ring.setPointerCapture(event.pointerId); });
  ring.addEventListener('pointermove', event => {
    const both = axes();
    if (!both || !ring.hasPointerCapture(event.pointerId)) return;
    const around = plot.getBoundingClientRect();
    spot.x = both[0].p2l(event.clientX - around.left - both[0]._offset); spot.y = both[1].p2l(event.clientY - around.top - both[1]._offset);
    draw();
  });
  ring.addEventListener('pointerup', keep);
  ring.addEventListener('keydown', event => {
    const way = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[event.key];
    if (!way) return;
    event.preventDefault(); event.stopPropagation();
    const step = event.shiftKey ? LEAP : STEP;
    spot.x += way[0] * step; spot.y += way[1] * step;
    draw(); keep();
  });
  plot.on('plotly_afterplot', draw);
  draw();
  return () => { plot.removeListener?.('plotly_afterplot', draw); ring.remove(); box.replaceChildren(); changed(); };
}
