/* Which module answers whom, and what the accuracy is made of: r x right + (1 - r) x wrong, for every router the run reports. */
import {frame} from './charts.js';
import {bud, fill, h, segmented, title} from './dom.js';
import {explained, term} from './glossary.js';
import {taskName} from './header.js';
import {t} from './i18n.js';
import {frameNow, percent, view} from './inside.js';
import {drawGrid} from './inside_grid.js';
import {changed, titleOf} from './store.js';

const TERMS = {'modules.route': 'routing', 'modules.r': 'routing', 'modules.right': 'a_right', 'modules.wrong': 'a_wrong'}, ROUTES = {published: 'batch_vote', entropy: 'entropy', prototype: 'prototype'};
let shown = 'chosen';

export function mountModules(card) {
  const choose = h('div.choose'), map = frame(400, t('modules.title'), table), terms = h('div.terms'), none = h('div.nothing', {hidden: true});
  const whole = h('div.modulesrow', {}, h('div', {}, choose, map.parts), terms);
  card.replaceChildren(title(t('modules.title'), t('modules.sub')), whole, none);
  map.plot.classList.add('flow');
  let painted = null;
  return () => {
    const now = frameNow(), has = Boolean(now.chosen);
    whole.hidden = !has; none.hidden = has; card.classList.toggle('calm', !has);
    fill(none, [has, view.run.method], () => has ? [] : [bud(), h('div', {}, h('h3', {}, t('modules.none_title', {method: titleOf(view.run.method)})), h('p.sub', {}, t('modules.none_text')))]);
    card.querySelector('.head').hidden = !has;
    if (!has) return;
    if (!now.doubt) shown = 'chosen';
    fill(choose, [shown, Boolean(now.doubt)], () => now.doubt ? segmented(t('modules.view'), [['chosen', t('modules.chosen')], ['doubt', t('modules.doubt')]], shown, value => { shown = value; changed(); }, 'modules-view') : []);
    fill(terms, [view.run.id, view.time, view.how, Boolean(view.figures.frames[view.time].oracle)], () => drawTerms(now));
    const key = JSON.stringify([view.run.id, view.time, view.how, shown, map.plot.offsetWidth]);
    if (painted === key || !map.plot.offsetWidth) return;
    painted = key;
    map.tell(now.say_modules);
    drawGrid(map.plot, now[shown], {axes: [t('inside.module_axis'), t('inside.task_axis')], names: at => taskName(view.run.tasks?.[at], at)});
  };
}

function drawTerms({terms}) {
  const [own] = terms, {oracle} = view.figures.frames[view.time], cell = value => h('td', {}, percent(value));
  return [h('h4', {}, t('modules.terms')), h('p.sub', {}, t('modules.equation')),
    h('p.equation', {dataset: {accuracy: String(own.accuracy)}}, h('b', {}, percent(own.accuracy)), ` = ${part(own.routing)} × ${part(own.right)} + ${part(1 - own.routing)} × ${part(own.wrong)}`),
    h('div.tableholder', {tabIndex: 0, role: 'group', 'aria-label': t('modules.terms')}, h('table.numbers', {}, h('caption.hidden', {}, t('modules.terms')), h('thead', {}, h('tr', {}, ['modules.route', 'modules.r', 'modules.right', 'modules.wrong', 'modules.accuracy'].map(key => h('th', {scope: 'col'}, TERMS[key] ? term(TERMS[key], t(key)) : t(key))))),
      h('tbody', {}, terms.map((one, at) => h('tr', {class: at ? '' : 'own', dataset: {route: one.route}}, h('th', {scope: 'row'}, ROUTES[one.route] ? term(ROUTES[one.route], one.name) : one.name), cell(one.routing), cell(one.right), cell(one.wrong), cell(one.accuracy)))))),
    h('p.fine', {}, explained('modules.terms_sub'), oracle === null ? '' : [t('say.gap'), explained('modules.oracle', {percent: percent(oracle)})])];
}
const part = value => value === null ? '–' : value.toFixed(2);

function table() {
  const {table: made} = frameNow(), names = made[shown][0].map((_, at) => taskName(view.run.tasks?.[at], at)), wide = Math.max(...made[shown].map(row => row.length));
  return [[t('table.task'), ...Array.from({length: wide}, (_, at) => names[at] ?? String(at + 1))], made[shown].map((row, at) => [taskName(view.run.tasks?.[at], at), ...row.map(value => value === null ? '' : shown === 'doubt' ? value.toFixed(3) : String(value))])];
}
