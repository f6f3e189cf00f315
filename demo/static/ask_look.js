/* The photo asked, and over it, when wanted, where the [CLS] token looks: what it does not look at is dimmed. */
import {h, segmented} from './dom.js';
import {t} from './i18n.js';
import {changed} from './store.js';

const look = {on: false, which: 'frozen'};

/** The picture with its switch; attention: {frozen, masked} of (G, G) in [0, 1], or null where it cannot be had. */
export function drawLook(url, alt, attention) {
  const picture = h('div.picture', {}, h('img', {src: url, alt})), which = attention?.masked && look.which === 'masked' ? 'masked' : 'frozen', map = attention?.[which];
  if (!map) return picture;
  if (look.on) picture.append(veil(map));
  const toggle = h('button.link.quiet', {type: 'button', 'aria-pressed': String(look.on), dataset: {focus: 'look', do: 'look'}, onclick: () => { look.on = !look.on; redraw(picture); }}, t(look.on ? 'ask.look_hide' : 'ask.look'));
  return h('div', {dataset: {look: look.on ? which : ''}}, picture, toggle, look.on && attention.masked ? segmented(t('ask.look'), [['frozen', t('ask.look_frozen')], ['masked', t('ask.look_masked')]], which, value => { look.which = value; redraw(picture); }, 'look-which') : null,
    look.on ? h('p.fine', {}, t('ask.look_say', {where: t(`ask.where_${most(map)}`)})) : null);
}

/** The photo is drawn anew with everything around it. */
function redraw(picture) { const body = picture.closest('.askbody'); if (body) body.drawn = null; changed(); }

/** A dark sheet that is thin where the network looks; the browser smooths it between patches. */
function veil(map) {
  const side = map.length, canvas = h('canvas', {width: side, height: side, 'aria-hidden': 'true'}), brush = canvas.getContext('2d'), pixels = brush.createImageData(side, side);
  map.flat().forEach((value, at) => pixels.data.set([9, 12, 24, Math.round(205 * (1 - value ** .5))], 4 * at));
  brush.putImageData(pixels, 0, 0);
  return canvas;
}

/** Which ninth of the photo holds most of the attention, 0 (upper left) to 8. */
function most(map) {
  const side = map.length, sums = Array(9).fill(0), counts = Array(9).fill(0), third = at => Math.min(2, Math.floor(3 * (at + .5) / side));
  map.forEach((row, y) => row.forEach((value, x) => { const at = 3 * third(y) + third(x); sums[at] += value; counts[at]++; }));
  const means = sums.map((sum, at) => counts[at] ? sum / counts[at] : 0);
  return means.indexOf(Math.max(...means));
}
