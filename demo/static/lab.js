/* The front door: words first, then the views Gradio has made containers for, then the heart beat. */
import {mountCompare} from './compare.js';
import {openIntoData} from './compare_share.js';
import {mountData} from './data.js';
import {h, useGlyphs} from './dom.js';
import {mountForget} from './forget.js';
import {mountHeader} from './header.js';
import {loadWords, t} from './i18n.js';
import {startLessons} from './lessons.js';
import {changed, start} from './store.js';
import {startTabs} from './tabs.js';
import {trouble} from './toast.js';
import {mountTrain} from './train.js';
import {redrawWhenSeen} from './charts.js';

const views = {header: mountHeader, forget: mountForget, data: mountData, train: mountTrain, compare: mountCompare,
  inside: whenSeen(async () => (await import('./inside.js')).mountInside), plasticity: whenSeen(async () => (await import('./plasticity.js')).mountPlasticity)};
const UNTITLED = new Set(['data', 'train', 'inside', 'compare']), mounted = new Set();
let tabsStarted = false;

await loadWords();
document.addEventListener('fmn:redraw', changed);
/* The second click of a double click does nothing where the first has made another button of this one: queue, stop, another round. */
addEventListener('click', event => { if (event.detail > 1 && event.target.closest?.('[data-once]')) event.stopPropagation(); }, true);

window.Lab = {
  /** Called once by every gr.HTML container; `props.value` is JSON it was given. */
  mount(name, element, props) {
    const given = typeof props.value === 'string' && props.value ? JSON.parse(props.value) : props.value, root = element.querySelector('.view');
    if (mounted.has(root)) return;
    mounted.add(root);
    if (given?.glyphs) useGlyphs(given);
    views[name](root);
    if (UNTITLED.has(name)) root.before(h('h1.hidden', {}, t(`tab.${name}`)));  // for those who hear the page
    openIntoData();
    redrawWhenSeen(root);
    if (!tabsStarted && document.querySelector('#story [role=tab]')) { tabsStarted = true; setTimeout(() => { startTabs(); startLessons(); }, 0); }
  },
};
/** A view whose scripts come when its tab is first opened: nobody waits for them before. */
function whenSeen(load) {
  return root => {
    const eye = new IntersectionObserver(async seen => {
      if (!seen.some(one => one.isIntersecting)) return;
      eye.disconnect();
      try { (await load())(root); changed(); } catch (error) { trouble(error); setTimeout(() => eye.observe(root), 3000); }
    });
    eye.observe(root);
  };
}
dispatchEvent(new Event('lab:ready'));
start();
