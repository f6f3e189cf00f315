/* Keep learning, the left side: which ways of training, on how many tasks; and a picture of what a task is. */
import {fill, glyph, h, icon, segmented} from './dom.js';
import {has, problemText, t} from './i18n.js';
import {CLASS_GROUPS, PER_TASK, drawGroups, groupsBlocked, groupsKey} from './plasticity_groups.js';
import {EPOCHS, FIRST, TASKS, active, cardOf, choose, estimate, ofPhotos, start, state, stepsOf, stop} from './plasticity_run.js';
import {store} from './store.js';

const GROUPS = ['fresh', 'plain', 'remedy', 'arrow', 'control'], SIZE = 8;
export const titleOf = name => has(`method.${name}.title`) ? t(`method.${name}.title`) : cardOf(name)?.title ?? name;
const lineOf = card => has(`method.${card.name}.line`) ? t(`method.${card.name}.line`) : card.line;

export function mountChoose(side) {
  const list = h('div'), settings = h('div.settings'), foot = h('div.planfoot');
  side.replaceChildren(h('div', {}, h('h2', {}, t('plastic.choose')), h('p.sub', {}, t('plastic.choose_sub'))), list, settings, foot);
  return () => {
    const {chosen, offered, problem} = state;
    fill(list, [Boolean(offered), chosen.arms, problem], () => offered ? drawList(offered.arms) : problem ? [] : [h('p.sub.waiting', {}, t('plastic.waiting'))]);
    fill(settings, [chosen.study, chosen.per_task, chosen.tasks, chosen.epochs], drawSettings);
    const why = problem ? [problemText(problem)] : store.status?.worker !== 'ready' || !offered ? [t('plastic.why_worker')] : !chosen.arms.length ? [t('plastic.why_none')] : ofPhotos() ? groupsBlocked() : null;
    fill(foot, [why?.[0], state.starting, active(), chosen.arms.length, chosen.tasks, chosen.epochs, Math.round(estimate())], () => drawFoot(why));
  };
}

function drawList(arms) {
  const open = Boolean(document.querySelector('#tab-plasticity details.expert')?.open);
  return GROUPS.map(group => {
    const mine = arms.filter(card => card.group === group), rows = mine.map(row);
    if (!mine.length) return null;
    if (group !== 'control') return h('fieldset.family', {}, h('legend', {}, t(`plastic.group_${group}`)), rows);
    return h('details.expert', {open: open || mine.some(card => state.chosen.arms.includes(card.name))}, h('summary', {}, t('plastic.group_control'), icon('down')), h('fieldset.family', {'aria-label': t('plastic.group_control')}, rows));
  });
}

function row(card) {
  return h('label.method', {}, h('input', {type: 'checkbox', value: card.name, checked: state.chosen.arms.includes(card.name), dataset: {focus: `arm-${card.name}`}, onchange: event => {
    const order = state.offered.arms.map(one => one.name).filter(name => name === card.name ? event.target.checked : state.chosen.arms.includes(name));
    choose({arms: order.sort((a, b) => rank(a) - rank(b))});
  }}), h('span.tick', {}, icon('check')), h('span.txt', {}, h('b', {}, titleOf(card.name)), h('span', {}, lineOf(card))), glyph(card.name));
}
/** The reference learns first, so that its line is there when the others arrive; then the defaults, then as listed. */
const rank = name => FIRST.includes(name) ? FIRST.indexOf(name) : 100 + state.offered.arms.findIndex(card => card.name === name);

function drawSettings() {
  const {study, per_task, tasks, epochs, seed} = state.chosen;
  const control = (key, options, chosen, field) => h('div.control', {}, h('span.label', {}, t(key)), segmented(t(key), options, chosen, value => choose({[field]: value}), field));
  return [
    h('div.control', {}, h('span.label', {}, t('plastic.study')), segmented(t('plastic.study'), ['permuted_digits', 'random_labels', CLASS_GROUPS].map(name => [name, t(`plastic.study_${name}`)]), study, value => choose({study: value}), 'study'), h('p.sub', {}, t(`plastic.study_${study}_help`))),
    ofPhotos() ? control('plastic.per_task', PER_TASK.map(n => [n, String(n)]), per_task, 'per_task') : null,
    control('plastic.tasks', TASKS.map(n => [n, String(n)]), tasks, 'tasks'), control('plastic.epochs', EPOCHS.map(n => [n, String(n)]), epochs, 'epochs'), epochs === 20 && !ofPhotos() ? h('p.sub', {}, t('plastic.short')) : null,
    h('div.control', {}, h('div.controlhead', {}, h('label', {for: 'plastic-seed'}, t('plastic.seed')), h('input', {type: 'number', id: 'plastic-seed', min: 0, max: 9999, step: 1, value: seed, onchange: event => { const value = Math.max(0, Math.min(9999, Math.round(Number(event.target.value) || 0))); event.target.value = value; choose({seed: value}); }})))];
}

function drawFoot(why) {
  const {arms, tasks, epochs} = state.chosen, running = active();
  const button = running ? h('button.btn.ghost.wide', {type: 'button', dataset: {once: '', do: 'plastic-stop', focus: 'plastic-go'}, onclick: stop}, t('plastic.stop'))
    : h('button.btn.wide', {type: 'button', dataset: {once: '', do: 'plastic-start', focus: 'plastic-go'}, disabled: Boolean(why) || state.starting, 'aria-describedby': why ? 'plastic-why' : null, onclick: start}, t(state.starting ? 'plastic.starting' : state.now ? 'plastic.again' : 'plastic.start'));
  return [h('p.sub', {}, t('plastic.plan', {arms: arms.length, tasks, steps: stepsOf(epochs), seconds: Math.max(1, Math.round(estimate()))})), button, why ? h('div.reason', {id: 'plastic-why', role: 'status'}, icon('warn'), h('p', {}, why)) : null];
}

/* ---------- what a task is ---------- */
export function drawDigits(figure) {
  if (ofPhotos()) { fill(figure, [CLASS_GROUPS, groupsKey()], drawGroups); return; }
  const study = state.chosen.study, tasks = state.offered?.studies[study];
  fill(figure, [study, Boolean(tasks)], () => tasks ? [h('figcaption.label', {}, t('plastic.digits')), tasks.filter(task => task.task !== null || study === 'permuted_digits').map(task => h('div.digitrow', {}, h('span.sub', {}, task.task === null ? t('plastic.digit_plain') : t('plastic.digit_task', {n: task.task + 1})), task.pixels.map((pixels, i) => h('span.digit', {}, digit(pixels), study === 'random_labels' ? h('b', {title: t('plastic.digit_label', {label: task.labels[i]})}, String(task.labels[i])) : null))))] : []);
}

function digit(pixels) {
  const canvas = h('canvas', {width: SIZE, height: SIZE, 'aria-hidden': 'true'}), context = canvas.getContext('2d'), image = context.createImageData(SIZE, SIZE);
  pixels.forEach((value, at) => { image.data[4 * at + 3] = Math.round(255 * value / 16); });
  context.putImageData(image, 0, 0);
  return canvas;
}
