/** A database on which every statement is rolled back: for calls that only look for faults. */
import { sql, type Database, type Queryable, type Transaction } from './database.ts';

/** Statements run as they would, one by one, and change nothing. */
export function rolledBack(database: Database): Queryable {
  const run = <T>(work: (tx: Transaction) => Promise<T>) =>
    database.transaction(async (tx) => {
      await tx.execute(sql`SAVEPOINT before_statement`);
      const result = await work(tx);
      await tx.execute(sql`ROLLBACK TO SAVEPOINT before_statement`);
      return result;
    });
  return {
    query: (columns, statement, name) => run((tx) => tx.query(columns, statement, name)),
    execute: (statement, name) => run((tx) => tx.execute(statement, name)),
    readBytes: (select) => run((tx) => tx.readBytes(select)),
  };
}
