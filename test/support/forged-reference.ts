/** Marks of deliveries (tracking/delivery-reference.ts) as somebody without the key may make them from one that was seen. */
import { fromBase36 } from '../../src/lib/ids.ts';

/** A mark is one number: what it says, and behind that a code of so many bits. */
const CODE_BITS = 96n;

/** One digit is another. */
export function withOtherDigit(mark: string, n: number): string {
  const place = n % mark.length;
  const digit = ((parseInt(mark[place] ?? '0', 36) + 1 + (n % 35)) % 36).toString(36);
  return mark.slice(0, place) + digit + mark.slice(place + 1);
}

/** The code of this mark behind the numbers of another delivery. */
export function underOtherIds(mark: string, n: number): string {
  const value = fromBase36(mark);
  const code = value & ((1n << CODE_BITS) - 1n);
  return ((((value >> CODE_BITS) + BigInt(n)) << CODE_BITS) | code).toString(36);
}
