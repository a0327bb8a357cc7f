/**
 * The Message-ID of a delivery: the same for every attempt at one recipient, readable by us alone. A report that
 * quotes it can be filed without a look-up; one that we did not make says nothing (a MAC of 96 bits).
 */
import type { Installation } from '../context.ts';
import { hexMac, sameBytes } from '../../lib/crypto.ts';
import { fromBase36 } from '../../lib/ids.ts';
import { installationKey } from './installation-key.ts';

/** Which row of the ledger a message belongs to. */
export interface DeliveryKey {
  readonly customerId: bigint;
  readonly campaignId: bigint;
  readonly subscriberId: bigint;
}

/** 96 bits. */
const CODE_LENGTH = 24;
// Lower case only: some relays change the case of what stands before the @.
const PATTERN = /^<?([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([0-9a-f]{24})@[^@<>\s]+>?$/;

const keyOf = installationKey('message-id');

/** The Message-ID with its angle brackets; `domain` is that of the sender, in ASCII. */
export function deliveryMessageId(installation: Installation, delivery: DeliveryKey, domain: string): string {
  const ids = idsOf(delivery);
  return `<${ids}.${codeOf(installation, ids)}@${domain}>`;
}

/** The delivery that a Message-ID (brackets optional, any case) stands for, or undefined when we did not make it. */
export function parseDeliveryMessageId(installation: Installation, messageId: string): DeliveryKey | undefined {
  const [, customer, campaign, subscriber, code] = PATTERN.exec(messageId.trim().toLowerCase()) ?? [];
  if (customer === undefined || campaign === undefined || subscriber === undefined || code === undefined)
    return undefined;
  const ids = `${customer}.${campaign}.${subscriber}`;
  if (!sameBytes(Buffer.from(code), Buffer.from(codeOf(installation, ids)))) return undefined;
  return { customerId: fromBase36(customer), campaignId: fromBase36(campaign), subscriberId: fromBase36(subscriber) };
}

/** Whether it has the form of ours; a look costs nothing, and proves nothing. */
export function looksLikeDeliveryMessageId(messageId: string): boolean {
  return PATTERN.test(messageId.trim().toLowerCase());
}

function idsOf({ customerId, campaignId, subscriberId }: DeliveryKey): string {
  return `${customerId.toString(36)}.${campaignId.toString(36)}.${subscriberId.toString(36)}`;
}

function codeOf(installation: Installation, ids: string): string {
  return hexMac(keyOf(installation), ids).slice(0, CODE_LENGTH);
}
