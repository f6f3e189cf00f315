/* A phone of the class: the teacher's run as it goes, a guess, and photos for the class the teacher has opened. Nothing else can be asked. */
import {Problem, get, post} from '../api.js';
import {fill, flower, h, hueOf, radios, useGlyphs} from '../dom.js';
import {loadWords, otherLanguage, problemText, t} from '../i18n.js';
import {LANES, broken, ended, run, showing, task, tasks, titled, watch} from '../forget_run.js';
import {mountLane} from '../forget_lane.js';
import {facts, question, reason, running, said, spoken} from '../forget_say.js';
import {speak} from '../toast.js';
import {drawPhotos} from './join_photos.js';
import {tally} from './tally.js';

const OFTEN = 1000, SELDOM = 2500;
const asked = new URLSearchParams(location.search);
const state = {code: asked.get('room') ?? '', told: null, trouble: null, typed: null, lanes: null};

document.body.classList.toggle('dark', matchMedia('(prefers-color-scheme: dark)').matches);
await loadWords();
document.title = `${t('classroom.panel')} · Forget-Me-Not`;

const root = document.querySelector('#class'), note = h('p.note', {role: 'status'}), enter = h('section.card.enter'), ask = h('section.card.ask'), photos = h('section.card.photos'), verdict = h('section.verdict.card', {'aria-live': 'polite', 'aria-label': t('forget.verdict')}), way = h('ol.way', {'aria-label': t('header.timeline')});
const both = h('div.lanes'), main = h('main.forget', {}, note, enter, photos, ask, way, verdict, both);
root.replaceChildren(h('header.top', {}, h('h1.brand', {}, flower(), h('span', {}, 'Forget-Me-Not')), h('button.lang', {type: 'button', lang: t('header.other_code'), onclick: otherLanguage}, t('header.other'))), main);
watch(draw);
follow();

/* ---------- in touch with the room ---------- */
async function follow() {
  if (state.code) {
    try { await refresh(); } catch (error) {
      if (!(error instanceof Problem)) throw error;
      state.trouble = error;
      if (error.status === 404 || error.status === 429) Object.assign(state, {typed: state.told ? null : state.code, code: '', told: null});
    }
  }
  draw();
  setTimeout(follow, run.playing && !ended() ? OFTEN : SELDOM);
}

async function refresh() {
  const path = `class/${encodeURIComponent(state.code)}`;
  if (!state.lanes) await enterRoom(path);
  const told = await get(`${path}/follow?tag=${state.told?.tag ?? ''}`).catch(async error => {
    if (error.problem?.code !== 'phone_unknown') throw error;  // the room has forgotten a phone that was long away
    await enterRoom(path);
    return get(`${path}/follow?tag=`);
  });
  Object.assign(state, {told, trouble: null});
  showing(told);
}

async function enterRoom(path) {
  useGlyphs(await post(`${path}/enter`));
  if (state.lanes) return;
  state.lanes = LANES.map(mountLane);
  both.append(...state.lanes.map(lane => lane.node));
}

async function guess(n) {
  const {told} = state, wanted = told.guess === n ? null : n;
  told.guess = run.guess = wanted;
  draw();
  try { await post(`class/${state.code}/guess`, {guess: wanted, round: told.round}); } catch (error) { state.trouble = error; await refresh().catch(() => {}); }
  draw();
}

/* ---------- what is seen ---------- */
function draw() {
  const {told, trouble} = state, there = Boolean(told && run.pack && told.tag);
  drawEnter();
  note.textContent = trouble && state.code ? trouble.status === 0 ? t('classroom.lost') : problemText(trouble.problem) : told ? t(there ? 'classroom.following' : 'classroom.wait') : '';
  note.hidden = !note.textContent;
  verdict.hidden = both.hidden = way.hidden = !there;
  ask.hidden = !there || told.revealed;
  drawPhotos(photos, state, refresh);
  if (!there) return;
  main.dataset.position = run.position;
  main.dataset.state = !run.training ? 'idle' : told.revealed && ended() ? 'ended' : 'running';
  drawAsk(told);
  fill(way, [run.pack, Math.floor(run.position + 1e-6), Boolean(run.training)], () => tasks().map((one, at) => h(`li.${hueOf(at)}`, {class: run.training && at < run.position + 1e-6 ? 'begun' : '', 'aria-current': run.training && at === task() && !ended() ? 'step' : null}, h('b', {}, String(at + 1)), ` ${titled(one)}`)));
  drawVerdict(told);
  state.lanes.forEach(lane => lane.draw());
  speak('forget', spoken());
}

function drawEnter() {
  enter.hidden = Boolean(state.code);
  fill(enter, [state.trouble?.problem?.code ?? null, Boolean(state.typed)], () => {
    const input = h('input', {type: 'text', id: 'code', autocomplete: 'off', autocapitalize: 'characters', spellcheck: false, maxLength: 8, value: state.typed ?? '', 'aria-label': t('classroom.code')});
    const join = event => { event.preventDefault(); const code = input.value.trim(); if (code) { asked.set('room', code.replace(/[\s-]/g, '').toUpperCase()); location.search = asked; } };
    const why = !state.trouble ? null : state.typed === null ? t('classroom.over') : problemText(state.trouble.problem);
    return [h('h2', {}, t('classroom.enter')), h('p.sub', {}, t('classroom.enter_text')), h('form', {onsubmit: join}, input, h('button.btn', {type: 'submit'}, t('classroom.enter_do'))), why ? h('p.why', {role: 'alert'}, why) : null];
  });
}

function drawAsk(told) {
  const options = Array.from({length: run.memory.length + 1}, (_, n) => [n, String(n)]);
  fill(ask, [run.pack, run.seed, told.round, told.guess], () => [h('p.label', {}, t('classroom.ask')), h('p.q', {}, question()), radios(t('classroom.ask'), options, told.guess, guess, 'num', 'nums'),
    h('p.sub', {}, told.guess === null ? t('classroom.change') : t('classroom.kept_guess', {n: told.guess}))]);
}

function drawVerdict(told) {
  const over = told.revealed && ended(), lost = broken();
  verdict.hidden = !run.training;
  verdict.classList.toggle('waiting', !over);
  fill(verdict, [Boolean(lost), over, over ? told.tally : task(), Boolean(run.lanes.finetune?.marks.length), told.guess], () => lost ? h('p.q', {}, t('forget.problem')) : !run.training ? [] : !over ? h('p.q', {}, running())
    : h('div', {}, h('p.q', {}, said()), h('p.sub', {}, reason()), tally(told, run.lanes.finetune.kept), h('p.sub.facts', {}, facts())));
}
