/* What the class said, once the answer is out: a bar a number, the right one marked, and the same in words. */
import {h, icon} from '../dom.js';
import {count, t} from '../i18n.js';

export function tally({tally: votes}, right) {
  if (!votes) return null;
  const all = votes.reduce((sum, n) => sum + n, 0), most = Math.max(1, ...votes);
  if (!all) return h('p.sub', {}, t('classroom.tally_none'));
  return h('figure.tally', {}, h('figcaption', {}, h('b', {}, t('classroom.tally')), ' ', t('classroom.tally_right', {n: votes[right] ?? 0, of: all})),
    h('ol', {}, votes.map((n, kept) => h('li', {class: kept === right ? 'right' : '', dataset: {votes: String(n)}, 'aria-label': count('classroom.votes', n, {kept: String(kept)}) + (kept === right ? t('forget.right') : '')},
      h('b', {}, String(kept), kept === right ? icon('check') : null), h('span.rail', {'aria-hidden': 'true'}, h('i', {style: {'--v': n / most}})), h('span', {'aria-hidden': 'true'}, String(n))))));
}
