/**
 * How long the server lets a statement run, by its purpose (docs/decisions/0352). A caller who waits for an answer gets an error soon
 * that it takes too long; work in the background may take its time. Migrations and the dropping of months have no limit.
 */
export interface WorkLimits {
  /** One statement, the wait for its locks included. A COPY counts the time in which its rows are made, too. */
  readonly statementMsMax: number;
  /** One wait for a lock that another transaction holds. */
  readonly lockMsMax: number;
  /** A transaction in which nothing is asked: it holds its locks, and its process may never go on. */
  readonly idleMsMax: number;
}

/**
 * Requests. The slowest ones of a full installation take two seconds; those who count segments have 20 seconds of their own
 * (`segment-read-model.ts`), and proxies give up after 60. Locks are held for a second or two by a batch of an import.
 */
export const REQUEST_LIMITS: WorkLimits = { statementMsMax: 30_000, lockMsMax: 10_000, idleMsMax: 60_000 };

/**
 * Jobs, and other work of a process. They work in slices of seconds: only what hangs takes a quarter of an hour. A job
 * that meets a limit is tried again.
 */
export const JOB_LIMITS: WorkLimits = { statementMsMax: 900_000, lockMsMax: 60_000, idleMsMax: 300_000 };
