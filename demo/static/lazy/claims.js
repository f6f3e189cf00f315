/* The table of claims in Compare: what papers say, what recorded runs found, and whether it holds here. Computed in Python. */
import {get} from '../api.js';
import {h} from '../dom.js';
import {lang, t} from '../i18n.js';

const paperLink = name => name.startsWith('arXiv:') ? h('a', {href: `https://arxiv.org/abs/${name.slice(6)}`, target: '_blank', rel: 'noopener noreferrer'}, name) : name;

/** Fills `box` once with the table. */
export async function drawClaims(box) {
  const rows = await get(`claims?${new URLSearchParams({lang})}`);
  box.replaceChildren(h('div.scroll', {}, h('table.claims', {}, h('caption.hidden', {}, t('claims.title')),
    h('thead', {}, h('tr', {}, ['claim', 'found', 'verdict'].map(name => h('th', {scope: 'col'}, t(`claims.${name}`))))),
    h('tbody', {}, rows.map(row => h('tr', {dataset: {verdict: row.verdict}}, h('th', {scope: 'row'}, row.claim, ' ', h('span.sub', {}, paperLink(row.paper))), h('td', {}, row.found), h('td.verdict', {}, row.said)))))));
}
