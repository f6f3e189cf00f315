/* Where a lesson points, and what its one button starts. Names are those of demo/lessons/*.json. */
import {asked} from '../ask.js';
import {changed, invite, show, store, train} from '../store.js';
import {broken, ended, finished, pack, run, start, tasks, titled, toggle} from '../forget_run.js';
import {lang} from '../i18n.js';
import {view} from '../inside.js';
import {panel, pickSource} from '../inside_lambda.js';
import {active, start as startArms} from '../plasticity_run.js';
import {goTo} from '../tabs.js';

export const PLACES = {
  forget_lead: '#view-forget .hero',
  forget_lanes: '#view-forget .lanes',
  forget_verdict: '#view-forget .verdict',
  inside_time: '#view-inside .stick',
  inside_switch: '#view-inside .stick .switch',
  inside_matrix: '#chart-when',
  inside_modules: '#chart-modules',
  inside_ask: '#ask-one',
  inside_doubt: '#ask-one .askrow > div:has(> .bars), #ask-one .soon',
  inside_lambda: '#chart-lambda',
  inside_slider: '#chart-lambda .lambdarow',
  data_classes: '#view-data .datacols > section',
  train_strip: '#view-train .live',
  train_result: '#result',
  compare_board: '#leaderboard',
  plastic_lead: '#view-plasticity .plastichero',
  plastic_curves: '#plastic-curves',
  plastic_found: '#view-plasticity .found',
  plastic_maps: '#plastic-maps',
};

/** Each starts what its step waits for; false where nothing has been started, so that the button can be pressed again. */
export const STARTS = {
  async forget() { goTo('forget'); if (!run.training) await start(); else if (!ended() && !run.playing) toggle(); return Boolean(run.training); },
  inside_naive: () => openInside('finetune'),
  inside_tosca: () => openInside('tosca'),
  async ask() {
    view.how = 'photo';  // bars and explanation speak of the same choice
    document.querySelector('#ask-one [data-do=ask-any]')?.click();
    await patience(() => !asked.waiting, 90);
    return Boolean(asked.answer);
  },
  async lambda_pack() {
    if (!await openInside('tosca') || !await patience(() => panel.packs?.length, 20)) return false;
    if (panel.source === 'own') pickSource(panel.packs[0].name);  // a run of a starter pack has its own grid there already
  },
  async published() {
    const switched = () => Boolean(view.data?.frames.at(-1).published);  // reached by its address, the step finds any method shown
    if (!switched() && !(await openInside('tosca') && await patience(switched, 60))) return false;
    view.how = 'published'; view.time = view.data.frames.length - 1; changed();
  },
  async train_two() { goTo('train'); return (await train(['finetune', 'tosca'], store.project?.chosen.settings ?? {}, store.project?.chosen.seed ?? 0)).length > 0; },
  async plasticity() { goTo('plasticity'); if (!active()) await startArms(); return active(); },
};

const patience = async (true_, seconds) => { for (let n = 0; n < seconds * 5 && !true_(); n++) await new Promise(done => setTimeout(done, 200)); return Boolean(true_()); };

/** Shows a finished run of a method in Look inside: the person's own, else that of the starter photos, which is trained where there is none. */
async function openInside(method) {
  const there = [...store.runs.values()].find(one => one.method === method && one.status === 'finished');
  if (there) show(there.id);
  else {
    if (!run.training || broken()) await start();
    await patience(() => finished() || broken() || run.problem, 180);
    if (!finished()) { goTo('forget'); return false; }
    await invite(Object.values(run.training.runs), pack().title[lang] ?? pack().title.en, tasks().map(titled), run.training.runs[method]);
  }
  goTo('inside');
  return true;
}
