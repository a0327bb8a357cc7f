/** For processes that tests kill: this one kills itself a moment after so many statements, because whoever watches from outside might come late. */
import pg from 'pg';

/** So that it is also killed between statements. */
const MOMENT_MS = 5;

export function dieAfterStatements(statements: number, momentMs = MOMENT_MS): void {
  let asked = 0;
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function counted(this: pg.Client, ...args: unknown[]) {
    asked += 1;
    if (asked === statements) setTimeout(() => process.kill(process.pid, 'SIGKILL'), Math.random() * momentMs);
    return Reflect.apply(query, this, args);
  } as typeof query;
}
