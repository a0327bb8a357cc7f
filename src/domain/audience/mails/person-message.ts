/** A mail to a person on a list as a message of the queue. */
import { PRIORITIES, type MessageKind, type NewMessage } from '../../messages/message.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import type { SubscriberStatus } from '../subscriber-fields.ts';
import type { SubscriberKey } from '../subscriber-store.ts';
import type { PersonMailKind } from './list-mail.ts';

/** The status in which the mail is still wanted when it is sent. */
export const STATUS_FOR: Readonly<Record<PersonMailKind, SubscriberStatus>> = {
  confirmation: 'pending',
  welcome: 'subscribed',
  goodbye: 'unsubscribed',
};

const KINDS: Readonly<Record<PersonMailKind, MessageKind>> = {
  confirmation: 'transactional',
  welcome: 'optional',
  goodbye: 'transactional',
};

/** The message; the event in the consent history is its cause: one mail for each. */
export function messageOf(
  { customerId, listId, id }: SubscriberKey,
  { kind, eventId }: { readonly kind: PersonMailKind; readonly eventId: bigint },
): NewMessage {
  return {
    source: { customerId, sourceKind: SOURCE_KINDS.listMail, sourceId: listId },
    to: { subscriberId: id, listId, status: STATUS_FOR[kind] },
    kind: KINDS[kind],
    purpose: kind,
    priority: PRIORITIES.list,
    cause: `${kind} ${eventId}`,
    content: { eventId: String(eventId) },
  };
}
