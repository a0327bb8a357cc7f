/** What is filled between static bytes: nothing of it is lost, no line grows too long, no message runs into another. */
import { fc } from '../../support/property.ts';
import { expect, test } from 'vitest';
import { mergeStatic, type FillScope, type Segment } from '../../../src/domain/content/fill-scope.ts';
import { MessageBytes } from '../../../src/domain/content/message-bytes.ts';
import { compileQuotedPrintable, writeChunks } from '../../../src/domain/content/quoted-printable.ts';
import { recipient } from './message-factory.ts';

const scope: FillScope = { recipient: recipient(), withPixel: true, now: new Date(0), liquid: new Map() };
const PIECES = [
  '=',
  '=3D',
  ' ',
  '\t',
  '\n',
  '\r\n',
  '\r',
  ' \n',
  '\t\r\n',
  '.',
  '\n.\n',
  'ö',
  '👩‍👧',
  '\0',
  '\ud800',
  '\x7f',
];
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(...PIECES),
      fc.integer({ min: 1, max: 160 }).map((length) => 'x'.repeat(length)),
      fc.string({ unit: 'grapheme' }),
    ),
    { maxLength: 8 },
  )
  .map((pieces) => pieces.join(''));
const segments = fc.array(
  fc.oneof(
    text,
    text.map(
      (filled): Segment =>
        () =>
          filled,
    ),
  ),
  { maxLength: 12 },
);

test('whatever stands in the slots, it decodes to its text, in lines of at most 76', () => {
  const out = new MessageBytes();
  fc.assert(
    fc.property(segments, (given) => {
      out.clear();
      writeChunks(compileQuotedPrintable(given), scope, out);
      const written = out.take().toString('latin1');
      for (const line of written.split('\r\n')) expect(line).toMatch(/^(?:[\t -~]{0,75}[!-~])?$/);
      expect(written).toMatch(/\r\n$/);
      // A CR that ends a slot and an LF that begins what follows it are two line ends.
      const lines = mergeStatic(given).map((segment) => (typeof segment === 'string' ? segment : segment(scope)));
      const expected = lines.map((one) => one.toWellFormed().replace(/\r\n|\r|\n/g, '\r\n')).join('');
      expect([expected, `${expected}\r\n`]).toContain(decoded(written));
    }),
    { numRuns: 2_000 },
  );
});

test('no message touches another, whatever their size, and none that was given up', () => {
  const out = new MessageBytes();
  const sizes = fc.oneof(fc.nat(3_000), fc.nat(20_000), fc.nat(200_000));
  const messages = fc.array(
    fc.record({ sizes: fc.array(sizes, { maxLength: 4 }), tail: fc.option(sizes), isGivenUp: fc.boolean() }),
    {
      minLength: 20,
      maxLength: 40,
    },
  );
  fc.assert(
    fc.property(messages, (given) => {
      const kept = given.map((message, no) => {
        out.clear();
        for (const size of message.sizes) out.addText(String.fromCodePoint(65 + (no % 26)).repeat(size));
        if (message.isGivenUp) return { taken: Buffer.alloc(0), expected: Buffer.alloc(0) };
        const tail = message.tail === null ? undefined : Buffer.alloc(message.tail, no);
        const length = message.sizes.reduce((sum, size) => sum + size, 0);
        return {
          taken: out.take(tail),
          expected: Buffer.concat([Buffer.alloc(length, 65 + (no % 26)), ...(tail ? [tail] : [])]),
        };
      });
      expect(kept.filter(({ taken, expected }) => !taken.equals(expected))).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

function decoded(written: string): string {
  const bytes = written
    .replaceAll('=\r\n', '')
    .replace(/=([0-9A-F]{2})/g, (_escape, hex: string) => String.fromCodePoint(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
