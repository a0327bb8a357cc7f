/** Sends the values of a row as its method takes them: in the query, as JSON, or as a form with a file. */
import type { Row } from '../../src/rest-facade/row.ts';
import { pluginArchive } from './plugin-archive.ts';
import type { RestAnswer, RestApp } from './rest-app.ts';
import { pathIn, type World } from './rest-world.ts';

/** Sets `contact[company]` as a nested object would have it. */
export function bodyOf(values: Iterable<readonly [name: string, value: unknown]>): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, value] of values) {
    const [head = '', inner] = name.replace(/\]$/, '').split('[');
    if (inner === undefined) body[head] = value;
    else body[head] = { ...(typeof body[head] === 'object' ? body[head] : {}), [inner]: value };
  }
  return body;
}

export interface RowRequest {
  readonly world: World;
  readonly values: Iterable<readonly [name: string, value: unknown]>;
  /** Instead of the path that is right in this world. */
  readonly path?: string;
  /** Instead of the token of whoever may do it. */
  readonly token?: string | null;
}

/** By its first bytes. */
const PICTURE = new Uint8Array(Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'));

// A request line cannot carry a megabyte.
const QUERY_VALUE_LENGTH_MAX = 50_000;

/** Asks a row as its method wants it: in the query, as JSON, or as a form with a file. */
export function requestRow(
  app: RestApp,
  { row, method, world, values, path, token: given }: RowRequest & { readonly row: Row; readonly method: string },
): Promise<RestAnswer> {
  const address = path ?? pathIn(world, row.path);
  const token = given === undefined ? (row.access === 'admin' ? app.adminToken : world.token) : given;
  if (row.takesFile) return app.rest(address, { method, token, body: formOf(row, values) });
  if (method !== 'GET') return app.rest(address, { method, token, body: bodyOf(values) });
  const query = new URLSearchParams();
  for (const [name, text] of flat(values)) query.append(name, text.slice(0, QUERY_VALUE_LENGTH_MAX));
  return app.rest(`${address}?${query}`, { token });
}

function formOf({ path }: Row, values: RowRequest['values']): FormData {
  const form = new FormData();
  for (const [name, text] of flat(values)) form.append(name, text);
  if (['/me', '/customers/:uid'].includes(path)) form.append('image', new Blob([PICTURE]), 'portrait.png');
  else if (path === '/plugins/install')
    form.append('file', new Blob([new Uint8Array(pluginArchive('acme/installed'))]), 'plugin.tgz');
  else form.append('file', new Blob(['EMAIL,FIRST_NAME\r\nnew@person.example,New\r\n']), 'people.csv');
  return form;
}

function flat(values: RowRequest['values']): [string, string][] {
  return [...values].flatMap(([name, value]): [string, string][] => {
    if (value === undefined) return [];
    if (Array.isArray(value)) return [[`${name}[]`, String(value[0])]];
    if (typeof value !== 'object' || value === null)
      return [[name, typeof value === 'string' ? value : JSON.stringify(value)]];
    return Object.entries(value).map(([key, inner]) => [`${name}[${key}]`, typeof inner === 'string' ? inner : '1']);
  });
}
