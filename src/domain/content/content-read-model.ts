/** Reads the html and plain text of many campaigns or templates, up to a limit in bytes; and the size of their html. */
import { sql, type Queryable } from '../../db/database.ts';

export interface Content {
  readonly id: bigint;
  readonly html: string;
  readonly plain: string;
}

export interface Contents {
  /** Of all asked rows together. */
  readonly bytes: number;
  /** Null: they are larger than the limit, and none was read. */
  readonly contents: readonly Content[] | null;
}

/** The tables whose rows have html and plain text. */
const TABLES = { campaign: sql`campaign`, template: sql`template` };
export type ContentTable = keyof typeof TABLES;

export interface ContentKey {
  readonly table: ContentTable;
  readonly customerId: bigint;
  readonly ids: readonly bigint[];
}

/** The contents of these rows of one customer, if they have at most `bytesMax` bytes together. */
export async function readContents(
  db: Queryable,
  { table, customerId, ids, bytesMax }: ContentKey & { bytesMax: number },
): Promise<Contents> {
  // The length of a value outside of the row is known without reading the value.
  const rows = await db.query(
    { id: 'bigint', bytes: 'float8', html: 'text?', plain: 'text?' },
    sql`SELECT id, bytes, CASE WHEN bytes <= ${bytesMax}::float8 THEN html END AS html, CASE WHEN bytes <= ${bytesMax}::float8 THEN plain END AS plain
          FROM (SELECT id, html, plain, sum(octet_length(html)::float8 + octet_length(plain)) OVER () AS bytes
                  FROM ${TABLES[table]} WHERE customer_id = ${customerId} AND id = ANY(${ids}::bigint[])) c`,
  );
  const contents: Content[] = [];
  for (const { id, html, plain } of rows) if (html !== null && plain !== null) contents.push({ id, html, plain });
  return { bytes: rows[0]?.bytes ?? 0, contents: contents.length === rows.length ? contents : null };
}

/** The size of their html in bytes, in the order of the ids; 0 for one that is gone. */
export async function htmlSizes(db: Queryable, { table, customerId, ids }: ContentKey): Promise<number[]> {
  const rows = await db.query(
    { id: 'bigint', bytes: 'int' },
    sql`SELECT id, octet_length(html) AS bytes FROM ${TABLES[table]} WHERE customer_id = ${customerId} AND id = ANY(${ids}::bigint[])`,
  );
  const sizes = new Map(rows.map(({ id, bytes }) => [id, bytes]));
  return ids.map((id) => sizes.get(id) ?? 0);
}
