/**
 * How long the server lets a statement run, by its purpose (docs/decisions/0352). A caller who waits for an answer gets an error
 * soon; background work may take longer. Migrations and the dropping of months have no limit.
 */
export interface WorkLimits {
  /** One statement, the wait for its locks included. A COPY counts the time in which its rows are made, too. */
  readonly statementMsMax: number;
  /** One wait for a lock that another transaction holds. */
  readonly lockMsMax: number;
  /** A transaction without a statement for this long holds locks, and its process may have stopped. */
  readonly idleMsMax: number;
}

/**
 * Requests. The slowest ones of a full installation take two seconds; counting segments has its own limit of 20 seconds
 * (`segment-read-model.ts`), and proxies give up after 60. A batch of an import holds locks for a second or two.
 */
export const REQUEST_LIMITS: WorkLimits = { statementMsMax: 30_000, lockMsMax: 10_000, idleMsMax: 60_000 };

/**
 * Jobs and other background work. They work in slices of seconds, so only what hangs takes a quarter of an hour. A job that meets
 * a limit is tried again.
 */
export const JOB_LIMITS: WorkLimits = { statementMsMax: 900_000, lockMsMax: 60_000, idleMsMax: 300_000 };
