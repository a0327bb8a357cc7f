/** The tests look at every statement that runs (test/support/check-statements.ts). In production nobody observes them. */
import type { QueryResult } from 'pg';
import type { Columns } from './row.ts';

export interface Statement {
  readonly text: string;
}

/** Called before a statement runs; what it returns is called with the result. */
export type StatementObserver = (
  statement: Statement,
  columns?: Columns,
) => ((result: QueryResult) => void) | undefined;

let observer: StatementObserver | undefined;

export function observeStatements(given: StatementObserver): void {
  observer = given;
}

export function observe(statement: Statement, columns?: Columns): ((result: QueryResult) => void) | undefined {
  return observer?.(statement, columns);
}
