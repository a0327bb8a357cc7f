/**
 * A text that names one delivery and that only this installation can make: what Message-IDs and return-paths carry. It
 * is one number in base 36, because relays fold the case of what stands before the @: format byte, customer, source,
 * recipient and occurrence, then an HMAC of 96 bits over them. Who knows it needs no look-up to file a report. It has 25 to 57 letters:
 * the longest fills with `bounce+` the 64 octets that RFC 5321 (4.5.3.1.1) allows.
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
/** Customer, source, recipient and occurrence together: what 57 letters hold. With an occurrence ids below 2^42 fit. */
const ID_BYTES_MAX = 3 * VARINT_BYTES_MAX;

/** The mark of a delivery; each purpose has a MAC of its own. */
export function deliveryMark(
  mac: Mac,
  { customerId, sourceKind, sourceId, recipientId, occurrence }: DeliveryKey,
): string {
  memory[0] = formatByteOf(sourceKind);
  const ids = occurrence === 0n ? [customerId, sourceId, recipientId] : [customerId, sourceId, recipientId, occurrence];
  const end = writeVarints(memory, ids, 1);
  assert(end <= 1 + ID_BYTES_MAX, 'the ids of a message fit into its mark');
  memory.write(mac(memory.subarray(0, end), 'binary').slice(0, MAC_BYTES), end, 'latin1');
  return BigInt(`0x${memory.toString('hex', 0, end + MAC_BYTES)}`).toString(36);
}

/** The delivery that a mark names, or undefined when it was not made with this MAC, to the letter. */
export function readDeliveryMark(mac: Mac, mark: string): DeliveryKey | undefined {
  const digits = fromBase36(mark).toString(16);
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  const ids = bytes.subarray(0, -MAC_BYTES);
  const expected = Buffer.from(mac(ids, 'binary').slice(0, MAC_BYTES), 'latin1');
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
