/** Several lines of one person: what becomes of it is the same wherever a slice of the import ends. */
import { expect, test } from 'vitest';
import { addSubscriber } from '../../../../src/domain/audience/add-subscriber.ts';
import type { Context } from '../../../../src/domain/context.ts';
import { importFile, peopleOf, rejectionsOf } from '../../../support/import-file.ts';
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

test('nobody gets more than a hundred tags by an import, and the report says who would have', async () => {
  const tags = (from: number, count: number) => Array.from({ length: count }, (_none, no) => `t${from + no}`).join('|');
  for (const size of [1_000, 1]) {
    const list = await newList(ctx);
    await addSubscriber(ctx, {
      listUid: list.uid,
      email: 'full@person.example',
      tags: [tags(0, 99).replaceAll('|', ',')],
    });
    const done = await importFile(
      inSlicesOf(size),
      list,
      [
        'email,first name,tags',
        `full@person.example,Anna,${tags(98, 3)}`,
        `new@person.example,Ben,${tags(0, 60)}`,
        `new@person.example,Bob,${tags(60, 41)}`,
        `other@person.example,Cat,${tags(0, 100)}`,
      ].join('\n'),
    );
    const people = await peopleOf(ctx, list);
    expect([...people.values()].map((person) => [person.email, person.tags.length, person.fields])).toEqual([
      ['full@person.example', 99, {}],
      ['new@person.example', 60, { FIRST_NAME: 'Ben' }],
      ['other@person.example', 100, { FIRST_NAME: 'Cat' }],
    ]);
    expect(await rejectionsOf(ctx, done)).toEqual({ 2: 'more than 100 tags', 4: 'more than 100 tags' });
  }
});
