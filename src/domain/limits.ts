/** Limits that an operator may set (src/config), in the domain's form. */
export interface Limits {
  /** Recipients per sending job. */
  readonly sendBatchSize: number;
  /** How long a recipient stays leased to a worker without a renewal. */
  readonly sendLeaseSeconds: number;
  /** Audience rows written to the ledger in one transaction. */
  readonly snapshotBatchSize: number;
  /** Lines of an import file written in one transaction. */
  readonly importBatchSize: number;
  /** Tries per recipient before a deferral becomes a failure. */
  readonly sendAttemptsMax: number;
  /** Wait before the second try of a deferred recipient; doubles from there. */
  readonly sendRetryDelaySeconds: number;
  /** A campaign pauses when such a share of its latest so many recipients were refused as unknown; 0: never. */
  readonly bouncePause: { readonly percent: number; readonly recipients: number };
  /** Largest import file, in bytes. */
  readonly importBytesMax: number;
  /** Largest uploaded file, in bytes; plans may allow less. */
  readonly fileBytesMax: number;
  /** Days in which a renewal may be paid after its period has begun. */
  readonly billingGraceDays: number;
  /** Events from outside that a customer may record within 24 hours; absent or 0: no limit. */
  readonly eventsPerDay?: number;
  /** When a login ends: after so many days without use, and after so many in all (decision D96). */
  readonly sessionDays: SessionDays;
}

export interface SessionDays {
  readonly idle: number;
  readonly inAll: number;
}

/** Soft bounces after which an address is suppressed. Use 0 for "never" instead of a larger number. */
export const SOFT_BOUNCE_LIMIT_MAX = 100;
/** Bounces older than a year say nothing about a mailbox. */
export const SOFT_BOUNCE_DAYS_MAX = 365;
