/** Return-paths that say whose bounce it is (VERP). */
import { fc } from '../../support/property.ts';
import { expect, test } from 'vitest';
import { parseReturnPath, returnPathOf, returnPathsIn } from '../../../src/domain/tracking/return-path.ts';
import { isEmailAddress } from '../../../src/lib/text.ts';
import { deliveryOf } from '../../support/delivery-of.ts';
import type { DeliveryKey } from '../../../src/domain/source-key.ts';
import { testInstallation } from '../../support/test-context.ts';

const id = fc.bigInt(0n, 2n ** 53n - 1n);
const deliveries = fc.record({ customerId: id, campaignId: id, subscriberId: id }).map(deliveryOf);
const make = (delivery: DeliveryKey) => returnPathOf(testInstallation, delivery, 'bounces.example');

test('every delivery has one, it is an address, of at most 64 octets before the @, and is read in any case', () => {
  fc.assert(
    fc.property(deliveries, (delivery) => {
      const address = make(delivery);
      expect(isEmailAddress(address)).toBe(true);
      expect(address.indexOf('@')).toBeLessThanOrEqual(64);
      expect(parseReturnPath(testInstallation, address)).toEqual(delivery);
      expect(parseReturnPath(testInstallation, `<${address.toUpperCase()}>`)).toEqual(delivery);
      expect(parseReturnPath(testInstallation, address.replace('+', '-'))).toEqual(delivery);
      expect(returnPathsIn(`x ${address}, y`)).toEqual([address]);
    }),
  );
  const largest = make(
    deliveryOf({ customerId: 2n ** 53n - 1n, campaignId: 2n ** 53n - 1n, subscriberId: 2n ** 53n - 1n }),
  );
  expect(largest.indexOf('@')).toBe(64);
});

test('what we did not write, to the letter, is none', () => {
  const address = make(deliveryOf({ customerId: 7n, campaignId: 8n, subscriberId: 9n }));
  const other = { ...testInstallation, secret: 'another-secret'.repeat(3) };
  expect(parseReturnPath(other, address)).toBeUndefined();
  const letters = '0123456789abcdefghijklmnopqrstuvwxyz';
  for (let at = 'bounce+'.length; at < address.indexOf('@'); at++) {
    const wrong = letters[(letters.indexOf(address[at] ?? '') + 1) % 36] ?? '';
    expect(parseReturnPath(testInstallation, address.slice(0, at) + wrong + address.slice(at + 1))).toBeUndefined();
  }
  for (const longer of [
    address.replace('@', 'a@'),
    address.replace('+', '+0'),
    address.replace('@', 'aaaaaaaa@'),
    `x${address}`,
    'bounce+@x',
    '',
  ])
    expect(parseReturnPath(testInstallation, longer)).toBeUndefined();
});
