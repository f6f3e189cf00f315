/* One lane: a learner, its number, the memory photos, and the curve whose axis is made of the tasks (our own SVG: no library before the first run). */
import {fill, glyph, h, hueOf, dot, icon} from './dom.js';
import {t} from './i18n.js';
import {frame} from './charts.js';
import {caption, ended, latest, named, picture, run, task, tasks, titled, upTo, wall} from './forget_run.js';

const NS = 'http://www.w3.org/2000/svg';
const svg = (tag, props = {}, ...children) => { const node = document.createElementNS(NS, tag); for (const [name, value] of Object.entries(props)) if (value !== null) node.setAttribute(name, value); node.append(...children); return node; };
export const percent = share => `${Math.floor(100 * share + .5 + 1e-9)}%`;
const share = mark => mark.right / mark.total;

export function mountLane(method) {
  const output = h('output', {}, '–'), what = h('span'), memos = h('div.memos'), height = wall ? 330 : 190;
  const chart = frame(height, t('forget.curve'), () => table(method));
  const node = h('article.card.lane', {id: `lane-${method}`, 'aria-label': t(`forget.lane_${method}`)},
    h('header.head', {}, h('div', {}, glyph(method), h('h2', {}, t(`forget.lane_${method}`)), h('p.sub', {}, t(`forget.lane_${method}_sub`))), h('p.big', {}, output, what)),
    memos, chart.parts);
  new ResizeObserver(() => draw()).observe(chart.plot);
  function draw() {
    const mark = latest(method), [first] = tasks();
    if (!first) return;
    output.textContent = mark ? percent(share(mark)) : '–';
    node.dataset.right = mark?.right ?? '';
    node.dataset.at = mark?.at ?? '';
    what.textContent = t('forget.of_task', {task: named(first)});
    drawMemos(memos, method, mark);
    drawCurve(chart.plot, method, height);
    chart.tell(says(method));
  }
  return {node, draw};
}

/* ---------- memory photos ---------- */
const takenBy = task => t('forget.taken', {n: task + 1, task: titled(tasks()[task])});
function drawMemos(memos, method, mark) {
  fill(memos, [run.pack, run.memory], () => run.memory.map(({photo, class: name}, at) => h('figure.memo.idle', {}, h('div.pic', {}, h('div.flip', {}, h('img.front', {src: picture(photo), alt: t('forget.photo', {n: at + 1, name: caption(name)}), width: 128, height: 128}), h('img.back', {src: picture(photo), alt: ''})), h('span.mark'), h('span.thief')), h('figcaption'))));
  [...memos.children].forEach((memo, at) => {
    const said = mark?.photos[at] ?? null, state = said?.state ?? 'idle', name = caption(run.memory[at].class);
    if (!fill(memo.lastChild, [state, said?.says ?? null, said?.by ?? null], () => state === 'idle' || state === 'right' ? [h('span', {}, name), state === 'right' ? h('span.hidden', {}, t('forget.right')) : null] : [h('i', {}, t('forget.says')), h('b', {}, caption(said.says)), h('span.hidden', {}, t(state === 'lost' ? 'forget.lost' : 'forget.not_yet'), state === 'lost' ? [t('say.stop'), t('say.gap'), takenBy(said.by)] : null)])) return;
    memo.className = `memo ${state}`;
    memo.dataset.state = state;
    const [, sign, thief] = memo.firstChild.children;
    sign.replaceChildren(...state === 'idle' ? [] : [icon(state === 'right' ? 'check' : 'cross')]);
    thief.replaceChildren(...said?.by === null || said?.by === undefined ? [] : [Object.assign(dot(said.by), {title: takenBy(said.by)})]);
  });
}

/* ---------- the curve ---------- */
function drawCurve(box, method, height) {
  const width = box.clientWidth, marks = upTo(method), total = tasks().length, guessed = method === 'finetune' && ended() && run.guess !== null;
  if (!width) return;
  fill(box, [width, method, run.pack, run.seed, marks.length, marks.at(-1) ?? null, Math.ceil(run.position - 1e-6), guessed ? run.guess : null], () => {
    const small = wall ? 22 : 14, left = wall ? 84 : 54, right = 14, top = 12, bar = wall ? 44 : 28, bottom = height - bar - 8;
    const x = at => left + (width - left - right) * at / total, y = value => bottom - (bottom - top) * value, words = width > (wall ? 800 : 430);
    /** Above or below the mark of the guess, where the words are farther from the curve. */
    const clear = () => {
      const spot = y(run.guess / run.memory.length), near = marks.filter(mark => x(mark.at) > width - 14 * small).map(mark => y(share(mark)));
      const sides = [Math.max(top + small, spot - 12), Math.min(bottom - 6, spot + small + 10)], [over, under] = sides.map(side => Math.min(...near.map(each => Math.abs(each - side + small / 3))));
      return sides[under > over ? 1 : 0];
    };
    const picture = svg('svg', {class: 'curve', width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true'});
    for (const value of [0, .5, 1]) picture.append(svg('line', {class: 'grid', x1: left, x2: width - right, y1: y(value), y2: y(value)}), svg('text', {x: left - 10, y: y(value) + small * .35, 'text-anchor': 'end', class: 'tick'}, percent(value)));
    tasks().forEach((one, at) => {
      const begun = run.position > at || marks.length && at === 0, name = titled(one), room = (x(at + 1) - x(at)) / (small * .62);
      if (at) picture.append(svg('line', {class: 'edge', x1: x(at), x2: x(at), y1: top, y2: bottom}));
      picture.append(svg('rect', {class: begun ? `seg ${hueOf(at)}` : 'seg', x: x(at) + (at ? 1.5 : 0), width: x(at + 1) - x(at) - (at ? 3 : 1.5), y: height - bar, height: bar}),
        svg('text', {class: begun ? `segtext ${hueOf(at)}` : 'segtext', x: (x(at) + x(at + 1)) / 2, y: height - bar / 2 + small * .35, 'text-anchor': 'middle'}, words && name.length + 3 < room ? `${at + 1}  ${name}` : String(at + 1)));
    });
    if (marks.length) {
      const points = marks.map(mark => `${x(mark.at).toFixed(1)},${y(share(mark)).toFixed(1)}`), end = marks.at(-1);
      picture.append(svg('polygon', {class: 'area', points: [`${x(marks[0].at)},${bottom}`, ...points, `${x(end.at)},${bottom}`].join(' ')}), svg('polyline', {class: `curveline ${method}`, points: points.join(' ')}), tip(method, x(end.at), y(share(end))));
    }
    if (guessed) picture.append(svg('circle', {class: 'guessed', cx: x(total), cy: y(run.guess / run.memory.length), r: wall ? 8 : 5.5}), svg('text', {class: 'guessword', x: x(total) - 12, y: clear(), 'text-anchor': 'end'}, t('forget.your_guess', {n: run.guess, of: run.memory.length})));
    return picture;
  });
}
const tip = (method, x, y) => method === 'tosca' ? svg('circle', {class: 'tip', cx: x, cy: y, r: wall ? 8 : 5.5}) : svg('path', {class: 'tip cross', d: `M${x - 5} ${y - 5}l10 10M${x + 5} ${y - 5}l-10 10`});

/* ---------- the same in words ---------- */
export function says(method) {
  const marks = upTo(method), [first] = tasks();
  if (!marks.length || !first) return t('forget.nothing_yet');
  const best = Math.max(...marks.map(share)), now = share(marks.at(-1)), values = {task: titled(first), best: percent(best), now: percent(now)};
  return t(best - now >= .3 ? 'forget.fell' : best - now > .005 ? 'forget.slipped' : 'forget.stayed', values);
}
function table(method) {
  const ends = upTo(method).filter(mark => Number.isInteger(mark.at));
  return [[t('table.after'), t('forget.table_task', {task: titled(tasks()[0])}), t('forget.table_photos')], ends.map(mark => [t('task.named', {n: mark.at, name: titled(tasks()[mark.at - 1])}), {text: t('table.cell', {percent: (100 * share(mark)).toFixed(1), right: mark.right, total: mark.total}), data: {after: String(mark.at), right: String(mark.right)}}, t('forget.kept', {n: mark.photos.filter(photo => photo.state === 'right').length, of: mark.photos.length})])];
}
