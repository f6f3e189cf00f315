/* Photos from a phone for the one class the teacher has opened: made smaller here, which also drops where and when they were taken. */
import {send} from '../api.js';
import {fill, h, icon} from '../dom.js';
import {count, problemText, t} from '../i18n.js';

const SIDE = 1600, SHOWN = 12;
const sending = {done: 0, total: 0, pictures: [], why: []};

/** The card while a class is open; `refresh` asks the room how things stand. */
export function drawPhotos(card, state, refresh) {
  const {told} = state, name = told?.open?.class ?? null, busy = sending.done < sending.total;
  card.hidden = !name;
  if (!name) { sending.why = []; return; }
  fill(card, [name, told.sent, told.left, sending.done, sending.total, sending.why, sending.pictures.length], () => {
    const input = h('input.hidden', {type: 'file', accept: 'image/*', multiple: true, tabIndex: -1, 'aria-hidden': 'true', onchange: () => start([...input.files], card, state, refresh)});
    return [h('h2', {}, t('classroom.send', {name})), h('p.sub', {}, t('classroom.send_text')),
      h('button.btn.wide', {type: 'button', disabled: busy || !told.left, dataset: {focus: 'send', do: 'send'}, onclick: () => input.click()}, icon('plus'), t('classroom.send_do')), input,
      h('p.sub', {role: 'status'}, busy ? t('classroom.sending', {done: sending.done, total: sending.total}) : told.sent ? [count('classroom.sent', told.sent), ...told.left ? [t('list.comma'), count('classroom.left', told.left)] : [t('say.stop'), t('say.gap'), t('classroom.left_none')]] : ''),
      sending.why.length ? h('ul.why', {role: 'alert'}, sending.why.map(one => h('li', {}, one))) : null,
      sending.pictures.length ? h('div.sentphotos', {}, sending.pictures.map((url, at) => h('img', {src: url, alt: t('classroom.thumb', {n: at + 1})}))) : null];
  });
}

async function start(files, card, state, refresh) {
  const {code} = state, some = files.slice(0, state.told.left);
  Object.assign(sending, {done: 0, total: some.length, why: []});
  for (const file of some) {
    drawPhotos(card, state, refresh);
    try {
      const photo = await smaller(file);
      await send(`class/${encodeURIComponent(code)}/photo`, photo);
      sending.pictures = [...sending.pictures, URL.createObjectURL(photo)].slice(-SHOWN);
    } catch (error) { sending.why = [...new Set([...sending.why, problemText(named(error.problem, file) ?? {code: 'server_away', values: {}})])]; }
    sending.done++;
  }
  try { await refresh(); } catch (error) { state.trouble = error; }
  drawPhotos(card, state, refresh);
}

/** What was wrong, with the file's name on this phone: it is not sent along. */
const named = (problem, {name}) => problem && {...problem, values: {...problem.values, name, type: name.split('.').at(-1).toUpperCase()}};

/** A JPEG of at most SIDE pixels; the file itself where this browser cannot read it: the lab may. */
async function smaller(file) {
  try {
    const whole = await createImageBitmap(file), scale = Math.min(1, SIDE / Math.max(whole.width, whole.height));
    const canvas = h('canvas', {width: Math.round(whole.width * scale), height: Math.round(whole.height * scale)}), brush = canvas.getContext('2d');
    brush.fillStyle = '#fff';
    brush.fillRect(0, 0, canvas.width, canvas.height);
    brush.drawImage(whole, 0, 0, canvas.width, canvas.height);
    whole.close();
    return await new Promise((done, fail) => canvas.toBlob(blob => blob ? done(blob) : fail(new Error('canvas')), 'image/jpeg', .9));
  } catch { return file; }
}
