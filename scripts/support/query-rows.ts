/** Statements of tests and benches, which compare their rows with what they expect. */
import type { Columns, Queryable, Sql } from '../../src/db/database.ts';

/** Says that a result is not compared with columns. */
export const ANY_COLUMNS: Columns = Object.freeze({});

/** The rows of a statement, of whatever type the caller says. */
export async function queryRows<Row = Record<string, unknown>>(
  db: Pick<Queryable, 'query'>,
  statement: Sql,
  name?: string,
): Promise<Row[]> {
  return (await db.query(ANY_COLUMNS, statement, name)) as Row[];
}
