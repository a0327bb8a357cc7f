/** How a line of the contract's table is written. */
import type { Access, Method } from '../../src/rest-facade/row.ts';

/** What stands at the top of a successful answer. */
export type TopLevel =
  /** An object of exactly these names. */
  | { readonly kind: 'object'; readonly names: readonly string[] }
  /** `{data, links, meta}`, in the classic dialect a bare array. */
  | { readonly kind: 'index' }
  /** A bare array in both dialects. */
  | { readonly kind: 'array' }
  /** A CSV download. */
  | { readonly kind: 'csv' }
  /** A download in JSON, which begins as it likes. */
  | { readonly kind: 'json download' }
  /** By what was asked; the usual one first. */
  | { readonly kind: 'one of'; readonly choices: readonly TopLevel[] };

export interface ContractLine {
  readonly section: string;
  readonly method: Method;
  readonly path: string;
  readonly access: Access;
  /** 201: a create, which the classic dialect answers with 200. 202: done afterwards. */
  readonly status: 200 | 201 | 202;
  readonly answers: TopLevel;
}

export const object = (...names: readonly string[]): TopLevel => ({ kind: 'object', names: names.toSorted() });
/** The action result of 2.12, with what was acted on. */
export const action = (...names: readonly string[]): TopLevel => object('status', 'message', ...names);
export const index: TopLevel = { kind: 'index' };
export const array: TopLevel = { kind: 'array' };
export const csv: TopLevel = { kind: 'csv' };
export type Cells = readonly [method: Method, path: string, access: Access, status: 200 | 201 | 202, answers: TopLevel];

/** Lines of one section. */
export function section(name: string, ...lines: readonly Cells[]): ContractLine[] {
  return lines.map(([method, path, access, status, answers]) => ({
    section: name,
    method,
    path,
    access,
    status,
    answers,
  }));
}
