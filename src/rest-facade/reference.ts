/**
 * The REST reference as a page, made from the rows: a plain table without script, which scripts replace by the viewer of the
 * OpenAPI document.
 */
import { escapeHtml } from '../lib/html.ts';
import { htmlPage } from '../lib/html-page.ts';
import { parametersOf, type RowParameter } from './row-parameters.ts';
import { viewerHead } from './reference-viewer.ts';
import type { Row, View } from './row.ts';

const KIND = {
  text: '',
  integer: 'number',
  flag: 'flag',
  time: 'time',
  object: 'object',
  file: 'file',
  any: '',
} as const;
const ACCESS = { public: 'nobody needs a token', token: 'token', admin: 'token of an administrator' } as const;

export interface ReferenceOptions {
  readonly rows: readonly Row[];
  /** The prefix of all rows: `/api/v1`. */
  readonly prefix: string;
  readonly product: View['product'];
  /** The path of the viewer's files relative to the page: `docs`. */
  readonly folder: string;
}

/** The page as HTML. */
export async function restReference({ rows, prefix, product, folder }: ReferenceOptions): Promise<string> {
  const lines = await Promise.all(rows.map((row) => lineOf(row, prefix)));
  const title = `${product.name} ${product.version}: REST reference`;
  // Relative, like all addresses of the page: the installation may be below a path.
  const document = `${prefix.slice(1)}/openapi.json`;
  return htmlPage(
    title,
    `<div id="viewer" data-document="${escapeHtml(document)}"></div>
<div id="plain">
<h1>${escapeHtml(title)}</h1>
${introduction(product.baseUrl + prefix)}
<p>As a document for programs: <a href="${escapeHtml(document)}">OpenAPI 3.1</a>. Everything here can be done <a href="${folder}/graphql">in GraphQL</a> too.</p>
<table>
<thead><tr><th>Method</th><th>Path</th><th>What it does</th><th>Parameters</th><th>Needs</th></tr></thead>
<tbody>
${lines.join('\n')}
</tbody>
</table>
</div>`,
    viewerHead(folder),
  );
}

function introduction(apiUrl: string): string {
  return `<p>Every address begins with <code>${escapeHtml(apiUrl)}</code>. Send the token as <code>Authorization: Bearer …</code>, or as the parameter <code>api_token</code>.</p>
<p>Parameters may come in the query, as JSON, as a form or as multipart, on every method; <code>contact[company]</code> nests in all of them. A list answers in pages: <code>page</code>, <code>per_page</code> (at most 1000). Times are UTC, <code>YYYY-MM-DD HH:MM:SS</code>. Flags may be written 1/0, true/false, yes/no, on/off.</p>
<p>A refusal has a <code>message</code>; a 422 also has <code>errors</code>, from parameter to sentences. Older clients send <code>X-Api-Dialect: classic</code>: lists are bare arrays then, and a create answers 200.</p>`;
}

async function lineOf(row: Row, prefix: string): Promise<string> {
  const methods = [row.method].flat().join(', ');
  const path = row.path === '/' ? prefix : prefix + row.path;
  const parameters = (await parametersOf(row)).map((one) => parameterText(one, row.required ?? [])).join(', ');
  const cells = [`<code>${escapeHtml(path)}</code>`, escapeHtml(row.summary), parameters, ACCESS[row.access]];
  return `<tr><td>${methods}</td>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
}

function parameterText({ names, kind }: RowParameter, required: readonly string[]): string {
  const spellings = names.map((name) => `<code>${escapeHtml(name)}</code>`).join(' or ');
  const words = [KIND[kind], required.includes(names[0] ?? '') ? 'required' : ''].filter((word) => word !== '');
  return words.length === 0 ? spellings : `${spellings} (${words.join(', ')})`;
}
