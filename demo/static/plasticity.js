/* Keep learning: the same network trained on and on. Arms side by side, what wears out inside, what each costs, and the finding. */
import {cardWords, deviations} from './cards.js';
import {chart, frame} from './charts.js';
import {bud, fill, glyph, h, icon, segmented, title} from './dom.js';
import {problemText, t} from './i18n.js';
import {drawDigits, mountChoose, titleOf} from './plasticity_choose.js';
import {CLASS_GROUPS} from './plasticity_groups.js';
import {walkable} from './plasticity_map.js';
import {MEASURES, TRAIN, active, armsNow, begin, cardOf, inspect, state, watch} from './plasticity_run.js';
import {subscribe} from './store.js';

const SIDES = ['attention', 'ffn'], PARTS = {attention: 12, ffn: 6};
const CIVIDIS = '#00224e, #3b496c, #707173, #a59c74, #fee838';
const percent = value => value === null || value === undefined ? '' : `${(100 * value).toFixed(1)}%`;

export function mountPlasticity(root) {
  const side = h('aside.card.side', {'aria-label': t('plastic.choose')}), choose = mountChoose(side), digits = h('figure.digits', {'aria-label': t('plastic.digits')});
  const hero = h('section.plastichero', {}, h('div', {}, h('h1', {}, t('plastic.title')), h('p.lead', {}, t('plastic.lead')), h('p.sub.prompts', {}, t('plastic.prompts'))), digits);
  const strip = h('section.card.plasticstrip', {'aria-label': t('plastic.status')}), curves = frame(420, t('plastic.curves'), curveTable);
  const maps = Object.fromEntries(SIDES.map(name => [name, frame(name === 'ffn' ? 300 : 420, t(`plastic.side_${name}`), () => mapTable(name))]));
  const which = h('div.choose.plasticwhich'), explain = h('p.sub.explain'), verdict = h('section.card.verdict.found', {'aria-live': 'polite', 'aria-label': t('plastic.verdict')}), cards = h('div.armgrid');
  const shown = h('div.main', {}, strip, h('article.card', {id: 'plastic-curves'}, title(t('plastic.curves'), t('plastic.curves_sub')), curves.parts, walkable(curves.plot)), verdict,
    h('article.card', {id: 'plastic-maps'}, title(t('plastic.maps'), t('plastic.maps_sub')), which, h('div.explainrow', {}, explain, h('div.scale', {'aria-hidden': 'true'}, h('span', {}, t('plastic.scale_less')), h('i', {style: {background: `linear-gradient(90deg, ${CIVIDIS})`}}), h('span', {}, t('plastic.scale_more')))), h('div.two.maps', {}, SIDES.map(name => h('section', {}, h('h4', {}, t(`plastic.side_${name}`)), maps[name].parts, walkable(maps[name].plot))))),
    h('article.card', {id: 'plastic-cards'}, title(t('plastic.cards'), t('plastic.cards_sub')), cards));
  const fine = h('p.fine');
  const empty = h('article.card.note-card', {}, bud(), h('h3', {}, t('plastic.empty')), h('p.sub', {}, t('plastic.empty_text')));
  root.classList.add('plasticity');
  root.replaceChildren(hero, h('div.traincols', {}, side, h('div.main', {}, shown, empty)), fine);
  const draw = () => {
    choose(); drawDigits(digits);
    const {now} = state;
    fine.textContent = (now?.study ?? state.chosen.study) === CLASS_GROUPS ? t('plastic.fine_photos') : t('plastic.fine', {train: TRAIN});
    root.querySelector('.traincols').classList.toggle('hasrun', Boolean(now));
    root.dataset.state = !now ? 'idle' : active() ? 'running' : 'ended';
    shown.hidden = !now; empty.hidden = Boolean(now);
    if (!now) return;
    drawStrip(strip, now); drawVerdict(verdict, now); drawWhich(which, explain, now); drawCards(cards, now);
    if (root.painted === now) return;
    root.painted = now;
    chart(curves.plot, now.curves, {run: `${now.id}-curves`}); curves.tell(now.say);
    for (const name of SIDES) {
      const {figure, say, table} = now.sides[name], one = maps[name];
      one.plot.hidden = !table.length;
      one.plot.style.setProperty('--h', `${90 + (table.length > 6 ? 27 : 36) * Math.max(3, table.length)}px`);
      if (table.length) chart(one.plot, figure, {run: `${now.id}-${name}-${now.measure}`, zoom: false});
      one.tell(say);
    }
  };
  watch(draw); subscribe(choose); begin();
}

/* ---------- tables ---------- */
function curveTable() {
  const arms = armsNow(), tasks = state.now?.tasks ?? 0;
  return [[t('plastic.table_arm'), ...Array.from({length: tasks}, (_, at) => t('plastic.digit_task', {n: at + 1}))], arms.map(arm => [titleOf(arm.name), ...Array.from({length: tasks}, (_, at) => ({text: percent(arm.accuracy[at]), data: {arm: arm.name, task: at}}))])];
}
function mapTable(name) {
  const rows = state.now?.sides[name].table ?? [];
  return [[t('plastic.table_where'), ...rows[0]?.values.map((_, at) => t('plastic.digit_task', {n: at + 1})) ?? []], rows.map(row => [t('plastic.where', {n: row.block + 1, part: t(`plastic.part_${row.part}`)}), ...row.values.map(value => value === null ? '' : Number(value.toPrecision(4)))])];
}

/* ---------- progress ---------- */
function drawStrip(strip, now) {
  const arms = now.arms, failed = arms.find(arm => arm.status === 'failed'), done = Math.min(...arms.map(arm => arm.done)), running = active(), left = Math.ceil(Math.max(0, ...arms.map(arm => arm.left ?? 0)));
  fill(strip, [now.id, running, now.tasks, arms.map(arm => [arm.status, arm.done, Math.round(arm.part * 20)]), left], () => [
    h('div.top', {role: 'status'}, h('p', {}, failed ? t('plastic.failed', {arm: titleOf(failed.name), why: problemText(failed.problem ?? {code: 'run_failed', values: {}})}) : running ? arms.every(arm => arm.status === 'queued') ? t('plastic.queued') : t('plastic.live', {task: Math.min(now.tasks, done + 1), tasks: now.tasks}) : arms.every(arm => arm.status === 'finished') ? t('plastic.finished', {tasks: now.tasks}) : t('plastic.stopped')), running && left ? h('p.eta', {}, t('plastic.left', {n: left})) : null),
    h('p.sub', {dataset: {stream: now.study}}, t(now.study === CLASS_GROUPS ? 'plastic.of_photos' : 'plastic.of_stream', {...now, stream: t(`plastic.study_${now.study}`)})),
    h('ul.armbars', {}, arms.map(arm => h('li', {}, glyph(arm.name), h('span.nm', {}, titleOf(arm.name)), h('span.meterbar', {role: 'img', 'aria-label': `${arm.done} / ${now.tasks}`}, h('i', {style: {'--v': Math.min(1, (arm.done + arm.part) / now.tasks)}})), h('span.val', {}, `${arm.done} / ${now.tasks}`))))]);
}

/* ---------- what came out ---------- */
function drawVerdict(card, now) {
  const said = now.verdict;
  card.hidden = !said;
  fill(card, [said, active()], () => said ? [h('div', {}, h('p.label', {}, active() ? t('plastic.so_far') : t('plastic.verdict')), h('p.q', {}, said.head), h('ul', {}, said.lines.map(line => h('li', {}, line))), h('p.sub', {}, h('b', {}, said.end)))] : []);
}

/* ---------- inside ---------- */
function drawWhich(which, explain, now) {
  const names = now.arms.map(arm => arm.name);
  fill(which, [names, now.chosen, now.measure], () => [
    h('label.field', {}, h('span.label', {}, t('plastic.which_arm')), h('select', {id: 'plastic-arm', dataset: {focus: 'plastic-arm'}, onchange: event => inspect({arm: event.target.value})}, names.map(name => h('option', {value: name, selected: name === now.chosen}, titleOf(name))))),
    h('div.field', {}, h('span.label', {}, t('plastic.which_measure')), segmented(t('plastic.which_measure'), MEASURES.map(name => [name, t(`plastic.measure_${name}`)]), now.measure, measure => inspect({measure}), 'measure'))]);
  explain.textContent = t(`plastic.explain_${now.measure}`);
}

/* ---------- costs ---------- */
function drawCards(grid, now) {
  const last = now.verdict?.count ?? 1;
  fill(grid, [now.chosen, last, now.arms.map(arm => [arm.name, arm.accuracy.length, arm.step, arm.bytes])], () => now.arms.map(arm => {
    const card = cardOf(arm.name), values = arm.accuracy.slice(-last), mean = values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null, fact = (key, value) => h('div.fact', {}, h('dt', {}, t(key)), h('dd', {}, value));
    return h('section.armcard', {dataset: {arm: arm.name}}, h('h4', {}, glyph(arm.name), titleOf(arm.name)),
      h('p.big', {}, h('output', {}, mean === null ? '–' : percent(mean)), h('span', {}, last > 1 ? t('plastic.card_last', {n: last}) : t('plastic.card_so_far'))),
      h('dl.factlist', {}, fact('plastic.card_average', percent(arm.average) || t('plastic.unknown')), fact('plastic.card_step', arm.step === null ? t('plastic.unknown') : t('plastic.ms', {n: (1000 * arm.step).toFixed(1)})),
        fact('plastic.card_memory', arm.bytes === null ? t('plastic.unknown') : t('plastic.mb', {n: (arm.bytes / 1e6).toFixed(1)})), arm.gain === null ? null : fact('plastic.card_gain', arm.gain.toFixed(2))),
      card.paper ? h('p.sub', {}, t('plastic.card_paper'), ': ', card.paper.startsWith('arXiv:') ? h('a', {href: `https://arxiv.org/abs/${card.paper.slice(6)}`, target: '_blank', rel: 'noreferrer'}, card.paper) : card.paper) : null,
      card.deviations.length ? h('details', {ontoggle: async ({target}) => { await cardWords(); if (target.children.length === 1) target.append(deviations(card)); }}, h('summary', {}, t('plastic.card_deviations'), icon('down'))) : null,
      h('button.link.quiet', {type: 'button', dataset: {focus: `map-${arm.name}`}, 'aria-pressed': String(arm.name === now.chosen), onclick: () => { inspect({arm: arm.name}); document.querySelector('#plastic-maps').scrollIntoView({block: 'start'}); }}, t('plastic.card_map')));
  }));
}
