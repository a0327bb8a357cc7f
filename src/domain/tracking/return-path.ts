/**
 * Return-paths that name the delivery (VERP): `bounce+<signed reference>@domain`. So a bounce to such an address can be recorded
 * without reading it, and a forged one is ignored (delivery-reference.ts). The address in List-Unsubscribe has the same form, so
 * that the same mailbox gets its mail, and the other tag of the same HMAC: neither address is accepted in place of the other.
 */
import type { Installation } from '../context.ts';
import type { DeliveryKey } from '../source-key.ts';
import { deliveryReferences, readDeliveryReference } from './delivery-reference.ts';
import { installationMac } from './installation-mac.ts';

/** Some relays change the plus into a hyphen. */
const ADDRESS = /^<?bounce[+-]([0-9a-z]{25,57})@([^@<>\s]+)>?$/;
const ANYWHERE = /\bbounce[+-][0-9a-z]{25,57}@[a-z0-9.-]{1,253}/gi;
/** More addresses in one text are an attack. */
const FOUND_MAX = 20;

const macOf = installationMac('return-path');

/** In front of the mark, in both addresses of a delivery. */
export const BOUNCE_PREFIX = 'bounce+';

/** The marks of a delivery's return-path and of the address that unsubscribes its recipient. */
export interface BounceMarks {
  readonly returnPath: string;
  readonly unsubscribe: string;
}

/** Both marks of a delivery. */
export function bounceMarksOf(installation: Installation, delivery: DeliveryKey): BounceMarks {
  const { first, second } = deliveryReferences(macOf(installation), delivery);
  return { returnPath: first, unsubscribe: second };
}

/** The return-path of a delivery; `domain` in ASCII. */
export function returnPathOf(installation: Installation, delivery: DeliveryKey, domain: string): string {
  return `${BOUNCE_PREFIX}${bounceMarksOf(installation, delivery).returnPath}@${domain}`;
}

/** The delivery of this return-path (brackets optional, any case, any domain), or undefined when it is not ours. */
export function parseReturnPath(installation: Installation, address: string): DeliveryKey | undefined {
  const mark = markIn(address);
  return mark === undefined ? undefined : readDeliveryReference(macOf(installation), mark);
}

/** The delivery whose recipient this address unsubscribes, read as above; undefined when it is not ours. */
export function parseUnsubscribeAddress(installation: Installation, address: string): DeliveryKey | undefined {
  const mark = markIn(address);
  return mark === undefined ? undefined : readDeliveryReference(macOf(installation), mark, 'second');
}

function markIn(address: string): string | undefined {
  return ADDRESS.exec(address.trim().toLowerCase())?.[1];
}

/** Texts of the form of both addresses. */
export function returnPathsIn(text: string): readonly string[] {
  return [...text.matchAll(ANYWHERE)].slice(0, FOUND_MAX).map(([address]) => address);
}
