import { fc } from '../support/property.ts';
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
    words.fill(0);
    hashBytes(bytes, { start: 2, stop: bytes.length - 2 }, { into: words, at: 0 });
    return BigInt.asIntN(64, (BigInt(words[1] ?? 0) << 32n) | BigInt(words[0] ?? 0));
  });
  expect(ours).toEqual(rows.map(({ hash }) => hash));
});

test('goes on from another hash as PostgreSQL does from a seed', async () => {
  const letters = fc.string({ unit: 'binary', maxLength: 30 }).map((text) => text.replaceAll('\0', ''));
  const pairs = fc.sample(fc.tuple(letters, letters), { numRuns: 1_000, seed: 5 });
  const rows = await db.query<{ hash: bigint }>(
    sql`SELECT hashtextextended(b, hashtextextended(a, 0)) AS hash
          FROM unnest(${pairs.map(([a]) => a)}::text[], ${pairs.map(([, b]) => b)}::text[]) WITH ORDINALITY AS t (a, b, no) ORDER BY no`,
  );
  const words = new Uint32Array(2);
  const ours = pairs.map((pair) => {
    words.fill(0);
    for (const text of pair) {
      const bytes = Buffer.from(text);
      hashBytes(bytes, { start: 0, stop: bytes.length }, { into: words, at: 0 });
    }
    return BigInt.asIntN(64, (BigInt(words[1] ?? 0) << 32n) | BigInt(words[0] ?? 0));
  });
  expect(ours).toEqual(rows.map(({ hash }) => hash));
});
