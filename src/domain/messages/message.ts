/**
 * The noun of this module: a message that is not of a campaign, as something to send. Whoever causes one enqueues it here, in the
 * transaction of the cause; `delivery` composes and sends it, and the ledger says what became of it (decision record 0399). This
 * module composes and sends nothing.
 */
import type { SourceKey } from '../source-key.ts';

/**
 * What a message is to its reader (decision D94). Hard bounces stop all kinds, complaints all except `security`, unsubscribing only
 * `marketing`. If nobody knows whether the server accepted one, `security` and `transactional` are sent once more; others are not.
 */
export type MessageKind = 'security' | 'transactional' | 'optional' | 'marketing';

/** What the message is, and so who composes it. */
export const MESSAGE_PURPOSES = [
  'confirmation',
  'welcome',
  'goodbye',
  'unsubscribe_notification',
  'notice',
  'test',
  'flow',
  'transactional',
] as const;
export type MessagePurpose = (typeof MESSAGE_PURPOSES)[number];

/** A smaller number goes first. The numbers are in the database: add, never change. */
export const PRIORITIES = { transactional: 10, list: 20, flow: 30, test: 40 } as const;
export type Priority = (typeof PRIORITIES)[keyof typeof PRIORITIES];

/** A subscriber of a list, who gets it only in this status; or an address without a list. */
export type MessageReader =
  | { readonly subscriberId: bigint; readonly listId: bigint; readonly status: string }
  | { readonly email: string };

export interface NewMessage {
  readonly source: SourceKey;
  readonly to: MessageReader;
  readonly kind: MessageKind;
  readonly purpose: MessagePurpose;
  readonly priority: Priority;
  /** What causes it: a second message of the customer with the same cause is not written. */
  readonly cause: string;
  /** What is needed to compose it; erased after CONTENT_KEPT_DAYS. */
  readonly content: Readonly<Record<string, unknown>>;
  /** Not before; absent: at once. */
  readonly sendAt?: Date;
}

/** How long the content of a message is kept; the ledger's row and its log stay (decision D94). */
export const CONTENT_KEPT_DAYS = 7;
