/**
 * The Message-ID of a delivery: the same for every attempt at one recipient, and signed by us. A report that quotes it can be
 * stored without a look-up; one that is not ours is ignored (delivery-reference.ts).
 */
import type { Installation } from '../context.ts';
import type { DeliveryKey } from '../source-key.ts';
import { deliveryReference, readDeliveryReference } from './delivery-reference.ts';
import { installationMac } from './installation-mac.ts';

/** Distinguishes our Message-IDs from vendors' without a key. */
const PREFIX = 'mail.';
const PATTERN = /^<?mail\.([0-9a-z]{25,57})@[^@<>\s]+>?$/;
const ANYWHERE = /\bmail\.[0-9a-z]{25,57}@[a-z0-9.-]{1,253}/gi;

const macOf = installationMac('message-id');

/** The Message-ID with its angle brackets; `domain` is that of the sender, in ASCII. */
export function deliveryMessageId(installation: Installation, delivery: DeliveryKey, domain: string): string {
  return `<${PREFIX}${deliveryReference(macOf(installation), delivery)}@${domain}>`;
}

/** The delivery of a Message-ID (brackets optional, any case), or undefined when it is not ours. */
export function parseDeliveryMessageId(installation: Installation, messageId: string): DeliveryKey | undefined {
  const [, mark] = PATTERN.exec(messageId.trim().toLowerCase()) ?? [];
  return mark === undefined ? undefined : readDeliveryReference(macOf(installation), mark);
}

/**
 * A Message-ID for an `idempotencyKey` that a vendor returns. A vendor may know no dots: a hyphen or an underscore is as good. Of another
 * text, a Message-ID of nobody.
 */
export function messageIdOfKey(key: string): string {
  return `<${key.trim().replace(/^mail[._-]/i, PREFIX)}@vendor>`;
}

/** Whether it has our form; a cheap test without proof. */
export function looksLikeDeliveryMessageId(messageId: string): boolean {
  return PATTERN.test(messageId.trim().toLowerCase());
}

/** Texts of our form. */
export function deliveryMessageIdsIn(text: string): readonly string[] {
  return [...text.matchAll(ANYWHERE)].map(([id]) => id);
}
