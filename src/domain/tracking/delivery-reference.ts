/**
 * A text that names one delivery and that only this installation can make, for Message-IDs and return-paths. It is one number in
 * base 36, because relays change the case of the part before the @: format byte, customer, source, recipient and occurrence, then
 * an HMAC of 96 bits over them. A report with it can be stored without a look-up. It has 25 to 57 letters: the longest fits with
 * `bounce+` into the 64 octets that RFC 5321 (4.5.3.1.1) allows.
 */
import { sameBytes, type Mac } from '../../lib/crypto.ts';
import { fromBase36 } from '../../lib/ids.ts';
import { assert } from '../../lib/errors.ts';
import type { DeliveryKey } from '../source-key.ts';
import { formatByteOf, sourceKindOf } from './format-byte.ts';
import { readVarints, VARINT_BYTES_MAX, writeVarints } from './varint.ts';

const MAC_BYTES = 12;

// Filled and read within one call, so one is enough for the process.
const memory = Buffer.alloc(1 + 4 * VARINT_BYTES_MAX + MAC_BYTES);
/**
 * Customer, source, recipient and occurrence together, as much as fits into 57 letters. With an occurrence ids below 2^42 fit.
 */
const ID_BYTES_MAX = 3 * VARINT_BYTES_MAX;

/** Where a tag begins in the 32 bytes of an HMAC, which are two: each is accepted in its own place only. */
const TAG_STARTS = { first: 0, second: MAC_BYTES } as const;
type MarkTag = keyof typeof TAG_STARTS;

/** The signed reference of a delivery; each purpose has its own MAC. */
export function deliveryReference(mac: Mac, delivery: DeliveryKey): string {
  const end = writeIds(delivery);
  return markOf(end, mac(memory.subarray(0, end), 'binary'), 'first');
}

/** Both references that one HMAC gives. */
export function deliveryReferences(mac: Mac, delivery: DeliveryKey): Readonly<Record<MarkTag, string>> {
  const end = writeIds(delivery);
  const tags = mac(memory.subarray(0, end), 'binary');
  return { first: markOf(end, tags, 'first'), second: markOf(end, tags, 'second') };
}

/** The delivery of a signed reference, or undefined when it was not made with exactly this MAC. */
export function readDeliveryReference(mac: Mac, mark: string, tag: MarkTag = 'first'): DeliveryKey | undefined {
  const digits = fromBase36(mark).toString(16);
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  const ids = bytes.subarray(0, -MAC_BYTES);
  const start = TAG_STARTS[tag];
  const expected = Buffer.from(mac(ids, 'binary').slice(start, start + MAC_BYTES), 'latin1');
  if (mark.startsWith('0') || !sameBytes(bytes.subarray(-MAC_BYTES), expected)) return undefined;
  const sourceKind = sourceKindOf(ids[0]);
  if (sourceKind === undefined) return undefined;
  const [customerId = 0, sourceId = 0, recipientId = 0, occurrence = 0] = readVarints(ids, 1, 4).values;
  return {
    customerId: BigInt(customerId),
    sourceKind,
    sourceId: BigInt(sourceId),
    recipientId: BigInt(recipientId),
    occurrence: BigInt(occurrence),
  };
}

/** Writes the ids into the memory; returns where they end. */
function writeIds({ customerId, sourceKind, sourceId, recipientId, occurrence }: DeliveryKey): number {
  memory[0] = formatByteOf(sourceKind);
  const ids = occurrence === 0n ? [customerId, sourceId, recipientId] : [customerId, sourceId, recipientId, occurrence];
  const end = writeVarints(memory, ids, 1);
  assert(end <= 1 + ID_BYTES_MAX, 'the ids of a message fit into its mark');
  return end;
}

function markOf(end: number, tags: string, tag: MarkTag): string {
  const start = TAG_STARTS[tag];
  memory.write(tags.slice(start, start + MAC_BYTES), end, 'latin1');
  return BigInt(`0x${memory.toString('hex', 0, end + MAC_BYTES)}`).toString(36);
}
