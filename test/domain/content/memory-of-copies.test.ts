/** A copy takes memory of its own size, also while larger messages are filled in turns with it. */
import { expect, test } from 'vitest';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import type { CompiledMessage } from '../../../src/domain/content/message.ts';
import { giveBack } from '../../../src/lib/blocks.ts';
import { messageSource, recipient } from './message-factory.ts';

function messageOf(lines: number): Promise<CompiledMessage> {
  const text = 'A line as long as the ones around it, more or less.<br>\n'.repeat(lines);
  return compileMessage(messageSource({ html: `<p>Hello {FIRST_NAME}</p>${text}` }));
}

test('copies of a small message are small while those of a large one are made', async () => {
  const [small, large] = [await messageOf(100), await messageOf(2_800)];
  for (let n = 0; n < 10; n++) {
    for (const [message, bytesMin] of [
      [large, 300_000],
      [small, 11_000],
    ] as const) {
      const { content } = await message.fill(recipient({ FIRST_NAME: `Name${n}` }));
      expect(content.length).toBeGreaterThan(bytesMin);
      expect(content.length).toBeLessThan(2 * bytesMin);
      expect(content.buffer.byteLength).toBeLessThanOrEqual(4 * content.length);
      giveBack(content);
    }
  }
});
