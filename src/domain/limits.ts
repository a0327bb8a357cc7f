/** Sizes and paces an operator may set (src/config), as the domain sees them. */
export interface Limits {
  /** Recipients a sending job takes at once. */
  readonly sendBatchSize: number;
  /** How long a recipient stays with a worker that says nothing more. */
  readonly sendLeaseSeconds: number;
  /** Audience rows written to the ledger in one transaction. */
  readonly snapshotBatchSize: number;
  /** Lines of an import file written in one transaction. */
  readonly importBatchSize: number;
  /** Tries per recipient before a deferral becomes a failure. */
  readonly sendAttemptsMax: number;
  /** Wait before the second try of a deferred recipient; doubles from there. */
  readonly sendRetryDelaySeconds: number;
  /** A campaign pauses when such a share of its latest so many recipients were hard refusals; 0: never. */
  readonly bouncePause: { readonly percent: number; readonly recipients: number };
  /** Largest import file, in bytes. */
  readonly importBytesMax: number;
  /** Largest uploaded file, in bytes; plans may allow less. */
  readonly fileBytesMax: number;
  /** Days a renewal may be paid after its period has begun. */
  readonly billingGraceDays: number;
  /** When a login ends: after so many days without use, and after so many in all (decision D96). */
  readonly sessionDays: SessionDays;
}

export interface SessionDays {
  readonly idle: number;
  readonly inAll: number;
}

/** Of soft bounces that suppress an address. Above it, "never" is meant, and 0 says so. */
export const SOFT_BOUNCE_LIMIT_MAX = 100;
/** What was wrong with a mailbox more than a year ago says nothing about it. */
export const SOFT_BOUNCE_DAYS_MAX = 365;
