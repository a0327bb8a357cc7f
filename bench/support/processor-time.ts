/** What processes have cost so far, as Linux counts it. */
import { readFileSync } from 'node:fs';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Queryable } from '../../src/db/database.ts';

/** Linux counts in hundredths of a second. */
const TICK_MS = 10;

/** Milliseconds of processor time of one process. */
export function cpuMsOf(pid: number): number {
  const [user = 0, system = 0] = fieldsOf(pid).slice(11, 13);
  return (user + system) * TICK_MS;
}

/** The process that started this database's others. */
export async function postmasterOf(database: Queryable): Promise<number> {
  const [row] = await queryRows<{ pid: number }>(database, sql`SELECT pg_backend_pid() AS pid`);
  return fieldsOf(row?.pid ?? 0)[1] ?? 0;
}

/** Milliseconds of a process and everything it has started, ended or not. */
export function cpuMsOfAll(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  const own =
    fieldsOf(pid)
      .slice(11, 15)
      .reduce((sum, ticks) => sum + ticks, 0) * TICK_MS;
  return children.reduce((sum, child) => sum + ofOne(child), own);
}

/** A child may end between the list and the look: then its parent counts it. */
function ofOne(pid: number): number {
  try {
    return cpuMsOf(pid);
  } catch {
    return 0;
  }
}

/** From the third field of /proc/<pid>/stat on: the name before them may hold anything. */
function fieldsOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
}
