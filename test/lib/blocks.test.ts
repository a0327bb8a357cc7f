/** Memory that is used again: never by two at once, whatever is given back, and however often. */
import { describe, expect, test } from 'vitest';
import { giveBack, takeBlock } from '../../src/lib/blocks.ts';

describe('blocks', () => {
  test('are empty by a third at most', () => {
    for (const count of [4_097, 6_144, 6_145, 8_193, 12_288, 12_289, 131_073, 200_000])
      expect(takeBlock(count).buffer.byteLength).toBeLessThan(1.5 * count);
  });

  test('have room for what was asked', () => {
    for (const count of [0, 1, 4_095, 4_096, 4_097, 11_000, 262_144, 262_145, 1_000_000])
      expect(takeBlock(count).length).toBeGreaterThanOrEqual(count);
  });

  test('are used again once they are given back, in whole', () => {
    const block = takeBlock(11_000);
    giveBack(block.subarray(10, 20));
    const next = takeBlock(9_000);
    expect(next.buffer).toBe(block.buffer);
    expect(takeBlock(9_000).buffer).not.toBe(block.buffer);
  });

  test('given back twice, they still have one holder', () => {
    const block = takeBlock(5_000);
    giveBack(block);
    giveBack(block);
    expect(takeBlock(5_000).buffer).toBe(block.buffer);
    expect(takeBlock(5_000).buffer).not.toBe(block.buffer);
    giveBack(block);
    giveBack(block);
    expect(takeBlock(5_000).buffer).not.toBe(takeBlock(5_000).buffer);
  });

  test('leave alone what they did not lend', () => {
    const strangers = [
      Buffer.alloc(8_192),
      Buffer.from('short'),
      new Uint8Array(4_096),
      new Uint8Array(new SharedArrayBuffer(4_096)),
    ];
    strangers.forEach(giveBack);
    const taken = Array.from({ length: 8 }, (_, no) => takeBlock(1 << (12 + (no % 2))).buffer);
    expect(strangers.some(({ buffer }) => taken.includes(buffer))).toBe(false);
  });
});
