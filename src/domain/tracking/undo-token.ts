/**
 * What the button "subscribe again" sends back: the subscription that a click ended and a keyed digest of its address, signed for the
 * link of that click. The time limit is in the database (`UNDO_MINUTES`).
 */
import { sameBytes } from '../../lib/crypto.ts';
import type { EndedSubscription } from '../audience/unsubscribe-subscriber.ts';
import type { Installation } from '../context.ts';
import { linkMac } from './link-mac.ts';
import type { TrackedRecipient } from './tracking.ts';

const PURPOSE = 'undo-unsubscribe';
const TOKEN = /^(\d{1,19})\.(\d{1,19})\.([\w-]{22})\.([01])\.([\w-]{22})$/;

export interface UndoableUnsubscribe {
  readonly ended: EndedSubscription;
  readonly isCounted: boolean;
}

export function undoToken(
  installation: Installation,
  link: TrackedRecipient,
  { ended, isCounted }: UndoableUnsubscribe,
): string {
  const content = `${ended.id}.${ended.eventId}.${ended.address}.${isCounted ? 1 : 0}`;
  return `${content}.${tagOf(installation, link, content)}`;
}

/** Undefined when it was not made for this link. Never throws. */
export function readUndoToken(
  installation: Installation,
  link: TrackedRecipient,
  token: string,
): UndoableUnsubscribe | undefined {
  const [, id = '', eventId = '', address = '', counted = '', tag = ''] = TOKEN.exec(token) ?? [];
  const expected = tagOf(installation, link, `${id}.${eventId}.${address}.${counted}`);
  if (!sameBytes(Buffer.from(expected), Buffer.from(tag))) return undefined;
  const { customerId, listId } = link;
  return {
    ended: { customerId, listId, id: BigInt(id), eventId: BigInt(eventId), address },
    isCounted: counted === '1',
  };
}

function tagOf(installation: Installation, link: TrackedRecipient, content: string): string {
  return linkMac(installation, PURPOSE, { link, content });
}
