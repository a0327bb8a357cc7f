/** Heartbeats of the installation's processes, and reading them. */
import { sql, row, type Queryable } from '../../db/database.ts';
import { GONE_SECONDS } from '../../lib/process-id.ts';

export interface ProcessState {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly roles: readonly string[];
  readonly version: string;
  readonly memoryMb: number;
  readonly isWorking: boolean;
}

/** Registers the process; returns the time by the database's clock. */
export async function enterProcess(db: Queryable, state: ProcessState): Promise<Date> {
  const { id, host, pid, roles, version, memoryMb, isWorking } = state;
  const [row] = await db.query(
    { seenAt: 'timestamptz' },
    sql`INSERT INTO hot.process (id, host, pid, roles, version, memory_mb, is_working)
        VALUES (${id}::uuid, ${host}, ${pid}::int, ${roles}::text[], ${version}, ${memoryMb}::int, ${isWorking})
        ON CONFLICT (id) DO UPDATE SET seen_at = now() RETURNING seen_at AS "seenAt"`,
  );
  return row?.seenAt ?? new Date();
}

/** Records a heartbeat; returns its time, or undefined when the database does not know this process. */
export async function signOfLife(db: Queryable, { id, memoryMb, isWorking }: ProcessState): Promise<Date | undefined> {
  const [row] = await db.query(
    { seenAt: 'timestamptz' },
    sql`UPDATE hot.process
           SET seen_since = CASE WHEN seen_at > now() - make_interval(secs => ${GONE_SECONDS}) THEN seen_since ELSE now() END,
               seen_at = now(), memory_mb = ${memoryMb}::int, is_working = ${isWorking}
         WHERE id = ${id}::uuid RETURNING seen_at AS "seenAt"`,
    'installation.sign-of-life',
  );
  return row?.seenAt;
}

/** Records that the process works no more. */
export async function leaveProcess(db: Queryable, id: string): Promise<void> {
  await db.execute(
    sql`UPDATE hot.process SET seen_at = now(), seen_since = NULL, is_working = false WHERE id = ${id}::uuid`,
    'installation.leave',
  );
}

/** Deletes processes that have been gone for a day; the newest heartbeat stays, whatever its age. */
export async function deleteOldProcesses(db: Queryable): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.process WHERE seen_at < now() - interval '1 day' AND seen_at < (SELECT max(seen_at) FROM hot.process)`,
  );
}

export interface SeenProcess extends Omit<ProcessState, 'id'> {
  readonly startedAt: Date;
  readonly seenAt: Date;
}

const PROCESS_ROW = row({
  startedAt: 'timestamptz',
  seenAt: 'timestamptz',
  host: 'text',
  pid: 'int',
  roles: 'text[]',
  version: 'text',
  memoryMb: 'int',
  isWorking: 'bool',
});

/** A process without a heartbeat for so long does not count as alive: five heartbeats. */
export const ALIVE_SECONDS = 15;

/** Processes with a heartbeat in the last minute, or in so many seconds. */
export function livingProcesses(db: Queryable, seconds = 60): Promise<SeenProcess[]> {
  return db.query(
    PROCESS_ROW,
    sql`SELECT host, pid, roles, version, memory_mb AS "memoryMb", is_working AS "isWorking", started_at AS "startedAt", seen_at AS "seenAt"
          FROM hot.process WHERE seen_at > now() - make_interval(secs => ${seconds}::float8) ORDER BY started_at, id LIMIT 1000`,
  );
}
