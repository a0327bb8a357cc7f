import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { hashBytes } from '../../src/lib/hash-bytes.ts';
import { createTestContext } from '../support/test-context.ts';

const { db } = await createTestContext();

test('is what PostgreSQL says of the same texts', async () => {
  const letters = fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.replaceAll('\0', ''));
  const texts = ['', 'a', 'ü', 'x'.repeat(4_000), ...fc.sample(letters, { numRuns: 2_000, seed: 4 })];
  const rows = await db.query<{ hash: bigint }>(
    sql`SELECT hashtextextended(text, 0) AS hash FROM unnest(${texts}::text[]) WITH ORDINALITY AS t (text, no) ORDER BY no`,
  );
  const words = new Uint32Array(2);
  const ours = texts.map((text) => {
    // Somewhere in the middle of other bytes.
    const bytes = Buffer.from(`>>${text}<<`);
    hashBytes(bytes, { start: 2, stop: bytes.length - 2 }, { into: words, at: 0 });
    return BigInt.asIntN(64, (BigInt(words[1] ?? 0) << 32n) | BigInt(words[0] ?? 0));
  });
  expect(ours).toEqual(rows.map(({ hash }) => hash));
});
