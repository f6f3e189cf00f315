/* The camera: hold to record a burst of photos into a class, or take one photo to ask about. The stream ends with the dialog. */
import {h, icon} from './dom.js';
import {count, t} from './i18n.js';

const EVERY = 200, MOST = 100, SIDE = 640, SHOWN = 8;
const kept = {device: null};

/** Whether this page may use cameras: browsers give them to https and to this very computer only. */
export const hasCameras = () => Boolean(window.isSecureContext && navigator.mediaDevices?.getUserMedia);

/**
 * Opens the camera. `take(file, burst)` gets every photo as it is taken; `one`: a single photo, and the dialog closes with it.
 * `files()` is the way without a camera. Returns the dialog.
 */
export function openCamera({name, take, files, one = false}) {
  const state = {stream: null, burst: null, taken: 0, inBurst: 0, timer: 0, closed: false, urls: []};
  const video = h('video', {muted: true, playsInline: true, autoplay: true, 'aria-label': t('camera.preview')}), lamp = h('span.lamp', {'aria-hidden': 'true'}), frame = h('div.viewfinder', {}, video, lamp);
  const trouble = h('div.reason', {role: 'alert', hidden: true}), said = h('p.sub', {role: 'status'}, t(one ? 'camera.one_help' : 'camera.help')), strip = h('div.strip', {'aria-hidden': 'true'}), which = h('div.whichcamera');
  const shoot = h('button.btn.wide.shutter', {type: 'button', disabled: true, dataset: {do: 'shoot'}, 'aria-describedby': 'camera-said'}, icon('camera'), h('span', {}, t(one ? 'camera.take' : 'camera.hold')));
  const instead = h('button.btn.ghost', {type: 'button', dataset: {do: 'camera-files'}, onclick: () => { box.close(); files(); }}, icon('file'), t('camera.files'));
  said.id = 'camera-said';
  const box = h('dialog.camera.view', {'aria-label': t(one ? 'camera.title_one' : 'camera.title', {name}), onclose: close},
    h('header', {}, h('h2', {}, t(one ? 'camera.title_one' : 'camera.title', {name})), h('button.small.always', {type: 'button', 'aria-label': t('camera.close'), title: t('camera.close'), onclick: () => box.close()}, icon('cross'))),
    trouble, frame, said, strip, h('div.acts', {}, shoot, which), h('div.acts.below', {}, instead, one ? null : h('button.btn.ghost', {type: 'button', dataset: {do: 'camera-done'}, onclick: () => box.close()}, icon('check'), t('camera.done'))));

  function close() {
    state.closed = true;
    release();
    end();
    document.removeEventListener('visibilitychange', release);
    state.urls.forEach(url => URL.revokeObjectURL(url));
    box.remove();
  }
  function end() { state.stream?.getTracks().forEach(track => track.stop()); state.stream = null; video.srcObject = null; }
  function fail(key) {
    end();
    trouble.replaceChildren(icon('warn'), h('div', {}, h('p', {}, t(key)), h('p', {}, t('camera.files_text'))));
    trouble.hidden = false; frame.hidden = strip.hidden = said.hidden = shoot.hidden = true;
    which.replaceChildren();
    instead.focus();
  }

  async function begin(device = kept.device) {
    if (!hasCameras()) return fail('camera.insecure');
    end();
    shoot.disabled = true;
    let stream = null;
    try { stream = await navigator.mediaDevices.getUserMedia({audio: false, video: {width: {ideal: 1280}, height: {ideal: 720}, ...device ? {deviceId: {exact: device}} : {facingMode: {ideal: one ? 'environment' : 'user'}}}}); }
    catch (error) {
      if (device && error.name !== 'NotAllowedError') { kept.device = null; return begin(null); }  // the one used last time is gone
      return state.closed || fail({NotAllowedError: 'camera.refused', SecurityError: 'camera.refused', NotFoundError: 'camera.none', OverconstrainedError: 'camera.none', NotReadableError: 'camera.busy'}[error.name] ?? 'camera.failed');
    }
    if (state.closed) { stream.getTracks().forEach(track => track.stop()); return; }
    state.stream = stream;
    const [track] = stream.getVideoTracks(), {facingMode, deviceId} = track.getSettings();
    track.onended = () => state.stream === stream && fail('camera.gone');
    video.classList.toggle('mirrored', facingMode !== 'environment');
    video.srcObject = stream;
    await video.play().catch(() => {});
    shoot.disabled = state.closed;
    if (!state.closed) { shoot.focus(); drawDevices(deviceId); }
  }

  /** With two cameras a button goes from one to the other, with more there is a list; names are known once one is allowed. */
  async function drawDevices(now) {
    const found = (await navigator.mediaDevices.enumerateDevices()).filter(one => one.kind === 'videoinput' && one.deviceId), use = id => { kept.device = id; begin(id); };
    const called = (one, at) => one.label || t('camera.number', {n: at + 1});
    if (found.length < 2) which.replaceChildren();
    else if (found.length === 2) which.replaceChildren(h('button.btn.ghost', {type: 'button', dataset: {do: 'switch'}, onclick: () => use(found.find(one => one.deviceId !== now)?.deviceId ?? found[0].deviceId)}, icon('replay'), t('camera.switch')));
    else which.replaceChildren(h('select', {'aria-label': t('camera.which'), onchange: event => use(event.target.value)}, found.map((one, at) => h('option', {value: one.deviceId, selected: one.deviceId === now}, called(one, at)))));
  }

  /* ---------- taking photos ---------- */
  async function snap() {
    const burst = state.burst, {videoWidth: width, videoHeight: height} = video;
    if (!width) return;
    const scale = Math.min(1, SIDE / Math.max(width, height)), canvas = h('canvas', {width: Math.round(width * scale), height: Math.round(height * scale)});
    canvas.getContext('2d').drawImage(video, 0, 0, canvas.width, canvas.height);  // as the camera sees it: only the preview is mirrored
    const at = ++state.taken;
    state.inBurst++;
    const blob = await new Promise(done => canvas.toBlob(done, 'image/jpeg', .92));
    const file = new File([blob], `camera-${burst.name}-${String(at).padStart(4, '0')}.jpg`, {type: 'image/jpeg'}), url = URL.createObjectURL(blob);
    state.urls.push(url);
    strip.prepend(h('img', {src: url, alt: ''}));
    while (strip.children.length > SHOWN) strip.lastElementChild.remove();
    take(file, burst.id);
    if (one) return box.close();
    said.textContent = count('camera.taken', state.taken);
  }

  const press = () => {
    if (state.burst || shoot.disabled) return;
    state.burst = newBurst(); state.inBurst = 0;
    frame.classList.add('recording'); shoot.setAttribute('aria-pressed', 'true');
    snap();
    if (one) return;
    state.timer = setInterval(() => { if (state.inBurst >= MOST) { release(); said.textContent = t('camera.full', {n: MOST}); } else snap(); }, EVERY);
  };
  function release() { clearInterval(state.timer); state.burst = null; frame.classList.remove('recording'); if (!one) shoot.removeAttribute('aria-pressed'); }
  shoot.addEventListener('pointerdown', event => { if (event.button === 0) { event.preventDefault(); shoot.focus(); shoot.setPointerCapture?.(event.pointerId); press(); } });
  for (const what of ['pointerup', 'pointercancel', 'lostpointercapture', 'blur']) shoot.addEventListener(what, release);
  shoot.addEventListener('keydown', event => { if (event.key === ' ' || event.key === 'Enter') { event.preventDefault(); if (!event.repeat) press(); } });
  shoot.addEventListener('keyup', event => { if (event.key === ' ' || event.key === 'Enter') { event.preventDefault(); release(); } });
  shoot.addEventListener('contextmenu', event => event.preventDefault());  // a long press is no menu here
  shoot.addEventListener('click', event => { if (event.detail === 0 && !event.pointerType && !state.burst) { press(); release(); } });  // a click made by a reader of screens is one photo
  document.addEventListener('visibilitychange', release);

  document.body.append(box);
  box.showModal();
  begin();
  return box;
}

/** {id, name}: a mark for the photos of one press, and a name by the clock, so that they sort by time. */
function newBurst() {
  const now = new Date(), two = value => String(value).padStart(2, '0');
  return {id: [...crypto.getRandomValues(new Uint8Array(8))].map(byte => byte.toString(16).padStart(2, '0')).join(''),
    name: `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}-${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`};
}
