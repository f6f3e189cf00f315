/* Keep learning, class groups of a person's own photos: what the first tasks are, and what still keeps them from being learnt. */
import {get, photoUrl, Problem} from './api.js';
import {h, icon} from './dom.js';
import {problemText, t} from './i18n.js';
import {store} from './store.js';
import {goTo} from './tabs.js';

export const CLASS_GROUPS = 'class_groups', PER_TASK = [2, 3, 5];
const known = {key: '', asked: '', offer: null, problem: null};

/** Asks for the first tasks where photos, group size or seed have changed; `told` hears of the answer. */
export async function askGroups({per_task, seed}, told) {
  const {project} = store, key = [project?.id, project?.version, per_task, seed].join(' ');
  if (known.asked === key) return;
  known.asked = key;
  let said = {problem: {code: 'groups_none', values: {needs: per_task + 1}}};
  if (project) try { said = await get(`projects/${project.id}/class-groups?per_task=${per_task}&seed=${seed}`); }
  catch (error) { known.asked = ''; if (error instanceof Problem) return; throw error; } // asked again at the next beat
  if (known.asked !== key) return; // chosen anew meanwhile
  Object.assign(known, {key, offer: said.problem ? null : {...said, project: project.id}, problem: said.problem ?? null});
  told();
}

export const groupsKey = () => known.key;
/** Steps a pass over a task takes; as many as over the digits until that is known. */
export const groupSteps = fallback => known.offer?.steps ?? fallback;
/** Why no groups can be learnt, with the way there; null where they can. */
export const groupsBlocked = () => known.offer ? null : known.problem ? [problemText(known.problem), ' ', h('button.link', {type: 'button', dataset: {focus: 'plastic-data', do: 'plastic-data'}, onclick: () => goTo('data')}, t('start.to_data'))] : [t('plastic.groups_wait')];

export function drawGroups() {
  if (!known.offer) return [h('figcaption.label', {}, t('plastic.groups')), h('p.sub.groupswhy', {}, icon('folder'), h('span', {}, known.problem ? t('plastic.groups_none') : t('plastic.groups_wait')))];
  return [h('figcaption.label', {}, t('plastic.groups')), known.offer.tasks.map(task => h('div.digitrow.grouprow', {}, h('span.sub', {}, t('plastic.digit_task', {n: task.task + 1})),
    task.photos.map(([number, sha]) => h('img', {src: photoUrl(known.offer.project, sha), alt: task.names[number], title: task.names[number], loading: 'lazy', decoding: 'async', draggable: false})), h('b', {}, task.names.join(t('list.comma')))))];
}
