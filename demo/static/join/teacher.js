/* The teacher's side of a class: the way in, what is on show, what the class guessed, and which class of photos is open. */
import {get, post} from '../api.js';
import {fill, h, icon} from '../dom.js';
import {count, t} from '../i18n.js';
import {ended, run, wall, watch} from '../forget_run.js';
import {changed, store} from '../store.js';
import {trouble} from '../toast.js';
import {tally} from './tally.js';

const NS = 'http://www.w3.org/2000/svg', BEAT = 500, PLAYING = 1000, HEARTBEAT = 2500;
const page = Math.random().toString(36).slice(2), room = {told: null};
let touched = !wall, last = {key: '', at: 0}, panel = null, door = null;

/** Called once where the lab has a class. */
export function startClass(before) {
  document.head.append(h('link', {rel: 'stylesheet', href: 'lab/join/join.css'}));
  panel = h('section.card.classpanel', {'aria-label': t('classroom.panel')});
  if (wall) document.querySelector('.bar .tools').prepend(door = h('span.walldoor', {})); else before.before(panel);
  for (const what of ['pointerdown', 'keydown']) addEventListener(what, () => { touched = true; }, true);
  store.gate = drawGate;
  setInterval(beat, BEAT);
  watch(draw);
}

/** Says what is on show where that has changed, and hears how the class does. */
async function beat() {
  if (document.hidden) return;
  const now = performance.now(), key = JSON.stringify([run.pack, run.seed, run.training?.training ?? null, run.playing, ended(), run.playing ? 0 : run.position]);
  const due = key !== last.key || now - last.at > (run.playing ? PLAYING : HEARTBEAT);
  if (!due || !run.pack || !run.memory.length || !Number.isFinite(run.position)) return;
  last = {key, at: now};
  const claim = touched;
  touched = false;
  try {
    room.told = await post('class', {do: 'show', page, claim, pack: run.pack, seed: run.seed, training: run.training?.training ?? null, position: run.position, playing: run.playing && !ended()});
  } catch { last.key = ''; touched = touched || claim; }
  draw();
  changed();
}

/* ---------- the panel ---------- */
function qr({link, side, path}) {
  const box = document.createElementNS(NS, 'svg'), dark = document.createElementNS(NS, 'path');
  for (const [name, value] of Object.entries({class: 'qr', viewBox: `-4 -4 ${side + 8} ${side + 8}`, role: 'img', 'aria-label': t('classroom.qr', {address: link}), 'shape-rendering': 'crispEdges'})) box.setAttribute(name, value);
  dark.setAttribute('d', path);
  box.append(dark);
  return box;
}
const spaced = code => `${code.slice(0, 3)} ${code.slice(3)}`;

function draw() {
  const {told} = room;
  panel.hidden = !told;
  if (!told) return;
  if (wall) return fill(door, [told.join?.link], () => told.join ? [h('button', {type: 'button', 'aria-label': t('classroom.large'), onclick: () => large(told.join, told.code)}, qr(told.join), h('b', {}, spaced(told.code)))] : []);
  const {join, phones, answers, revealed, tally: votes, open, photos} = told, right = run.lanes.finetune?.kept, over = revealed && ended();
  fill(panel, [Boolean(join), phones, answers, over && votes, right, open, photos, name()], () => [
    join ? qr(join) : null,
    h('div', {}, h('h2', {}, t('classroom.panel')), join ? [h('p.sub', {}, t('classroom.how')), h('p.address', {}, join.address.replace(/^http:\/\//, '')), h('p', {}, t('classroom.code'), ' ', h('b.code', {}, spaced(told.code)))] : h('p.sub', {}, t('classroom.no_phones'))),
    h('div.facts', {'aria-live': 'polite'}, h('b', {}, count('classroom.phones', phones)), over ? tally({tally: votes}, right) : phones ? h('span', {}, count('classroom.answers', answers)) : null,
      open && name() ? h('span', {}, t('classroom.open_now', {name: name()})) : null, photos ? h('span', {}, count('classroom.arrived', photos)) : null,
      join ? h('button.btn.ghost', {type: 'button', dataset: {do: 'large', focus: 'large'}, onclick: () => large(join, told.code)}, t('classroom.large')) : null)]);
}

function large(join, code) {
  const box = h('dialog.qrlarge.view', {'aria-label': t('classroom.panel'), onclose: () => box.remove()}, qr(join), h('p.address', {}, join.address.replace(/^http:\/\//, '')), h('b.code', {}, spaced(code)), h('button.btn', {type: 'button', onclick: () => box.close()}, t('classroom.close')));
  document.body.append(box);
  box.showModal();
}

/* ---------- one class of photos, opened and closed on its card ---------- */
const name = () => { const {open} = room.told ?? {}; return open && open.project === store.project?.id ? store.project.classes.find(one => one.id === open.class)?.name ?? null : null; };

/** Draws the gate of a class card: shut for every class but one. */
export function drawGate(box, id) {
  const {told} = room, open = Boolean(told?.open && told.open.project === store.project?.id && told.open.class === id);
  fill(box, [Boolean(told), open, open ? told.photos : 0], () => !told ? [] : [
    open ? h('span.on', {role: 'status'}, icon('check'), t('classroom.is_open'), told.photos ? [t('list.comma'), count('classroom.arrived', told.photos)] : null) : null,
    h('button.link', {type: 'button', dataset: {do: open ? 'close_class' : 'open_class', focus: 'gate'}, onclick: () => turn(open ? {do: 'close'} : {do: 'open', project: store.project.id, class: id})}, t(open ? 'classroom.close_class' : 'classroom.open_class'))]);
}

async function turn(asked) {
  try { room.told = await post('class', asked); } catch (error) { trouble(error); }
  draw();
  changed();
}
