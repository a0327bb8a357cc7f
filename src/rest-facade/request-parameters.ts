/**
 * The parameters of a request (decision D3): query string and body of any type become one tree of plain values. Names with
 * brackets nest (`contact[company]`, `tag[]`), also in JSON keys; later values win. Everything has a limit, and what a database
 * cannot store is refused here.
 */
import { invalid } from './errors.ts';

export type ParameterValue = string | number | boolean | null | readonly ParameterValue[] | RequestParameters;
/** Without a prototype: `constructor` is a name like any other. */
export interface RequestParameters {
  readonly [name: string]: ParameterValue;
}

/** One parameter of a query or a body: its name, perhaps with brackets, and its value. */
export type Parameter = readonly [name: string, value: unknown];

// Far above any form; each takes memory and time before the caller is authenticated.
export const PARAMETERS_MAX = 5_000;
// `a[b][c][d]` is deeper than anything documented.
const DEPTH_MAX = 8;
/** Of a value in a JSON body: a flow with a segment's rule in its conditions has 38 levels. */
const VALUE_DEPTH_MAX = 44;
export const NAME_LENGTH_MAX = 200;
/** With brackets: every step at its longest. */
const PATH_LENGTH_MAX = DEPTH_MAX * (NAME_LENGTH_MAX + 2);
const BRACKETS = /^([^[\]]+)((?:\[[^[\]]*\])+)$/;

interface Branch {
  readonly children: Map<string, Node>;
  /** Made by brackets: children numbered 0, 1, 2 are a list. */
  readonly listable: boolean;
}
type Leaf = string | number | boolean | null | readonly ParameterValue[];
type Node = Branch | Leaf;

/** Merges the parameters in their order: a later one replaces an earlier one of the same name, trees are merged. */
export function mergeParameters(parameters: Iterable<Parameter>): RequestParameters {
  const root: Branch = { children: new Map(), listable: false };
  const count = counter();
  for (const [name, value] of parameters) {
    const path = pathOf(name);
    if (path.length > DEPTH_MAX) throw tooDeep(name, DEPTH_MAX);
    const parent = path.slice(0, -1).reduce((branch, step) => branchAt(branch, step, true), root);
    const last = path.at(-1) ?? '';
    place(parent, last === '' ? String(parent.children.size) : last, { value, depth: path.length, count, name });
  }
  return objectOf(root);
}

interface Placed {
  readonly value: unknown;
  readonly depth: number;
  readonly count: () => void;
  /** The parameter as the client named it, for messages. */
  readonly name: string;
}

function place(parent: Branch, key: string, placed: Placed): void {
  checkName(key);
  const { value, depth, count, name } = placed;
  if (isPlainObject(value)) {
    if (depth >= VALUE_DEPTH_MAX) throw tooDeep(name, VALUE_DEPTH_MAX);
    const branch = branchAt(parent, key, false);
    for (const [child, inner] of Object.entries(value))
      place(branch, child, { ...placed, value: inner, depth: depth + 1 });
    return;
  }
  parent.children.set(key, leafOf({ value, depth, count, name }));
}

function leafOf(placed: Placed): Leaf {
  const { value, depth, count, name } = placed;
  count();
  if (Array.isArray(value)) {
    if (depth >= VALUE_DEPTH_MAX) throw tooDeep(name, VALUE_DEPTH_MAX);
    return value.map((item: unknown) => {
      const holder: Branch = { children: new Map(), listable: false };
      place(holder, 'item', { ...placed, value: item, depth: depth + 1 });
      return objectOf(holder)['item'] ?? null;
    });
  }
  if (typeof value === 'string') return checkedText(name, value);
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  throw invalid({ [name]: ['This value cannot be read.'] });
}

/** The branch under `key`; it replaces a plain value there. */
function branchAt(parent: Branch, key: string, listable: boolean): Branch {
  checkName(key);
  const name = key === '' ? String(parent.children.size) : key;
  const present = parent.children.get(name);
  if (isBranch(present)) return present;
  const branch: Branch = { children: new Map(), listable };
  parent.children.set(name, branch);
  return branch;
}

function objectOf(branch: Branch): RequestParameters {
  const object: Record<string, ParameterValue> = Object.create(null);
  for (const [key, node] of branch.children) {
    // Safe here, but not in a copy made with Object.assign.
    if (key !== '__proto__') object[key] = valueOf(node);
  }
  return object;
}

function valueOf(node: Node): ParameterValue {
  if (!isBranch(node)) return node;
  const isList =
    node.listable && node.children.size > 0 && [...node.children.keys()].every((key, index) => key === String(index));
  return isList ? [...node.children.values()].map(valueOf) : objectOf(node);
}

function pathOf(name: string): readonly string[] {
  // Before any regular expression: one that repeats a group overflows the stack on a name of megabytes.
  if (name.length > PATH_LENGTH_MAX) throw name.includes('[') ? tooDeep(name, DEPTH_MAX) : wrongName();
  const match = BRACKETS.exec(name);
  const [, head, brackets] = match ?? [];
  if (head === undefined || brackets === undefined) return [name];
  return [head, ...brackets.slice(1, -1).split('][')];
}

function checkName(name: string): void {
  if (name.length <= NAME_LENGTH_MAX && name.isWellFormed() && !name.includes('\0')) return;
  throw wrongName();
}

function wrongName() {
  return invalid({ input: [`A parameter's name may have ${NAME_LENGTH_MAX} characters and no NUL.`] });
}

function checkedText(name: string, text: string): string {
  // An invalid token only reaches a digest, and gets a 401.
  if (name === 'api_token') return text;
  if (!text.includes('\0') && text.isWellFormed()) return text;
  throw invalid({ [name]: ['The text contains characters that cannot be stored (NUL, or half of a surrogate pair).'] });
}

function counter(): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count > PARAMETERS_MAX) throw tooManyParameters();
  };
}

/** Also thrown where parameters are counted before parsing. */
export function tooManyParameters() {
  return invalid({ input: [`A request may have ${PARAMETERS_MAX} parameters.`] });
}

function tooDeep(name: string, max: number) {
  return invalid({ [name.slice(0, NAME_LENGTH_MAX)]: [`Parameters may be nested ${max} deep.`] });
}

function isBranch(node: Node | undefined): node is Branch {
  return typeof node === 'object' && node !== null && 'children' in node && node.children instanceof Map;
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
