/* See it forget: question and packs, guess and Start, two lanes on one clock, scrubber, and the verdict, computed from the answers. */
import {fill, h, hueOf, icon, radios} from './dom.js';
import {prose} from './glossary.js';
import {has, lang, problemText, t} from './i18n.js';
import {lessonsHint} from './lessons.js';
import {LANES, again, broken, choose, ended, guess, jump, latest, named, open, pack, picture, run, start, task, tasks, titled, toggle, wall, watch} from './forget_run.js';
import {mountLane} from './forget_lane.js';
import {facts, question, reason, running, said, spoken} from './forget_say.js';
import {changed, invite, store, subscribe} from './store.js';
import {goTo} from './tabs.js';
import {speak, trouble} from './toast.js';

const STEPS = 48;

export function mountForget(root) {
  const hero = h('section.hero'), ask = h('section.card.ask', {'aria-label': t('forget.guess')}), lanes = LANES.map(mountLane), under = h('div.under'), verdict = h('section.verdict.card', {'aria-live': 'polite', 'aria-label': t('forget.verdict')}), fine = h('p.fine');
  root.classList.add('forget');
  root.replaceChildren(...wall ? [] : [hero, ask], h('div.lanes', {}, lanes.map(lane => lane.node)), under, verdict, ...wall ? [] : [fine]);
  document.addEventListener('click', event => { if (event.target.closest?.('#story [role=tab]')) setTimeout(changed, 60); });
  watch(() => {
    root.dataset.state = !run.training ? 'idle' : ended() ? 'ended' : 'running';
    root.dataset.position = run.position;
    drawHero(hero); drawAsk(ask); drawScrub(under); drawVerdict(verdict);
    lanes.forEach(lane => lane.draw());
    fill(fine, [run.seed, Boolean(pack())], () => pack() ? [h('span', {}, t('forget.fine', {seed: run.seed}), t('say.gap')), h('a', {href: '?view=wall#demo', target: '_blank'}, t('forget.wall'))] : []);
    speak('forget', spoken());
  });
  let teacher = null;
  subscribe(() => { if (store.status?.classroom) teacher ??= import('./join/teacher.js').then(({startClass}) => startClass(ask)); });
  open();
}

const number = n => has(`forget.number_${n}`) ? t(`forget.number_${n}`) : String(n);

/* ---------- question, packs ---------- */
function drawHero(hero) {
  fill(hero, [run.packs?.length ?? 0, run.pack, Boolean(run.problem && !run.packs)], () => [h('div', {}, h('h1', {}, t('forget.hero', {n: number(tasks().length || 4)}), h('br'), t('forget.hero_2')), h('p.lead', {}, prose('forget.lead')), lessonsHint()), run.packs ? packs() : null]);
}
function packs() {
  const {title, line, tasks: all, photos} = pack() ?? {title: {}, line: {}, tasks: []};
  return h('div.packs', {}, h('p.label', {id: 'packs-label'}, t('forget.packs')), radios(t('forget.packs'), run.packs.map(one => [one.name, [h('span.mosaic', {'aria-hidden': 'true'}, one.cover.map(photo => h('img', {src: `packs/${one.name}/${photo}.webp`, alt: '', width: 128, height: 128}))), h('b', {}, one.title[lang] ?? one.title.en)]]), run.pack, choose, 'pack', 'row'),
    h('p.sub', {}, line[lang] ?? line.en ?? ''));
}

/* ---------- guess and Start ---------- */
function drawAsk(ask) {
  ask.hidden = !run.memory.length;
  if (!run.memory.length) return;
  fill(ask, [run.pack, run.memory.length, run.guess, Boolean(run.training), Boolean(run.starting), ended()], () => {
    const options = Array.from({length: run.memory.length + 1}, (_, n) => [n, String(n)]);
    return [h('div.asked', {}, h('p.label', {}, t('forget.guess'), ' ', run.training ? null : h('span.sub', {}, t('forget.guess_skip'))), h('p.q', {}, question())),
      run.training && run.guess === null ? h('p.sub.noguess', {}, t('forget.no_guess')) : radios(t('forget.guess'), options, run.guess, run.training ? () => {} : guess, 'num', 'nums'),
      run.training ? h('button.btn.go', {type: 'button', dataset: {once: '', do: 'again', focus: 'go'}, onclick: again}, t('forget.again')) : h('button.btn.go', {type: 'button', dataset: {once: '', do: 'start', focus: 'go'}, onclick: start}, t(run.starting ? 'forget.starting' : 'forget.start'))];
  });
  if (run.training) ask.querySelectorAll('.num').forEach(one => { one.disabled = true; });
}

/* ---------- one clock ---------- */
function drawScrub(under) {
  const all = tasks();
  under.hidden = !all.length;
  if (!all.length) return;
  const range = () => under.querySelector('input');
  fill(under, [run.pack], () => {
    const slide = h('input', {type: 'range', min: 0, max: all.length * STEPS, step: 1, value: 0, 'aria-label': t('forget.time'), oninput: () => jump(Number(slide.value) / STEPS)});
    return h('div.scrub', {style: {'--n': all.length}}, h('button.round', {type: 'button', dataset: {play: ''}, onclick: toggle}), h('div.track', {}, h('div.segs', {'aria-hidden': 'true'}, all.map((one, at) => h(`i.${hueOf(at)}`, {}, h('span', {}, String(at + 1)), ` ${titled(one)}`))), slide));
  });
  const name = titled(all[task()]), button = under.querySelector('[data-play]'), live = run.playing && !ended();
  range().value = Math.round(run.position * STEPS);
  range().disabled = !run.training;
  range().setAttribute('aria-valuetext', t('task.named', {n: task() + 1, name}));
  fill(button, live ? 'pause' : 'play', () => [icon(live ? 'pause' : 'play')]);
  button.setAttribute('aria-label', t(!run.training ? 'forget.start' : live ? 'inside.pause' : 'inside.play'));
  under.querySelectorAll('.segs i').forEach((one, at) => one.classList.toggle('later', !run.training || at > run.position));
}

/* ---------- the verdict: from the answers of this very run ---------- */
function drawVerdict(card) {
  const waiting = run.starting ? Math.floor((performance.now() - run.starting) / 1000) : 0, lost = run.problem ?? (broken() && {code: 'run_failed', values: {}, ...broken().problem});
  card.hidden = !run.packs && !run.problem;
  card.classList.toggle('waiting', !ended());
  card.setAttribute('aria-live', run.starting ? 'off' : 'polite');
  const key = lost ? ['problem', lost] : run.starting ? ['starting', waiting] : !run.training ? ['idle', run.guess] : ended() ? ['end', run.training.training, run.guess, run.pack] : !latest('finetune') ? ['queued'] : ['at', task()];
  fill(card, key, () => {
    if (lost) return [h('div', {}, h('p.q', {}, t('forget.problem')), h('p.sub', {}, problemText(lost)))];
    if (run.starting) return [h('p.q', {}, t('forget.waking', {n: waiting}))];
    if (!run.training) return [h('p.q', {}, t(run.guess === null ? 'forget.ready' : 'forget.ready_guess', {n: run.guess}))];
    if (!ended()) return [h('p.q', {}, running())];
    return [h('div', {}, h('p.q', {}, said()), h('p.sub', {}, reason()), h('p.sub.facts', {}, facts()), overRuns()), wall ? null : h('button.btn', {type: 'button', dataset: {do: 'why'}, onclick: why}, t('forget.why'), icon('arrow'))];
  });
}
/** What was measured once over many seeds and stands on the pack's card. */
function overRuns() {
  const levels = pack()?.levels, drop = method => levels?.methods?.[method]?.task1_drop?.mean;
  return levels && drop('finetune') !== undefined && drop('tosca') !== undefined ? h('p.fine', {}, t('forget.over_runs', {n: levels.seeds, naive: Math.round(100 * drop('finetune')), tosca: Math.round(100 * drop('tosca'))})) : null;
}
async function why() {
  try { await invite(Object.values(run.training.runs), pack().title[lang] ?? pack().title.en, tasks().map(titled), run.training.runs.finetune); goTo('inside'); } catch (error) { trouble(error); }
}
