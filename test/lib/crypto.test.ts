/** The MAC of hot paths against the one of the runtime. */
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { mac } from '../../src/lib/crypto.ts';

test('a MAC under a KeyObject is HMAC-SHA-256 for every length of key and value', () => {
  for (let round = 0; round < 600; round++) {
    const bytes = randomBytes(1 + (round % 64));
    const key = createSecretKey(bytes);
    const values = [
      randomBytes((round * 37) % 4_200),
      randomBytes((round * 13) % 2_000).toString('latin1'),
      '',
      '€'.repeat(round),
    ];
    for (const value of values) {
      const expected = createHmac('sha256', bytes).update(value).digest();
      expect(mac(key, value, 32).equals(expected)).toBe(true);
      expect(mac(key, value).equals(expected.subarray(0, 16))).toBe(true);
    }
  }
  expect(mac(randomBytes(100), 'any key of bytes')).toHaveLength(16);
});
