/** The MAC of hot paths against the one of the runtime, and the cipher of ids. */
import { createCipheriv, createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createBlockCipher, createMac, mac } from '../../src/lib/crypto.ts';

test.each(['sha256', 'sha512'] as const)(
  'a MAC of hot paths is HMAC-%s for every length of key and value',
  (algorithm) => {
    for (let round = 0; round < 300; round++) {
      const key = randomBytes(1 + (round % 64));
      const make = createMac(algorithm, key);
      // A short value behind a long one: nothing of that may be left.
      for (const length of [(round * 37) % 4_200, (round * 13) % 2_000, 0, 20_000]) {
        const value = randomBytes(length);
        const expected = createHmac(algorithm, key).update(value).digest();
        expect(Buffer.from(make(value, 'binary'), 'latin1').equals(expected)).toBe(true);
        expect(make(value, 'base64url')).toBe(expected.toString('base64url'));
      }
    }
  },
);

test('a MAC is HMAC-SHA-256, cut', () => {
  const key = randomBytes(100);
  for (const value of ['any key of bytes', randomBytes(5_000)]) {
    const expected = createHmac('sha256', key).update(value).digest();
    expect(mac(key, value, 32).equals(expected)).toBe(true);
    expect(mac(createSecretKey(key), value).equals(expected.subarray(0, 16))).toBe(true);
  }
});

test('blocks are AES-256, one independent of another', () => {
  const key = randomBytes(32);
  const cipher = createBlockCipher(key);
  for (let round = 0; round < 50; round++) {
    const blocks = randomBytes(16 * (1 + (round % 3)));
    const sealed = Buffer.from(cipher.encrypt(blocks), 'latin1');
    const expected = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false).update(blocks);
    expect(sealed.equals(expected)).toBe(true);
    expect(cipher.decrypt(sealed).equals(blocks)).toBe(true);
  }
});
