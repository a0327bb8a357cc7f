/**
 * Each noun defines its fields once, in `<noun>-fields.ts`: name, column, type, and the check of those that callers give. Lists
 * for INSERT, UPDATE and SELECT are made from that table here, so a new field is one line.
 */
import type { z } from 'zod';
import { join, raw, sql, Sql } from './database.ts';
import type { Column, RowOf, ValueOf } from './row.ts';

export interface Field {
  readonly column: string;
  readonly type: Column;
  /** The check of a value that callers give; absent: callers do not give it. */
  readonly check?: z.ZodType;
}
export type Fields = Readonly<Record<string, Field>>;

type ColumnsOf<F extends Fields> = { readonly [Name in keyof F]: F[Name]['type'] };
/** What is read. */
export type RowOfFields<F extends Fields> = RowOf<ColumnsOf<F>>;
/** What may be written, also as an expression: undefined changes nothing, null clears. */
export type ValuesOf<F extends Fields> = { readonly [Name in keyof F]?: ValueOf<F[Name]['type']> | Sql | undefined };
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

/** The columns of a statement that selects `selectList` of the same fields. */
export function columnsOf<F extends Fields>(fields: F): ColumnsOf<F>;
export function columnsOf(fields: Fields): Record<string, Column> {
  return Object.fromEntries(Object.entries(fields).map(([name, { type }]) => [name, type]));
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
    const isText = field.type.startsWith('json') && value !== null && !(value instanceof Sql);
    return [{ column: raw(field.column), value: isText ? JSON.stringify(value) : value }];
  });
}
