/**
 * The viewer of the REST reference: Swagger UI, served from this machine, with the OpenAPI document. The package is the fastify
 * project's copy of its files; the maker's own package reports every installation to a third party.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export interface ViewerFile {
  readonly name: string;
  readonly contentType: string;
  read(): Promise<Buffer | string>;
}

// The viewer writes styles into its elements; scripts come from our own files only.
export const VIEWER_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const FOLDER = fileURLToPath(new URL('static', import.meta.resolve('@fastify/swagger-ui/package.json')));

/**
 * Without script the plain page stays. References are resolved within the document: the viewer's own resolver reads all of it
 * again for every operation that is opened, which takes seconds.
 */
const START = `const at = (document, names) => names.reduce((part, name) => part?.[name], document);
const follow = (document, part, above = []) => {
  if (typeof part !== 'object' || part === null) return part;
  if (Array.isArray(part)) return part.map((each) => follow(document, each, above));
  const { $ref: reference, ...own } = part;
  if (typeof reference !== 'string')
    return Object.fromEntries(Object.entries(part).map(([key, each]) => [key, follow(document, each, above)]));
  if (above.includes(reference)) return part;
  const names = reference.slice('#/'.length).split('/');
  return { ...follow(document, at(document, names), [...above, reference]), ...own, $$ref: reference };
};
const resolveSubtree = async (document, path) => ({ spec: follow(document, at(document, path)), errors: [] });

addEventListener('DOMContentLoaded', () => {
  if (typeof SwaggerUIBundle !== 'function') return;
  SwaggerUIBundle({
    url: document.getElementById('viewer').dataset.document,
    dom_id: '#viewer',
    deepLinking: true,
    docExpansion: 'list',
    filter: true,
    validatorUrl: null,
    plugins: [() => ({ fn: { resolveSubtree } })],
    onComplete: () => document.body.classList.add('viewed'),
  });
});
`;

/** The files of the viewer, to be served below the reference's own path. */
export const viewerFiles: readonly ViewerFile[] = [
  file('swagger-ui.css', 'text/css; charset=utf-8'),
  file('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
  { name: 'viewer.js', contentType: 'text/javascript; charset=utf-8', read: () => Promise.resolve(START) },
];

/** Head elements of the page. Addresses are relative: the installation may be below a path. */
export function viewerHead(folder: string): string {
  return `
<style>
.viewed{max-width:90rem}
.viewed #plain{display:none}
</style>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${folder}/swagger-ui.css">
<script src="${folder}/swagger-ui-bundle.js" defer></script>
<script src="${folder}/viewer.js" defer></script>`;
}

function file(name: string, contentType: string): ViewerFile {
  return { name, contentType, read: () => readFile(path.join(FOLDER, name)) };
}
