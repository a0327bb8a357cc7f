/**
 * The key under which the ledger and all events are stored: customer, kind of source, source, recipient, occurrence. The columns
 * have the same names: customer_id, source_kind, source_id, recipient_id, occurrence (decision record 0399).
 */

/**
 * What sends messages. The numbers are in the database, in links, Message-IDs and return-paths: add, never change. `none` is for
 * messages that are in no ledger. Only campaigns write to the ledger at present.
 */
export const SOURCE_KINDS = { none: 0, campaign: 1, automation: 2, transactional: 3, listMail: 4, test: 5 } as const;

/** The source of a message. */
export interface SourceKey {
  readonly customerId: bigint;
  /** One of SOURCE_KINDS. */
  readonly sourceKind: number;
  readonly sourceId: bigint;
}

/** One message: a row of the ledger. */
export interface DeliveryKey extends SourceKey {
  /** A subscriber. Addresses without one will have ids of the same sequence. */
  readonly recipientId: bigint;
  /** Which of the source's messages to this recipient; a campaign sends one: 0. */
  readonly occurrence: bigint;
}
