/** A process in which something else happens in the middle of its work. */
import type { Queryable } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';

interface Moment {
  /** The name of the statement. */
  readonly statement: string;
  /** Its first, its second. */
  readonly no: number;
}

/** Does something else just before a statement. */
export function interrupted(ctx: Context, { statement: name, no }: Moment, act: () => Promise<unknown>): Context {
  let count = 0;
  const watch = async (statement: string | undefined) => {
    if (statement !== name) return;
    count += 1;
    if (count === no) await act();
  };
  const watched = <Of extends Queryable>(db: Of): Of => ({
    ...db,
    query: async (columns, statement, named) => (await watch(named), db.query(columns, statement, named)),
    execute: async (statement, named) => (await watch(named), db.execute(statement, named)),
  });
  const database: Context['database'] = {
    ...watched(ctx.database),
    transaction: (work) => ctx.database.transaction((tx) => work(watched(tx))),
  };
  return { ...ctx, db: database, database };
}
