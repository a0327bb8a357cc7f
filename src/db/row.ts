/**
 * The columns of a statement's result: their names and their types in PostgreSQL, written where the statement is written.
 * The type of a row follows from them. Under test every result is compared with them (test/support/check-statements.ts).
 */

/** The column types that statements give, by their names in PostgreSQL, and the type of a value here. */
export interface ColumnTypes {
  readonly bigint: bigint;
  readonly 'bigint[]': readonly bigint[];
  readonly bool: boolean;
  readonly bytea: Buffer;
  /** YYYY-MM-DD. */
  readonly date: string;
  readonly float8: number;
  readonly int: number;
  readonly 'int[]': readonly number[];
  /** json or jsonb, parsed. */
  readonly json: unknown;
  /** An identifier in the system catalogue. */
  readonly name: string;
  readonly smallint: number;
  readonly text: string;
  readonly 'text[]': readonly string[];
  readonly timestamptz: Date;
}

type ColumnType = keyof ColumnTypes;

declare const VALUE: unique symbol;
/** A column type whose values have a narrower type here: made by `typed`. */
export type Typed<Value> = string & { readonly [VALUE]: Value };

/** `text` is never NULL, `text?` may be. */
export type Column = ColumnType | `${ColumnType}?` | Typed<unknown>;

/** By their names in the result. */
export type Columns = Readonly<Record<string, Column>>;

export type ValueOf<Of extends Column> =
  Of extends Typed<infer Value>
    ? Value
    : Of extends ColumnType
      ? ColumnTypes[Of]
      : Of extends `${infer Type extends ColumnType}?`
        ? ColumnTypes[Type] | null
        : never;

/** A row with these columns. */
export type RowOf<Of extends Columns> = { readonly [Name in keyof Of]: ValueOf<Of[Name]> };

/** Columns that have a name of their own, because several statements give them or because they are many. */
export function row<const Of extends Columns>(columns: Of): Of {
  return columns;
}

type TypeThatHolds<Value> = {
  [Type in ColumnType]: Value extends ColumnTypes[Type] ? Type : never;
}[ColumnType];

/** A column with a narrower type than its column type has: one of a few texts, or JSON of a known shape. */
export function typed<Value>(type: TypeThatHolds<Value>): Typed<Value>;
export function typed<Value>(type: `${TypeThatHolds<Value>}?`): Typed<Value | null>;
export function typed(type: string): string {
  return type;
}
