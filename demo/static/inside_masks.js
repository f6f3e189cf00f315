/* Soft-TF: where the masks of the task shown moved, by block, by Q, K, V and O, and by head. */
import {chart, frame} from './charts.js';
import {bud, fill, h, title} from './dom.js';
import {t} from './i18n.js';
import {view} from './inside.js';
import {show, store} from './store.js';
import {goTo} from './tabs.js';

export function mountMasks(card) {
  const map = frame(250, t('masks.title'), () => { const [head, ...rows] = now().table; return [head, rows]; }), whole = h('div', {}, title(t('masks.title'), t('masks.sub')), map.parts), none = h('div.nothing');
  card.replaceChildren(whole, none);
  const now = () => view.figures.masks[Math.min(view.time, view.figures.masks.length - 1)];
  let painted = null;
  return () => {
    const has = Boolean(view.figures.masks), other = [...store.runs.values()].find(run => run.method.startsWith('softtf') && run.status === 'finished');
    whole.hidden = !has; none.hidden = has; card.classList.toggle('calm', !has);
    fill(none, [has, other?.id ?? null], () => has ? [] : [bud(), h('div', {}, h('h3', {}, t(other ? 'masks.other_title' : 'masks.none_title')), h('p.sub', {}, t(other ? 'masks.other_text' : 'masks.none_text'))),
      h('button.btn.ghost', {type: 'button', onclick: () => other ? show(other.id) : goTo('train')}, t(other ? 'masks.show' : 'inside.to_train'))]);
    const key = JSON.stringify([view.run.id, view.time, map.plot.offsetWidth]);
    if (!has || painted === key || !map.plot.offsetWidth) return;
    painted = key;
    map.plot.style.setProperty('--h', `${60 + 48 * now().rows}px`);
    chart(map.plot, now().figure, {run: `${view.run.id}-masks`, zoom: false});
    map.tell(now().say);
  };
}
