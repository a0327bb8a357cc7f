/** Several lines of one person: what becomes of it is the same wherever a slice of the import ends. */
import { expect, test } from 'vitest';
import { addSubscriber } from '../../../../src/domain/audience/add-subscriber.ts';
import { rejectedLines } from '../../../../src/domain/audience/imports/import-rejection-store.ts';
import { suppress } from '../../../../src/domain/audience/suppression-store.ts';
import type { Context } from '../../../../src/domain/context.ts';
import { importFile, peopleOf, rejectionsOf } from '../../../support/import-file.ts';
import { fc } from '../../../support/property.ts';
import { createTenant, newList } from '../../../support/tenant.ts';
import { createTestContext } from '../../../support/test-context.ts';

const ctx = await createTenant(await createTestContext());

const inSlicesOf = (importBatchSize: number): Context => ({
  ...ctx,
  installation: { ...ctx.installation, limits: { ...ctx.installation.limits, importBatchSize } },
});

test('what several lines say of a person does not depend on where a slice ends', async () => {
  const words = ['', 'subscribed', 'unconfirmed', 'unsubscribed'];
  const pairs = words.flatMap((first) => words.map((second) => [first, second] as const));
  const lines = [0, 1].flatMap((place) => pairs.map((pair, no) => `p${no}@person.example,${pair[place]}`));
  const statuses = async (size: number) => {
    const list = await newList(ctx);
    await importFile(inSlicesOf(size), list, `email,status\n${lines.join('\n')}\n`);
    return [...(await peopleOf(ctx, list)).values()].map(({ email, status }) => `${email} ${status}`).toSorted();
  };
  const inOneSlice = await statuses(1_000);
  expect(inOneSlice).toHaveLength(pairs.length);
  expect(await statuses(1)).toEqual(inOneSlice);
});

const tags = (from: number, count: number) => Array.from({ length: count }, (_none, no) => `t${from + no}`).join('|');

/** What becomes of the file in slices of this size, on a list with somebody who has `had` tags. */
async function outcome(size: number, had: number, lines: readonly string[]) {
  const list = await newList(ctx);
  await addSubscriber(ctx, {
    listUid: list.uid,
    email: 'full@person.example',
    tags: [tags(0, had).replaceAll('|', ',')],
  });
  const done = await importFile(inSlicesOf(size), list, ['email,first name,status,tags', ...lines].join('\n'));
  const people = [...(await peopleOf(ctx, list)).values()];
  return {
    people: people.map((person) => ({
      ...{ email: person.email, status: person.status, name: person.fields['FIRST_NAME'], tags: person.tags },
    })),
    lines: await rejectionsOf(ctx, done),
    counts: {
      ...{ processed: done.processed, added: done.added, rejected: done.rejected },
      others: done.updated + done.unchanged,
    },
  };
}

const LEFT_OUT = 'more than 100 tags: the tags were left out';

test('nobody gets more than a hundred tags by an import, all else of the line is taken, and the report names the line', async () => {
  for (const size of [1_000, 1]) {
    const { people, lines, counts } = await outcome(size, 99, [
      `full@person.example,Anna,,${tags(98, 3)}`,
      `new@person.example,Ben,,${tags(0, 60)}`,
      `new@person.example,Bob,,${tags(60, 41)}`,
      `other@person.example,Cat,,${tags(0, 100)}`,
      `more@person.example,Dan,unsubscribed,${tags(0, 101)}`,
    ]);
    expect(people.map((person) => [person.email, person.status, person.name, person.tags.length])).toEqual([
      ['full@person.example', 'subscribed', 'Anna', 99],
      ['new@person.example', 'subscribed', 'Bob', 60],
      ['other@person.example', 'subscribed', 'Cat', 100],
      ['more@person.example', 'unsubscribed', 'Dan', 0],
    ]);
    expect(lines).toEqual({ 2: LEFT_OUT, 4: LEFT_OUT, 6: LEFT_OUT });
    expect(counts).toEqual({ processed: 5, added: 3, rejected: 0, others: 2 });
  }
});

test.each([
  ['on a line with a tag too many', 100, ['full@person.example,,unsubscribed,x'], [2]],
  [
    'after a line with all tags',
    0,
    [`full@person.example,,,${tags(0, 100)}`, 'full@person.example,,unsubscribed,y'],
    [3],
  ],
  [
    'between lines with fields and with tags too many',
    99,
    ['full@person.example,Anna,,', 'full@person.example,,unsubscribed,', 'full@person.example,,,x|y'],
    [4],
  ],
])('whoever unsubscribed %s is unsubscribed', async (_where, had, file, reported) => {
  for (const size of [1_000, 1]) {
    const { people, lines } = await outcome(size, had, file);
    expect(people).toMatchObject([{ status: 'unsubscribed' }]);
    expect(lines).toEqual(Object.fromEntries(reported.map((line) => [line, LEFT_OUT])));
  }
});

test('tags near the limit, statuses and fields on several lines come to the same in slices of any size', async () => {
  const line = fc.record({
    who: fc.constantFrom('full', 'full', 'new'),
    name: fc.constantFrom('', 'A', 'B'),
    status: fc.constantFrom('', '', 'subscribed', 'unsubscribed', 'unconfirmed'),
    from: fc.integer({ min: 90, max: 99 }),
    count: fc.constantFrom(0, 0, 1, 2, 5, 60, 100, 101),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { minLength: 2, maxLength: 8 }),
      fc.constantFrom(0, 50, 97, 99, 100),
      async (given, had) => {
        const lines = given.map(
          ({ who, name, status, from, count }) => `${who}@person.example,${name},${status},${tags(from, count)}`,
        );
        const inOneSlice = await outcome(1_000, had, lines);
        expect(await outcome(1, had, lines)).toEqual(inOneSlice);
        expect(await outcome(2, had, lines)).toEqual(inOneSlice);
        expect(inOneSlice.people.every((person) => person.tags.length <= 100)).toBe(true);
      },
    ),
    { numRuns: 8 },
  );
});

test('all lines of somebody who is suppressed are rejected, in slices of any size', async () => {
  const customerId = (await newList(ctx)).customerId;
  await suppress(ctx.db, { customerId, emailKey: 'gone@person.example', reason: 'complaint' });
  for (const size of [1_000, 1]) {
    const { lines, counts } = await outcome(size, 0, ['gone@person.example,A,,', 'gone@person.example,B,,']);
    expect(Object.keys(lines)).toEqual(['2', '3']);
    expect(counts).toEqual({ processed: 2, added: 0, rejected: 2, others: 0 });
  }
});

test('a rejected line is kept as the file has it', async () => {
  const list = await newList(ctx);
  await suppress(ctx.db, { customerId: list.customerId, emailKey: 'kept@person.example', reason: 'complaint' });
  const file = 'email,first name,status,tags\nKept@Person.example,Anna,opted out,a|b\n';
  const { id } = await importFile(ctx, list, file);
  const [rejected] = await rejectedLines(ctx.db, { ...list, id }, { afterLine: 0, limit: 1 });
  expect(rejected?.cells).toEqual(['Kept@Person.example', 'Anna', 'opted out', 'a|b']);
});
