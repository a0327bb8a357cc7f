/**
 * Message ids of drivers. SMTP sends under our own Message-ID, which says by itself whose it is; a vendor's API names a
 * message by an id of its own, and reports quote that one: these ids are kept in a table of their own with the
 * delivery, written in the statement that records the sending (decision record 0070).
 */
import { createHash } from 'node:crypto';
import { looksLikeDeliveryMessageId } from './delivery-message-id.ts';

/** Half of a SHA-256: no two ids of a thousand million million share it. */
const KEY_BYTES = 16;

/** The key of an id in hot.runtime_message; angle brackets and white space around it do not matter. */
export function runtimeMessageKey(id: string): Buffer {
  const plain = id.trim().replace(/^<(.*)>$/, '$1');
  return createHash('sha256').update(plain).digest().subarray(0, KEY_BYTES);
}

/** Whether the id has to be kept to find the delivery again. */
export function needsRuntimeMessage(id: string | null): id is string {
  return id !== null && id.trim() !== '' && !looksLikeDeliveryMessageId(id);
}
