/* Our routes, all relative: the lab may live under a sub-path. Errors arrive as {problem: {code, values, sentence}}. */
export class Problem extends Error {
  constructor(problem, status) { super(problem.code); this.problem = problem; this.status = status; }
}

async function call(path, options = {}) {
  let answer;
  try { answer = await fetch(path, options); } catch { throw new Problem({code: 'server_away', values: {}}, 0); }
  if (answer.status === 304) return null;
  let body = null;
  try { body = await answer.json(); } catch { body = null; }
  if (!answer.ok) throw new Problem(body?.problem ?? {code: 'server_error', values: {status: answer.status}}, answer.status);
  return Object.defineProperty(body ?? {}, 'httpStatus', {value: answer.status, enumerable: false});
}

const json = data => ({method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(data)});
export const get = path => call(path);
export const post = (path, data = {}) => call(path, json(data));
export const send = (path, blob) => call(path, {method: 'POST', headers: {'content-type': 'application/octet-stream'}, body: blob});
/** A photo of a project; a starter pack's pictures have one size. */
export const photoUrl = (project, sha, size = 'thumb') => project?.startsWith('pack:') ? `packs/${project.slice(5)}/photos/${sha}` : `projects/${project}/photos/${sha}?size=${size}`;
