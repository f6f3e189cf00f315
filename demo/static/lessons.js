/* The door to the lessons: a button, a hint on the first visit, and an address (?lesson=forgetting&step=2). What they are made of comes when one is opened. */
import {h, icon} from './dom.js';
import {kept, t} from './i18n.js';
import {wall} from './forget_run.js';
import {arrive, goTo} from './tabs.js';
import {trouble} from './toast.js';

/** {done: [names], answers: {lesson: {step: choice}}, hint: false once it has been read}: what this browser remembers. */
export const memory = (() => { try { return {done: [], answers: {}, hint: true, ...JSON.parse(kept.get('lessons'))}; } catch { return {done: [], answers: {}, hint: true}; } })();
export const remember = () => kept.set('lessons', JSON.stringify(memory));

/** Opens a lesson at a step (from 1), or the list of lessons. */
export async function openLesson(name = null, step = 1, bring = goTo) {
  try { const {open} = await import('./lazy/lesson_panel.js'); await open(name, step, bring); forgetHint(); }
  catch (error) { trouble(error); }
}

export const lessonsButton = () => h('button.lessons', {type: 'button', 'aria-label': t('lessons.open'), dataset: {do: 'lessons'}, 'aria-expanded': 'false', onclick: () => openLesson()}, icon('book'), h('span', {}, t('lessons.open')));

/** One line for who is here for the first time; it goes with the first lesson, or when it is told to. */
export function lessonsHint() {
  if (wall || !memory.hint || asked()) return null;
  return h('p.lessonhint', {}, h('span', {}, t('lessons.hint')), ' ', h('button.link', {type: 'button', dataset: {do: 'first-lesson'}, onclick: () => openLesson('forgetting')}, t('lessons.hint_go')),
    h('button.close', {type: 'button', 'aria-label': t('lessons.hint_no'), title: t('lessons.hint_no'), onclick: forgetHint}, icon('cross')));
}
function forgetHint() {
  memory.hint = false;
  remember();
  document.querySelectorAll('.lessonhint').forEach(one => one.remove());
}

const asked = () => new URLSearchParams(location.search).get('lesson');
/** Once the tabs are there: the lesson the address names. */
export function startLessons() {
  const step = Number(new URLSearchParams(location.search).get('step'));
  if (asked() !== null && !wall) openLesson(asked() || null, step || 1, arrive);
}
