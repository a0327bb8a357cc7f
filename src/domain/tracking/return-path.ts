/**
 * Return-paths that say whose bounce it is (VERP): `bounce+<mark>@domain`, one for each delivery. So a bounce that comes to
 * such an address needs no reading to be filed, and one that we did not make leads nowhere (delivery-mark.ts).
 */
import type { Installation } from '../context.ts';
import type { DeliveryKey } from '../source-key.ts';
import { deliveryMark, readDeliveryMark } from './delivery-mark.ts';
import { installationMac } from './installation-mac.ts';

/** Some relays turn the plus into a hyphen. */
const ADDRESS = /^<?bounce[+-]([0-9a-z]{25,57})@([^@<>\s]+)>?$/;
const ANYWHERE = /\bbounce[+-][0-9a-z]{25,57}@[a-z0-9.-]{1,253}/gi;
/** An address more often in one text is somebody's game. */
const FOUND_MAX = 20;

const macOf = installationMac('return-path');

/** The return-path of a delivery; `domain` in ASCII. */
export function returnPathOf(installation: Installation, delivery: DeliveryKey, domain: string): string {
  return `bounce+${deliveryMark(macOf(installation), delivery)}@${domain}`;
}

/** The delivery whose return-path this is (brackets optional, any case, any domain), or undefined when we made none such. */
export function parseReturnPath(installation: Installation, address: string): DeliveryKey | undefined {
  const [, mark] = ADDRESS.exec(address.trim().toLowerCase()) ?? [];
  return mark === undefined ? undefined : readDeliveryMark(macOf(installation), mark);
}

/** What looks like such addresses in a text. */
export function returnPathsIn(text: string): readonly string[] {
  return [...text.matchAll(ANYWHERE)].slice(0, FOUND_MAX).map(([address]) => address);
}
