/** Many rows of every noun, made from the one a world has: for the tests that compare a short page with a long one. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { raw, sql } from '../../src/db/database.ts';
import type { RestApp } from './rest-app.ts';

interface Column {
  readonly table: string;
  readonly name: string;
  readonly default: string | null;
  readonly isGenerated: boolean;
}

/** What must differ from row to row; every other column is copied. */
const FRESH: Readonly<Record<string, string>> = {
  uid: 'substr(md5(random()::text || n), 1, 13)',
  email: "'clone' || n || '-' || substr(md5(random()::text), 1, 8) || '@person.example'",
  email_key: "'clone' || n || '-' || substr(md5(random()::text), 1, 8) || '@person.example'",
  digest: "decode(md5(random()::text || n), 'hex')",
  tag: "'TAG_' || upper(substr(md5(random()::text), 1, 12))",
  name_key: 'substr(md5(random()::text || n), 1, 13)',
};

/**
 * Copies the customer's first row of every table that has an id of its own, `copies` times. Tables that allow one row
 * only stay as they are. Answers the tables that grew.
 */
export async function cloneEverything(app: RestApp, customerId: bigint, copies: number): Promise<string[]> {
  const { db } = app.ctx;
  const columns = await queryRows<{ table: string; name: string; default: string | null; isGenerated: boolean }>(
    db,
    sql`
    SELECT c.table_name AS table, c.column_name AS name, c.column_default AS default,
           c.is_generated = 'ALWAYS' AS "isGenerated"
      FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
     WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' ORDER BY c.ordinal_position`,
  );
  const grown: string[] = [];
  for (const [table, own] of Map.groupBy(columns, (column) => column.table)) {
    if (await grow(app, { table, columns: own, customerId, copies })) grown.push(table);
  }
  return grown;
}

interface Growth {
  readonly table: string;
  readonly columns: readonly Column[];
  readonly customerId: bigint;
  readonly copies: number;
}

async function grow(app: RestApp, { table, columns, customerId, copies }: Growth): Promise<boolean> {
  const names = new Set(columns.map(({ name }) => name));
  if (!names.has('id') || !(names.has('customer_id') || names.has('uid')) || table === 'customer') return false;
  const written = columns.filter(({ name, isGenerated }) => name !== 'id' && !isGenerated);
  const values = written.map(({ name }) => FRESH[name] ?? `r.${name}`).join(', ');
  const mine = names.has('customer_id') ? sql`WHERE customer_id = ${customerId}` : sql``;
  const into = written.map(({ name }) => `"${name}"`).join(', ');
  return app.ctx.db
    .execute(
      sql`INSERT INTO ${raw(`"${table}"`)} (${raw(into)})
          SELECT ${raw(values)} FROM (SELECT * FROM ${raw(`"${table}"`)} ${mine} ORDER BY id LIMIT 1) r,
                 generate_series(1, ${copies}::int) n
          ON CONFLICT DO NOTHING`,
    )
    .then((rows) => rows >= copies)
    .catch(() => false);
}
