/** Many lines in one slice: of one person, what all of them together say; and of many people, changed all at once. */
import { expect, test } from 'vitest';
import { importFile, peopleOf } from '../../../support/import-file.ts';
import { fc } from '../../../support/property.ts';
import { createTenant, newList } from '../../../support/tenant.ts';
import { createTestContext } from '../../../support/test-context.ts';

const ctx = await createTenant(await createTestContext());
const quoted = (value: string) => `"${value.replaceAll('"', '""')}"`;

test('an import keeps of every person what all lines together said', async () => {
  const line = fc.record({
    n: fc.integer({ min: 0, max: 5 }),
    text: fc.constantFrom('', 'A', 'b"c', '\\', 'Ж'),
    upper: fc.boolean(),
    status: fc.constantFrom('', 'unsubscribed', 'subscribed'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 20 }), async (lines) => {
      const wanted = new Map<string, { text: string | undefined; status: string | undefined }>();
      const file = ['first name,email,status'];
      for (const { n, text, upper, status } of lines) {
        const key = `p${n}@x.com`;
        file.push(`${quoted(text)},${upper ? key.toUpperCase() : key},${status}`);
        const known = wanted.get(key);
        wanted.set(key, {
          text: text || known?.text,
          status: known?.status === 'unsubscribed' ? known.status : status || known?.status,
        });
      }
      const list = await newList(ctx);
      const done = await importFile(ctx, list, file.join('\n'));
      expect(done).toMatchObject({ processed: lines.length, added: wanted.size, rejected: 0 });
      const found = [...(await peopleOf(ctx, list)).values()];
      expect(new Map(found.map((row) => [row.email.toLowerCase(), row]))).toEqual(
        new Map(
          [...wanted].map(([key, { text, status }]) => [
            key,
            expect.objectContaining({ fields: text ? { FIRST_NAME: text } : {}, status: status ?? 'subscribed' }),
          ]),
        ),
      );
      expect(found).toHaveLength(wanted.size);
    }),
    { numRuns: 25 },
  );
});

/** As many as a slice has by default. A plan that sets each beside all others would take minutes: the test would not end. */
const PEOPLE = 20_000;

test('a slice in which everybody is changed takes work in proportion to it', async () => {
  const list = await newList(ctx);
  const file = (name: string) =>
    `email,first name\n${Array.from({ length: PEOPLE }, (_, n) => `p${n}@x.com,${name}`).join('\n')}`;
  expect(await importFile(ctx, list, file('A'))).toMatchObject({ added: PEOPLE });
  expect(await importFile(ctx, list, file('B'))).toMatchObject({ updated: PEOPLE, unchanged: 0 });
});
