/**
 * Message ids of drivers. SMTP sends our own Message-ID, which names the delivery by itself; a vendor's API uses its own id, and
 * reports quote that one: these ids are stored in a table with the delivery, by the statement that records the sending (decision
 * record 0070).
 */
import { createHash } from 'node:crypto';
import { looksLikeDeliveryMessageId } from './delivery-message-id.ts';

/** Half of a SHA-256: collisions are practically impossible. */
const KEY_BYTES = 16;

/** The key of an id in hot.runtime_message; angle brackets and white space around it do not matter. */
export function runtimeMessageKey(id: string): Buffer {
  const plain = id.trim().replace(/^<(.*)>$/, '$1');
  return createHash('sha256').update(plain).digest().subarray(0, KEY_BYTES);
}

/** Whether the id has to be stored to find the delivery again. */
export function needsRuntimeMessage(id: string | null): id is string {
  return id !== null && id.trim() !== '' && !looksLikeDeliveryMessageId(id);
}
