/** What composing a message of the queue gives. */
import type { DeliveryReason } from '../../sending/delivery-reason.ts';
import type { ComposedMessage } from './compose-transactional.ts';

export interface MessageToSend extends ComposedMessage {
  /** The address that was read for it. */
  readonly email: string;
  /** Goes through the servers of this campaign. */
  readonly campaignId?: bigint;
}

/** A message, why there is none, or `again`: its reader has changed since it was taken. */
export type Composition = MessageToSend | { readonly skip: DeliveryReason } | 'again';
