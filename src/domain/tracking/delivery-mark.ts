/**
 * A text that names one delivery and that only this installation can make: what Message-IDs and return-paths carry. It
 * is one number in base 36, because relays fold the case of what stands before the @: format byte, customer, campaign
 * and subscriber, then an HMAC of 96 bits over them. Who knows it needs no look-up to file a report. It has 25 to 57 letters:
 * the longest fills with `bounce+` the 64 octets that RFC 5321 (4.5.3.1.1) allows.
 */
import { sameBytes, type Mac } from '../../lib/crypto.ts';
import { fromBase36 } from '../../lib/ids.ts';
import { formatByteOf } from './format-byte.ts';
import { readVarints, VARINT_BYTES_MAX, writeVarints } from './varint.ts';

/** Which row of the ledger a message belongs to. */
export interface DeliveryKey {
  readonly customerId: bigint;
  readonly campaignId: bigint;
  readonly subscriberId: bigint;
}

const MAC_BYTES = 12;

// Filled and read within one call, so one is enough for the process.
const memory = Buffer.alloc(1 + 3 * VARINT_BYTES_MAX + MAC_BYTES);

/** The mark of a delivery; each purpose has a MAC of its own. */
export function deliveryMark(mac: Mac, { customerId, campaignId, subscriberId }: DeliveryKey): string {
  memory[0] = formatByteOf(campaignId);
  const end = writeVarints(memory, [customerId, campaignId, subscriberId], 1);
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
  const [customerId = 0, campaignId = 0, subscriberId = 0] = readVarints(ids, 1, 3).values;
  const delivery = {
    customerId: BigInt(customerId),
    campaignId: BigInt(campaignId),
    subscriberId: BigInt(subscriberId),
  };
  return ids[0] === formatByteOf(delivery.campaignId) ? delivery : undefined;
}
