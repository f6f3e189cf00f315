/* The list of methods and their settings, generated from the cards the worker wrote; what is chosen is kept with the project. */
import {post} from './api.js';
import {cardButton, drawCard, open} from './cards.js';
import {fill, glyph, h, icon, segmented} from './dom.js';
import {has, t} from './i18n.js';
import {copy, hide, leave, linkTo, parse, read} from './link.js';
import {alone, reasons} from './plan.js';
import {edit, isLearning, store, titleOf, train} from './store.js';
import {goTo} from './tabs.js';
import {trouble} from './toast.js';

const FIRST = ['finetune', 'tosca'];
/** From what forgets to what does not, the two of the first run in sight; families of plug-ins come last. */
const FAMILIES = ['baselines', 'modules', 'prototypes', 'masks', 'prompts', 'adapters'];
const draft = {methods: null, settings: {}, seed: 0, seeds: 1, from: null, touched: false, linked: null, hidden: null, count: 0};

/** What is chosen: the project's, unless the person has just changed it here. */
function choice() {
  if (draft.touched && draft.from === null && store.project) { draft.from = store.project.id; save(); }  // chosen before there was a project
  const chosen = store.project?.chosen, known = new Set((store.cards ?? []).map(card => card.name));
  if (draft.from !== (store.project?.id ?? null) || draft.methods === null) {
    draft.from = store.project?.id ?? null;
    draft.methods = (chosen?.methods?.length ? chosen.methods : FIRST).filter(name => known.has(name));
    draft.settings = structuredClone(chosen?.settings ?? {});
    draft.seed = chosen?.seed ?? 0;
    draft.seeds = chosen?.seeds ?? 1;
    if (!store.cards) draft.methods = null;
  }
  const link = JSON.stringify(parse().pairs);
  if (draft.hidden !== link) { draft.hidden = link; hide(); }
  if (store.cards && draft.linked !== link) {
    draft.linked = link;
    if (read(draft, store.cards)) { draft.count++; draft.touched = true; save(); }
  }
  return draft;
}

let saving = 0;
function keep(redraw = true) {
  draft.touched = true;
  leave();
  draft.linked = draft.hidden = JSON.stringify(parse().pairs);
  save();
  if (redraw) document.dispatchEvent(new Event('fmn:redraw'));
}
function save() {
  clearTimeout(saving);
  saving = setTimeout(() => { if (store.project) edit('choose', {methods: draft.methods, settings: draft.settings, seed: draft.seed, seeds: draft.seeds}); }, 400);
}

export function mountMethods(side) {
  const list = h('div'), settings = h('div.settings'), foot = h('div.planfoot');
  side.replaceChildren(h('div', {}, h('h2', {}, t('methods.title')), h('p.sub', {}, t('methods.lead'))), list, settings, foot);
  addEventListener('hashchange', () => document.dispatchEvent(new Event('fmn:redraw')));
  return () => {
    const {cards} = store, chosen = choice(), picked = chosen.methods ?? [];
    fill(list, [cards?.length ?? 0, picked, [...open]], () => cards ? drawList(cards, picked) : [h('p.sub.waiting', {}, t('methods.waiting'))]);
    fill(settings, [cards?.length ?? 0, picked, draft.count], () => cards ? drawSettings(cards.filter(card => picked.includes(card.name))) : []);
    const why = blocked(picked);
    fill(foot, [why.map(node => node.textContent), store.project?.tasks, store.project?.kind, store.starting, isLearning(), store.waiting.length], () => drawFoot(why));
  };
}

const familyName = family => has(`family.${family.toLowerCase()}`) ? t(`family.${family.toLowerCase()}`) : family;
const own = (card, field) => has(`method.${card.name}.${field}`) ? t(`method.${card.name}.${field}`) : card[field];

const redraw = () => document.dispatchEvent(new Event('fmn:redraw'));

function drawList(cards, picked) {
  const place = family => (FAMILIES.indexOf(family.toLowerCase()) + 99) % 99, families = [...new Set(cards.map(card => card.family))].sort((a, b) => place(a) - place(b));
  return families.map(family => h('fieldset.family', {}, h('legend', {}, familyName(family)), cards.filter(card => card.family === family).map(card => [h('div.methodrow', {}, h('label.method', {title: own(card, 'paper') || null},
    h('input', {type: 'checkbox', value: card.name, checked: picked.includes(card.name), dataset: {focus: `method-${card.name}`}, onchange: event => {
      const now = choice().methods ?? [];  // not those drawn: two boxes may change between two drawings
      draft.methods = cards.map(one => one.name).filter(name => name === card.name ? event.target.checked : now.includes(name));
      keep();
    }}), h('span.tick', {}, icon('check')), h('span.txt', {}, h('b', {}, own(card, 'title'), card.bound ? h('span.tag.quiet', {}, t('methods.bound')) : null), h('span', {}, own(card, 'line'))), glyph(card.name)), cardButton(card, own(card, 'title'), redraw)), drawCard(card)])));
}

/* ---------- settings ---------- */
function drawSettings(cards) {
  const part = (card, expert) => { const list = card.settings.filter(one => one.expert === expert); return list.length ? [h('h4', {}, glyph(card.name), own(card, 'title')), list.map(one => control(card, one))] : []; };
  const seed = h('div.control', {}, h('div.controlhead', {}, h('label', {for: 'seed'}, t('settings.seed')), h('input', {type: 'number', id: 'seed', min: 0, max: 9999, step: 1, value: draft.seed, onchange: event => { draft.seed = Math.max(0, Math.min(9999, Math.round(Number(event.target.value) || 0))); event.target.value = draft.seed; keep(false); drawSeeds(); }})), h('p.sub', {}, t('settings.seed_help')));
  const seeds = h('div.control', {id: 'seeds'}), drawSeeds = () => fill(seeds, [draft.seed, draft.seeds], () => [segmented(t('seeds.label'), [[1, t('seeds.one')], [3, t('seeds.three')]], draft.seeds, value => { draft.seeds = value; keep(false); drawSeeds(); }, 'seeds'),
    h('p.sub', {}, draft.seeds > 1 ? t('seeds.three_help', {seeds: [0, 1, 2].map(more => draft.seed + more).join(t('list.comma'))}) : t('seeds.one_help'))]);
  drawSeeds();
  const explore = cards.flatMap(card => part(card, false)), expert = cards.flatMap(card => part(card, true));
  return [...explore, seed, seeds, expert.length ? h('details.expert', {}, h('summary', {}, t('settings.expert'), icon('down')), expert) : null].flat();
}

const valueOf = (card, one) => draft.settings[card.name]?.[one.name] ?? one.default;
function put(card, one, value) {
  const all = draft.settings[card.name] ??= {};
  if (value === one.default) delete all[one.name]; else all[one.name] = value;
  if (!Object.keys(all).length) delete draft.settings[card.name];
  keep(false);
}

const number = value => Math.abs(value) > 0 && Math.abs(value) < 1e-3 ? value.toExponential(0) : String(Number(value.toPrecision(4)));
const label = one => has(`setting.${one.name}`) ? t(`setting.${one.name}`) : (name => name[0].toUpperCase() + name.slice(1))(one.name.replace(/_/g, ' '));

/** What a setting does: this language's own words, else the card's. */
const hint = (card, one) => [`hint.${card.name}.${one.name}`, `hint.${one.name}`].filter(has).map(key => t(key))[0] ?? one.help;

/** One control for one setting: a switch, a choice, or a number with its slider (in powers of ten where it is logarithmic). */
function control(card, one) {
  const id = `set-${card.name}-${one.name}`, help = one.help ? h('p.sub', {id: `${id}-help`}, hint(card, one)) : null;
  if (one.kind === 'bool') return h('div.control', {}, h('label.switch', {}, h('input', {type: 'checkbox', id, checked: valueOf(card, one), onchange: event => put(card, one, event.target.checked)}), h('span.tick', {}, icon('check')), label(one)), help);
  if (one.kind === 'choice') {
    const holder = h('div.control'), draw = () => holder.replaceChildren(h('span.label', {}, label(one)), one.choices.length <= 3 ? segmented(label(one), one.choices.map(each => [each, String(each).replace(/_/g, ' ')]), valueOf(card, one), value => { put(card, one, value); draw(); }, id)
      : h('select', {id, 'aria-label': label(one), onchange: event => put(card, one, one.choices[event.target.selectedIndex])}, one.choices.map(each => h('option', {selected: each === valueOf(card, one)}, String(each).replace(/_/g, ' ')))), help ?? '');
    draw();
    return holder;
  }
  const logarithmic = one.log && one.low > 0, to = value => logarithmic ? Math.log10(value) : value, from = place => logarithmic ? Number((10 ** place).toPrecision(2)) : place;
  const step = one.kind === 'int' ? 1 : logarithmic ? .01 : one.step ?? (one.high - one.low) / 100, rounded = value => one.kind === 'int' ? Math.round(value) : Number(value.toPrecision(6));
  const box = h('input', {type: 'number', id, min: one.low, max: one.high, step: 'any', value: number(valueOf(card, one)), 'aria-describedby': help ? help.id : null});
  const slider = h('input.plain', {type: 'range', min: to(one.low), max: to(one.high), step, value: to(valueOf(card, one)), 'aria-label': label(one)});
  const paint = () => slider.style.setProperty('--v', (slider.value - slider.min) / (slider.max - slider.min));
  slider.oninput = () => { const value = rounded(from(Number(slider.value))); box.value = number(value); paint(); put(card, one, value); };
  box.onchange = () => { const value = rounded(Math.max(one.low, Math.min(one.high, Number(box.value) || one.default))); box.value = number(value); slider.value = to(value); paint(); put(card, one, value); };
  paint();
  return h('div.control', {}, h('div.controlhead', {}, h('label', {for: id}, label(one)), box), help, h('div.sliderline', {}, h('span', {}, number(one.low)), slider, h('span', {}, number(one.high))));
}

/* ---------- start ---------- */
const repair = (key, run, values = {}) => h('button.link', {type: 'button', onclick: run}, t(key, values));

function blocked(picked) {
  if (!store.cards || store.status?.worker !== 'ready') return [h('p', {}, t('start.worker'))];
  if (!store.project?.classes.length) return [h('p', {}, t('start.photos'), ' ', repair('start.to_data', () => goTo('data')))];
  if (!store.project.ready.ok) return reasons(store.project);
  if (store.status?.backbone?.state === 'failed') return [h('p', {}, t('start.failed'), ' ', repair('status.retry', () => post('status', {do: 'retry'}).catch(trouble)))];
  if (store.status?.backbone?.state !== 'ready') return [h('p', {}, t('start.backbone'))];
  if (!picked.length) return [h('p', {}, t('start.method'), ' ', repair('start.first_two', () => { draft.methods = store.cards.map(card => card.name).filter(name => FIRST.includes(name)); keep(); }, {methods: FIRST.map(titleOf).join(t('list.comma'))}))];
  return [];
}

function drawFoot(why) {
  const waits = isLearning();
  return [h('button.btn.wide', {type: 'button', id: 'start', dataset: {once: '', focus: 'start'}, disabled: why.length > 0 || store.starting, 'aria-describedby': why.length ? 'start-why' : waits ? 'start-queue' : null, onclick: () => train(draft.methods, draft.settings, draft.seed, draft.seeds)}, t(store.starting ? 'start.starting' : waits ? 'start.queue' : 'start.go')),
    why.length ? h('div.reason', {id: 'start-why', role: 'status'}, icon('warn'), h('div', {}, why)) : waits ? h('p.fine', {id: 'start-queue'}, t('start.queue_text')) : null,
    why.length ? null : alone(store.project),
    store.cards && draft.methods?.length ? h('button.link.quiet', {type: 'button', dataset: {do: 'copy-link', focus: 'copy-link'}, title: t('link.what'), onclick: () => copy(linkTo(draft, store.cards))}, icon('link'), t('link.copy')) : null];
}
