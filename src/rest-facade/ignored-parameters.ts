/**
 * Nothing is dropped in silence (decision D53): names that a row does not know are refused by an index of the standard dialect,
 * and told by every other answer: in a header, and by rows that write in the body, too.
 */
import type { Dialect } from './dialects.ts';
import type { Input, NameTree } from './input.ts';
import { fromJsonText } from './json-text.ts';
import type { ParameterValue, RequestParameters } from './request-parameters.ts';
import type { Row } from './row.ts';
import type { Declaration } from './row-parameters.ts';

export const IGNORED_HEADER = 'X-Ignored-Parameters';
/** Told of one request; a request may have thousands of parameters, and its answer should not. */
export const IGNORED_NAMES_MAX = 100;
/** Of the header: clients and proxies take 8 to 16 KiB of all headers. */
const IGNORED_HEADER_LENGTH_MAX = 2_000;
/** Names that begin so belong to the client: `_=1700000000` of a browser's library, `_method`. */
const FREE_PREFIX = '_';

/** The given names that nobody reads, in their order; `contact.foo` where nested. */
export function unknownNames(
  given: RequestParameters,
  declared: Declaration,
  params: Readonly<Record<string, string | undefined>>,
): string[] {
  const names = unknownIn(given, declared.names, '');
  // Some clients send all they have in the body, that of the path included.
  const repeatsPath = (name: string) => params[name] !== undefined && given[name] === params[name];
  return names.filter((name) => !repeatsPath(name) && !(declared.takesOthers && given[name] !== undefined));
}

function unknownIn(given: RequestParameters, known: NameTree, prefix: string): string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    const inner = known.get(name);
    if (inner === undefined) return [prefix + name];
    const tree = inner.size === 0 ? undefined : objectOf(fromJsonText(name, value));
    return tree ? unknownIn(tree, inner, `${prefix}${name}.`) : [];
  });
}

function objectOf(value: ParameterValue): RequestParameters | undefined {
  return typeof value === 'object' && value !== null && !isList(value) ? value : undefined;
}

function isList(value: ParameterValue): value is readonly ParameterValue[] {
  return Array.isArray(value);
}

/** Whether what the row does not know may be refused. */
export function mayRefuseUnknown(row: Row): boolean {
  return isIndex(row) || row.refusesUnknown === true;
}

/** Refuses what an index does not know, in the dialect that says so, and what a row refuses in both; true: it was refused. */
export function refuseUnknown(input: Input, row: Row, { ignored, declared, dialect }: Filters): boolean {
  const names = reported(ignored);
  const { refusesUnknown = false } = row;
  if (!(refusesUnknown || (isIndex(row) && dialect === 'standard')) || names.length === 0) return false;
  // Of an index the first names are enough: there are many.
  const known = declared.parameters.flatMap(({ names }) => (refusesUnknown ? names : names.slice(0, 1))).join(', ');
  for (const name of names)
    input.refuse(
      name,
      `This ${refusesUnknown ? 'request' : 'index'} does not know the parameter ${name}. It takes: ${known}.`,
    );
  return true;
}

interface Filters {
  readonly ignored: ReadonlySet<string>;
  readonly declared: Declaration;
  readonly dialect: Dialect;
}

/** Whether its parameters are filters, the order and the page. */
export function isIndex({ answers, isIndex: isSaid = false }: Row): boolean {
  return isSaid || answers.kind === 'page';
}

/** Whether the body of its answer names what was ignored; the header does so for all rows. */
export function hasIgnoredInBody({ method, writes = false }: Row): boolean {
  return writes || [method].flat().some((name) => name !== 'GET');
}

/** The header that names them; nothing when there are none. */
export function ignoredHeader(ignored: ReadonlySet<string>): Readonly<Record<string, string>> {
  const names = reported(ignored).map(encodeURIComponent);
  let text = '';
  for (const name of names) {
    const longer = text === '' ? name : `${text}, ${name}`;
    if (longer.length > IGNORED_HEADER_LENGTH_MAX) break;
    text = longer;
  }
  return text === '' ? {} : { [IGNORED_HEADER]: text };
}

/** The body with the names, if it is an object and there are any. */
export function withIgnored(body: unknown, ignored: ReadonlySet<string>): unknown {
  const names = reported(ignored);
  if (names.length === 0 || typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return { ...body, ignored: names };
}

function reported(ignored: ReadonlySet<string>): string[] {
  return [...ignored].filter((name) => !name.startsWith(FREE_PREFIX)).slice(0, IGNORED_NAMES_MAX);
}
