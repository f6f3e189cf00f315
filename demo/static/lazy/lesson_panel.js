/* One lesson at a time beside the page: predict, see, explain. It opens the tab, shows the place, waits for what the run really does. */
import {get} from '../api.js';
import {fill, h, icon, radios} from '../dom.js';
import {prose, term} from '../glossary.js';
import {has, lang, loadPart, t} from '../i18n.js';
import {memory, remember} from '../lessons.js';
import {write} from '../link.js';
import {current, goTo} from '../tabs.js';
import {trouble} from '../toast.js';
import {FACTS, UNTIL} from './lesson_facts.js';
import {PLACES, STARTS} from './lesson_places.js';

const now = {lessons: null, lesson: null, at: 0, working: false, folded: false, ended: false, skipped: new Set()};
let panel = null, body = null, foot = null, timer = 0, lit = null;

const steps = () => now.lesson.steps;
const step = () => steps()[now.at];
const own = (key, lesson = now.lesson) => `lesson.${lesson.name}.${key}`;
const answers = () => memory.answers[now.lesson.name] ??= {};

/** The lesson `name` at step `number`, from 1; without a name, or with one nobody knows, the list. `bring` shows the first tab. */
export async function open(name, number = 1, bring = goTo) {
  if (!now.lessons) { const [lessons] = await Promise.all([get('lessons'), loadPart('lessons'), style()]); now.lessons = lessons; }
  if (!panel) build();
  panel.hidden = false; document.body.classList.add('lesson-open');
  document.querySelector('[data-do=lessons]')?.setAttribute('aria-expanded', 'true');
  now.lesson = now.lessons.find(one => one.name === name) ?? null;
  if (now.lesson) turn(Math.max(1, Math.min(number, steps().length)) - 1, bring); else { address(); draw(); focusHead(); }
  clearInterval(timer);
  timer = setInterval(draw, 300);
  dispatchEvent(new Event('resize'));
}

const style = () => new Promise(done => document.head.append(h('link', {rel: 'stylesheet', href: 'lab/lazy/lesson.css', onload: done, onerror: done})));

function build() {
  body = h('div.lessonbody'); foot = h('div.lessonfoot');
  panel = document.body.appendChild(h('aside.lesson.view', {'aria-label': t('lesson.ui.title'), onkeydown: event => { if (event.key === 'Escape' && !event.defaultPrevented) { event.preventDefault(); close(); } }}, h('header.lessonhead'), body, foot));
}

function close() {
  clearInterval(timer); unlight();
  panel.hidden = true; document.body.classList.remove('lesson-open');
  now.lesson = null; address();
  const door = document.querySelector('[data-do=lessons]');
  door?.setAttribute('aria-expanded', 'false'); door?.focus();
  dispatchEvent(new Event('resize'));
}

/** The address tells lesson and step, so that a reload, another language or a link leads back here. */
function address() {
  const asked = new URLSearchParams(location.search);
  for (const [name, value] of [['lesson', now.lesson?.name], ['step', now.lesson ? now.at + 1 : null]]) value ? asked.set(name, value) : asked.delete(name);
  write({search: String(asked) ? `?${asked}` : ''});
}

function turn(at, bring = goTo) {
  Object.assign(now, {at, ended: false, working: false, folded: false});
  unlight(); address();
  if (current() !== step().tab) bring(step().tab);
  draw(); focusHead();
}
const focusHead = () => panel.querySelector('.lessonbody [tabindex="-1"]')?.focus({preventScroll: true});

function next() {
  if (now.at + 1 < steps().length) return turn(now.at + 1);
  if (!memory.done.includes(now.lesson.name)) memory.done.push(now.lesson.name);
  remember();
  now.ended = true; unlight(); draw(); focusHead();
}

/* ---------- what the panel shows ---------- */
function draw() {
  const {lesson} = now;
  panel.classList.toggle('folded', now.folded);
  fill(panel.firstChild, [lesson?.name ?? null, now.folded], drawHead);
  if (!lesson) { fill(body, ['list', memory.done], drawList); fill(foot, 'list', () => []); return; }
  if (now.ended) { fill(body, ['end', lesson.name], drawEnd); fill(foot, ['end', lesson.name], drawEndFoot); return; }
  const one = step(), fact = one.facts ? FACTS[one.facts]() : null, met = one.until ? UNTIL[one.until]() : true, guess = answers()[one.answers ?? one.name] ?? null;
  if (met) now.working = false;
  fill(body, [lesson.name, now.at, guess, fact, met, now.working], () => drawStep(one, fact, met, guess));
  fill(foot, [lesson.name, now.at, guess, met], () => drawFoot(one, met, guess));
  light(one.place);
}

function drawHead() {
  const {lesson} = now, fold = t(now.folded ? 'lesson.ui.unfold' : 'lesson.ui.fold');
  return [h('div', {}, lesson ? h('p.fine', {}, t('lesson.ui.place', {n: now.lessons.indexOf(lesson) + 1, of: now.lessons.length})) : null, h('h2', {}, lesson ? t(own('title')) : t('lesson.ui.title'))),
    lesson ? h('button.tool', {type: 'button', title: t('lesson.ui.all'), 'aria-label': t('lesson.ui.all'), dataset: {do: 'all-lessons'}, onclick: () => open(null)}, icon('list')) : null,
    h('button.tool.fold', {type: 'button', title: fold, 'aria-label': fold, 'aria-expanded': String(!now.folded), dataset: {focus: 'fold'}, onclick: () => { now.folded = !now.folded; draw(); }}, icon('down')),
    h('button.tool', {type: 'button', title: t('lesson.ui.close'), 'aria-label': t('lesson.ui.close'), dataset: {do: 'close-lesson'}, onclick: close}, icon('cross'))];
}

const teacher = lesson => h('a', {href: `lesson/${lesson.name}?lang=${lang}`, target: '_blank', rel: 'noopener', dataset: {teacher: lesson.name}}, t('lesson.ui.teacher'));

function drawList() {
  const words = [...new Set(now.lessons.flatMap(lesson => lesson.terms))];
  return [h('p.sub', {tabIndex: -1}, t('lesson.ui.lead')),
    h('ol.lessonlist', {}, now.lessons.map(lesson => h('li', {}, h('div', {}, h('b', {}, t(own('title', lesson))), memory.done.includes(lesson.name) ? h('span.tag.quiet', {}, icon('check'), t('lesson.ui.done')) : null), h('p.sub', {}, t(own('line', lesson))),
      h('div.acts', {}, h('button.btn.ghost', {type: 'button', dataset: {lesson: lesson.name}, onclick: () => open(lesson.name, 1)}, t('lesson.ui.begin'), icon('arrow')), h('span.fine', {}, t('lesson.ui.minutes', {n: lesson.minutes})), teacher(lesson))))),
    h('h3', {}, t('lesson.ui.glossary')), h('ul.words', {}, words.map(name => h('li', {}, term(name))))];
}

function drawStep(one, fact, met, guess) {
  const bar = h('ol.lessonbar', {'aria-label': t('lesson.ui.progress', {n: now.at + 1, of: steps().length})}, steps().map((_, at) => h('li', {class: at < now.at ? 'done' : at === now.at ? 'now' : '', 'aria-current': at === now.at ? 'step' : null})));
  const kind = h('p.kind', {tabIndex: -1}, t(`lesson.ui.${one.kind}`));
  return [bar, kind, ...{predict: drawPredict, see: drawSee, explain: drawExplain}[one.kind](one, fact, met, guess)];
}

function drawPredict(one, fact, met, guess) {
  const options = one.choices.map(choice => [choice, t(own(`${one.name}.${choice}`))]);
  return [h('p.said', {}, prose(own(one.name))), radios(t('lesson.ui.predict'), options, guess, choice => { answers()[one.name] = choice; remember(); draw(); }, 'choice', 'choices')];
}

function drawSee(one, fact, met) {
  const begin = async () => { now.working = true; draw(); try { if (await STARTS[one.start]() === false) now.working = false; } catch (error) { trouble(error); now.working = false; } draw(); };
  return [h('p.said', {}, prose(own(one.name))),
    one.start && !met ? h('button.btn', {type: 'button', dataset: {start: one.start, focus: 'lesson-start'}, disabled: now.working, onclick: begin}, icon('play'), t(`lesson.start.${one.start}`)) : null,
    one.until ? h('p.wait', {role: 'status', dataset: {met: String(met)}}, h('span.mark', {}, met ? icon('check') : null), h('span', {}, met ? t('lesson.ui.there') : [t('lesson.ui.waiting'), ' ', t(`lesson.until.${one.until}`), now.working ? [t('say.stop'), ' ', t('lesson.ui.working')] : ''])) : null];
}

function drawExplain(one, fact, met, guess) {
  if (one.facts && !fact) return [h('p.said', {}, t('lesson.ui.no_run'))];
  const asked = steps().find(other => other.name === one.answers), right = fact?.right ?? asked?.right ?? null, word = choice => t(own(`${asked.name}.${choice}`));
  const verdict = asked && right ? h('p.guess', {dataset: {right: String(guess === right)}}, t(guess === null ? 'lesson.ui.no_guess' : guess === right ? 'lesson.ui.right' : 'lesson.ui.wrong', {guess: guess && word(guess), right: word(right)})) : null;
  return [verdict, h('p.said', {dataset: {case: fact?.case ?? ''}}, prose(own(fact ? `${one.name}.${fact.case}` : one.name), fact?.values ?? {}))];
}

function drawFoot(one, met, guess) {
  const key = now.at + 1 < steps().length ? 'next' : 'finish', free = met && (one.kind !== 'predict' || guess !== null), last = h('button.btn', {type: 'button', dataset: {do: 'next', focus: 'next'}, disabled: !free, onclick: next}, t(`lesson.ui.${key}`), icon('arrow'));
  return [now.at ? h('button.btn.ghost', {type: 'button', dataset: {do: 'back', focus: 'back'}, onclick: () => turn(now.at - 1)}, t('lesson.ui.back')) : teacher(now.lesson),
    free ? null : h('button.link.quiet', {type: 'button', dataset: {do: 'skip', focus: 'skip'}, onclick: next}, t(one.kind === 'predict' ? 'lesson.ui.skip_guess' : 'lesson.ui.skip_wait')), last];
}

function drawEnd() {
  return [h('p.kind', {tabIndex: -1}, t('lesson.ui.finished')), h('p.said', {}, t('lesson.ui.done_text', {title: t(own('title'))})), h('p', {}, teacher(now.lesson)),
    h('ul.words', {}, now.lesson.terms.filter(name => has(`term.${name}`)).map(name => h('li', {}, term(name))))];
}
function drawEndFoot() {
  const following = now.lessons[now.lessons.indexOf(now.lesson) + 1];
  return [h('button.btn.ghost', {type: 'button', onclick: () => open(null)}, t('lesson.ui.all')), following ? h('button.btn', {type: 'button', dataset: {lesson: following.name, focus: 'next'}, onclick: () => open(following.name, 1)}, t('lesson.ui.next_lesson', {title: t(own('title', following))})) : null];
}

/* ---------- the place meant, in the one strong colour ---------- */
let held = true;  // the place is kept in sight until the person moves the page
for (const what of ['wheel', 'touchmove', 'pointerdown', 'keydown']) addEventListener(what, event => { if (!panel?.contains(event.target)) held = false; }, {capture: true, passive: true});

function light(place) {
  const node = place ? document.querySelector(PLACES[place]) : null;
  if (node && !node.offsetWidth) return;
  if (lit !== node) {
    unlight();
    lit = node;
    node?.classList.add('lesson-lit');
    held = true;
  }
  if (lit && held) reveal(lit);
}

/** Brings a place into the part of the window the lesson leaves free; what is larger begins at its top. */
function reveal(node) {
  const {top, bottom} = node.getBoundingClientRect(), style = getComputedStyle(node), first = parseFloat(style.scrollMarginTop), last = innerHeight - parseFloat(style.scrollMarginBottom), large = bottom - top > last - first;
  if (large ? Math.abs(top - first) < 2 : top >= first - 1 && bottom <= last + 1) return;
  node.scrollIntoView({block: large ? 'start' : 'nearest', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'});
}
function unlight() { lit?.classList.remove('lesson-lit'); lit = null; }
