/**
 * Return-paths that name the delivery (VERP): `bounce+<signed reference>@domain`. So a bounce to such an address can be recorded
 * without reading it, and a forged one is ignored (delivery-reference.ts).
 */
import type { Installation } from '../context.ts';
import type { DeliveryKey } from '../source-key.ts';
import { deliveryReference, readDeliveryReference } from './delivery-reference.ts';
import { installationMac } from './installation-mac.ts';

/** Some relays change the plus into a hyphen. */
const ADDRESS = /^<?bounce[+-]([0-9a-z]{25,57})@([^@<>\s]+)>?$/;
const ANYWHERE = /\bbounce[+-][0-9a-z]{25,57}@[a-z0-9.-]{1,253}/gi;
/** More addresses in one text are an attack. */
const FOUND_MAX = 20;

const macOf = installationMac('return-path');

/** The return-path of a delivery; `domain` in ASCII. */
export function returnPathOf(installation: Installation, delivery: DeliveryKey, domain: string): string {
  return `bounce+${deliveryReference(macOf(installation), delivery)}@${domain}`;
}

/** The delivery of this return-path (brackets optional, any case, any domain), or undefined when it is not ours. */
export function parseReturnPath(installation: Installation, address: string): DeliveryKey | undefined {
  const [, mark] = ADDRESS.exec(address.trim().toLowerCase()) ?? [];
  return mark === undefined ? undefined : readDeliveryReference(macOf(installation), mark);
}

/** Texts of the form of such addresses. */
export function returnPathsIn(text: string): readonly string[] {
  return [...text.matchAll(ANYWHERE)].slice(0, FOUND_MAX).map(([address]) => address);
}
