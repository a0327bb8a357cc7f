/** Sizes and paces an operator may set (src/config), as the domain sees them. */
export interface Limits {
  /** Recipients a sending job takes at once. */
  readonly sendBatchSize: number;
  /** How long a recipient stays with a worker that says nothing more. */
  readonly sendLeaseSeconds: number;
  /** Audience rows written to the ledger in one transaction. */
  readonly planBatchSize: number;
  /** Lines of an import file written in one transaction. */
  readonly importBatchSize: number;
  /** Tries per recipient before a deferral becomes a failure. */
  readonly sendAttemptsMax: number;
  /** Wait before the second try of a deferred recipient; doubles from there. */
  readonly sendRetryDelaySeconds: number;
  /** Hard refusals among a campaign's latest hundred recipients that pause it; 0: none do. */
  readonly bouncePausePercent: number;
  /** Largest import file, in bytes. */
  readonly importBytesMax: number;
  /** Largest uploaded file, in bytes; plans may allow less. */
  readonly fileBytesMax: number;
  /** Days a renewal may be paid after its period has begun. */
  readonly billingGraceDays: number;
}
