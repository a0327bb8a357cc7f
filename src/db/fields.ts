/**
 * Each noun defines its fields once, in `<noun>-fields.ts`: name, column, type, and the check of those that callers give. Lists
 * for INSERT, UPDATE and SELECT are made from that table here, so a new field is one line.
 */
import type { z } from 'zod';
import { join, raw, sql, Sql } from './database.ts';

/** How values of a column are written; `value` exists for the compiler only. */
export interface ColumnType<T> {
  readonly isJson?: boolean;
  readonly value?: T;
}

export const text: ColumnType<string> = {};
/** An array of them. */
export const texts: ColumnType<readonly string[]> = {};
export const bool: ColumnType<boolean> = {};
export const int: ColumnType<number> = {};
export const bigint: ColumnType<bigint> = {};
export const time: ColumnType<Date> = {};
export const bytes: ColumnType<Buffer> = {};

/** A text that is one of a few words. */
export function word<T extends string>(): ColumnType<T> {
  return {};
}

export function json<T>(): ColumnType<T> {
  return { isJson: true };
}

export function nullable<T>(type: ColumnType<T>): ColumnType<T | null> {
  return { isJson: type.isJson ?? false };
}

export interface Field {
  readonly column: string;
  readonly type: ColumnType<unknown>;
  /** The check of a value that callers give; absent: callers do not give it. */
  readonly check?: z.ZodType;
}
export type Fields = Readonly<Record<string, Field>>;

type ValueOf<F extends Field> = F['type'] extends ColumnType<infer T> ? T : never;
/** What is read. */
export type RowOf<F extends Fields> = { readonly [Name in keyof F]: ValueOf<F[Name]> };
/** What may be written, also as an expression: undefined changes nothing, null clears. */
export type ValuesOf<F extends Fields> = { readonly [Name in keyof F]?: ValueOf<F[Name]> | Sql | undefined };
type ChecksOf<F extends Fields> = {
  [Name in keyof F as F[Name] extends { check: z.ZodType } ? Name : never]: F[Name] extends { check: infer Check }
    ? Check
    : never;
};

/** The checks of those that callers give, for `z.object`. */
export function checksOf<F extends Fields>(fields: F): ChecksOf<F>;
export function checksOf(fields: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).flatMap(([name, { check }]) => (check ? [[name, check]] : [])));
}

/** `p.list_id AS "listId", …` */
export function selectList(fields: Fields, alias?: string): Sql {
  const prefix = alias === undefined ? '' : `${alias}.`;
  return raw(
    Object.entries(fields)
      .map(([name, { column }]) => `${prefix}${column} AS "${name}"`)
      .join(', '),
  );
}

/** `jsonb_build_object('listId', c.list_id, …)`: a row as one object. */
export function jsonObject(fields: Fields, alias: string): Sql {
  const pairs = Object.entries(fields).map(([name, { column }]) => `'${name}', ${alias}.${column}`);
  return raw(`jsonb_build_object(${pairs.join(', ')})`);
}

/** `list_id = …` for each value that is given; other names than the fields' are passed over. */
export function assignments<F extends Fields>(fields: F, values: ValuesOf<F>): Sql[] {
  return given(fields, values).map(({ column, value }) => sql`${column} = ${value}`);
}

/** `(list_id, …) VALUES (…)` of the values that are given; the others have their default. */
export function insertion<F extends Fields>(fields: F, values: ValuesOf<F>): Sql {
  const columns = given(fields, values);
  return sql`(${join(columns.map(({ column }) => column))}) VALUES (${join(columns.map(({ value }) => value))})`;
}

function given<F extends Fields>(fields: F, values: ValuesOf<F>): { column: Sql; value: unknown }[] {
  return Object.entries<unknown>(values).flatMap(([name, value]) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined || value === undefined) return [];
    const isText = field.type.isJson && value !== null && !(value instanceof Sql);
    return [{ column: raw(field.column), value: isText ? JSON.stringify(value) : value }];
  });
}
