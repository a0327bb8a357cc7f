/** A file that comes again: no row is written of who is as it says, and nobody is taken for the same who is not. */
import { queryRows } from '../../../../scripts/support/query-rows.ts';
import { fc } from '../../../support/property.ts';
import { expect, test } from 'vitest';
import { addListField } from '../../../../src/domain/audience/add-list-field.ts';
import { suppress } from '../../../../src/domain/audience/suppression-store.ts';
import type { MailList } from '../../../../src/domain/audience/list-fields.ts';
import { sql } from '../../../../src/db/database.ts';
import type { Context } from '../../../../src/domain/context.ts';
import { importFile, peopleOf } from '../../../support/import-file.ts';
import { createTenant, newList } from '../../../support/tenant.ts';
import { createTestContext } from '../../../support/test-context.ts';

const root = await createTestContext();
const tenant = await createTenant(root);
const ctx: Context = {
  ...tenant,
  installation: { ...tenant.installation, limits: { ...tenant.installation.limits, importBatchSize: 20 } },
};

async function cityList(): Promise<MailList> {
  const list = await newList(ctx);
  await addListField(ctx, list.uid, { type: 'text', label: 'City', tag: 'CITY' });
  return list;
}

const HEAD = 'email,first name,last name,city\n';
const lines = (count: number, of: (n: number) => string) =>
  HEAD + Array.from({ length: count }, (_, n) => of(n)).join('\n');
const usual = (n: number) => `p${n}@example.org,Ünal ${n},${n % 3 ? `Family ${n}` : ''},"Town, ${n % 7}"`;

test('no row is written when nothing is new', async () => {
  const list = await cityList();
  expect(await importFile(ctx, list, lines(200, usual))).toMatchObject({ added: 200 });
  const before = await queryRows(
    ctx.db,
    sql`SELECT id, xmin::text FROM subscriber WHERE list_id = ${list.id} ORDER BY id`,
  );
  const again = await importFile(ctx, list, lines(200, usual));
  expect(again).toMatchObject({ added: 0, updated: 0, unchanged: 200, processed: 200 });
  expect(
    await queryRows(ctx.db, sql`SELECT id, xmin::text FROM subscriber WHERE list_id = ${list.id} ORDER BY id`),
  ).toEqual(before);
});

test('what differs is found: new people, other values, a value that says less, people who are gone', async () => {
  const list = await cityList();
  await importFile(ctx, list, lines(100, usual));
  await ctx.db.execute(sql`DELETE FROM subscriber WHERE list_id = ${list.id} AND email = 'p5@example.org'`);
  const changed = (n: number) =>
    n === 7 ? 'p7@example.org,Other,Family 7,"Town, 0"' : n === 8 ? 'p8@example.org,,,' : usual(n);
  expect(await importFile(ctx, list, lines(110, changed))).toMatchObject({
    ...{ added: 11, updated: 1, unchanged: 98, processed: 110 },
  });
  const people = await peopleOf(ctx, list);
  expect(people.get('p7@example.org')?.fields).toMatchObject({ FIRST_NAME: 'Other' });
  expect(people.get('p8@example.org')?.fields).toEqual({
    FIRST_NAME: 'Ünal 8',
    LAST_NAME: 'Family 8',
    CITY: 'Town, 1',
  });
  expect(people.size).toBe(110);
});

test('who is suppressed is refused, also as the list has them', async () => {
  const list = await cityList();
  const others = (n: number) => usual(n).replace('p', 'other');
  await importFile(ctx, list, lines(60, others));
  await suppress(ctx.db, { customerId: list.customerId, emailKey: 'other3@example.org', reason: 'complaint' });
  await suppress(ctx.db, { customerId: 0n, emailKey: 'other50@example.org', reason: 'complaint' });
  await suppress(ctx.db, { customerId: list.customerId, emailKey: 'nobody@example.org', reason: 'complaint' });
  const again = await importFile(ctx, list, lines(60, others));
  expect(again).toMatchObject({ added: 0, updated: 0, unchanged: 58, rejected: 2 });
});

test('addresses in capitals are the same people, an apostrophe that exports put before one is none of it', async () => {
  const list = await cityList();
  await importFile(ctx, list, lines(40, usual));
  const inCapitals = lines(40, (n) => usual(n).replace('p', 'P').replace('.org', '.ORG'));
  expect(await importFile(ctx, list, inCapitals)).toMatchObject({ unchanged: 40 });
  // Two people; exports write the second as the first is.
  for (const [email, name] of [
    ["'-x@example.org", 'Three'],
    ['-x@example.org', 'One'],
  ] as const)
    await ctx.db.execute(sql`
      INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields, tags)
      VALUES (${list.customerId}, ${list.id}, ${email}, ${email}, 'subscribed', ${JSON.stringify({ FIRST_NAME: name })}::jsonb, '{}')`);
  await importFile(ctx, list, `${lines(40, usual)}\n'-x@example.org,Three,,\n`);
  expect((await peopleOf(ctx, list)).get('-x@example.org')?.fields).toMatchObject({ FIRST_NAME: 'Three' });
});

test('somebody who comes twice, changed and changed back, is as the last line says', async () => {
  const list = await cityList();
  await importFile(ctx, list, lines(100, usual));
  const file = `${HEAD}p3@example.org,Changed,,\n${lines(100, usual).slice(HEAD.length)}`;
  const filler = Array.from({ length: 60 }, (_, n) => `new${n}@example.org,,,`).join('\n');
  await importFile(ctx, list, `${HEAD}p3@example.org,Changed,,\n${filler}\n${usual(3)}\n`);
  expect((await peopleOf(ctx, list)).get('p3@example.org')?.fields).toMatchObject({ FIRST_NAME: 'Ünal 3' });
  await importFile(ctx, list, file);
  expect((await peopleOf(ctx, list)).get('p3@example.org')?.fields).toMatchObject({ FIRST_NAME: 'Ünal 3' });
});

test('whatever values are stored, the file is what the person has afterwards', async () => {
  const list = await cityList();
  const piece = fc.constantFrom('x', '"', '\\', '\\\\', ',"CITY":"', '","CITY":"y', 'ü', '{', '}', '\u0001', '');
  const value = fc.array(piece, { maxLength: 4 }).map((parts) => parts.join(''));
  const person = fc.record({ first: value, last: value, city: value });
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(person, person), { minLength: 20, maxLength: 60 }), async (pairs) => {
      await ctx.db.execute(sql`DELETE FROM subscriber WHERE list_id = ${list.id}`);
      const file = (at: 0 | 1) =>
        HEAD +
        pairs
          .map((pair, n) => `q${n}@example.org,${cell(pair[at].first)},${cell(pair[at].last)},${cell(pair[at].city)}`)
          .join('\n');
      await importFile(ctx, list, file(0));
      const before = await peopleOf(ctx, list);
      await importFile(ctx, list, file(1));
      const after = await peopleOf(ctx, list);
      // What an import into an empty list makes of the second file, over what was there.
      await ctx.db.execute(sql`DELETE FROM subscriber WHERE list_id = ${list.id}`);
      await importFile(ctx, list, file(1));
      const fresh = await peopleOf(ctx, list);
      for (const [email, { fields }] of after)
        expect(fields).toEqual({ ...before.get(email)?.fields, ...fresh.get(email)?.fields });
    }),
    { numRuns: 6, seed: 11 },
  );
});

test('a file that says more than values is compared with all that it says', async () => {
  const list = await cityList();
  await importFile(ctx, list, lines(400, usual));
  expect(await importFile(ctx, list, lines(10, usual))).toMatchObject({ unchanged: 10 });
  expect(await importFile(ctx, list, lines(400, usual), { tag: 'vip' })).toMatchObject({ updated: 400 });
  expect(await importFile(ctx, list, lines(400, usual), { tag: 'VIP' })).toMatchObject({ unchanged: 400 });
  const statuses = `email,status\n${Array.from({ length: 400 }, (_, n) => `p${n}@example.org,unsubscribed`).join('\n')}`;
  expect(await importFile(ctx, list, statuses)).toMatchObject({ updated: 400 });
  expect(await importFile(ctx, list, statuses)).toMatchObject({ unchanged: 400 });
});
