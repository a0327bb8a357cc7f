/** Segments by what happened to people (`did`, `didNot`): how often, since when, and by what kind, for one list of one customer. */
import { expect, test } from 'vitest';
import { sql } from '../../../../src/db/database.ts';
import { addListField } from '../../../../src/domain/audience/add-list-field.ts';
import { addSubscriber } from '../../../../src/domain/audience/add-subscriber.ts';
import type { MailList } from '../../../../src/domain/audience/list-fields.ts';
import { parseRule } from '../../../../src/domain/audience/segments/parse-rule.ts';
import { peopleByKey } from '../../../../src/domain/audience/segments/segment-read-model.ts';
import { updateSubscriber } from '../../../../src/domain/audience/update-subscriber.ts';
import { recordOutsideEvents } from '../../../../src/domain/automations/events/record-outside-events.ts';
import type { Context } from '../../../../src/domain/context.ts';
import { createTenant, newList } from '../../../support/tenant.ts';
import { createTestContext } from '../../../support/test-context.ts';

const base = await createTestContext();
const VIPS = { tags: { hasAny: ['vip'] } };

interface ListOfPeople {
  readonly ctx: Context;
  readonly list: MailList;
}

/** A list of `p1@example.org` on. */
async function tenantList(people: number): Promise<ListOfPeople> {
  const ctx = await createTenant(base);
  const list = await newList(ctx);
  for (let no = 1; no <= people; no++) await addSubscriber(ctx, { listUid: list.uid, email: `p${no}@example.org` });
  return { ctx, list };
}

const did = async (own: ListOfPeople, rule: unknown) =>
  (
    await peopleByKey(
      own.ctx,
      { customerId: own.list.customerId, listId: own.list.id, rule: parseRule(rule) },
      { limit: 100 },
    )
  ).map(({ email }) => email.split('@')[0]);
const DAY_MS = 86_400_000;
const report = (own: ListOfPeople, name: string, people: Readonly<Record<string, readonly number[]>>) =>
  recordOutsideEvents(own.ctx, {
    events: Object.entries(people).flatMap(([person, daysAgo]) =>
      daysAgo.map((days) => ({
        ...{ name, subscriber: `${person}@example.org`, listUid: own.list.uid },
        occurredAt: new Date(Date.now() - days * DAY_MS).toISOString(),
      })),
    ),
  });

test('is counted by name, how often and since when, for one list of one customer', async () => {
  const [own, stranger] = [await tenantList(6), await tenantList(6)];
  const other = { ctx: own.ctx, list: await newList(own.ctx) };
  await own.ctx.db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
    SELECT ${own.list.customerId}, ${other.list.id}, email, email_key, 'subscribed', '{}' FROM subscriber WHERE list_id = ${own.list.id}`);
  await report(own, 'order_placed', { p1: [1], p2: [40, 41], p3: [2, 50], p4: [1, 2, 3] });
  await report(own, 'order_paid', { p5: [1] });
  await report(other, 'order_placed', { p5: [1], p6: [1, 1, 1] });
  await report(stranger, 'order_placed', { p5: [1], p6: [1, 1, 1] });
  const placed = { event: 'order_placed' };
  expect(await did(own, { did: placed })).toEqual(['p1', 'p2', 'p3', 'p4']);
  expect(await did(own, { didNot: placed })).toEqual(['p5', 'p6']);
  expect(await did(own, { did: { ...placed, inLastDays: 30 } })).toEqual(['p1', 'p3', 'p4']);
  expect(await did(own, { did: { ...placed, atLeast: 2 } })).toEqual(['p2', 'p3', 'p4']);
  expect(await did(own, { did: { ...placed, atLeast: 2, inLastDays: 30 } })).toEqual(['p4']);
  expect(await did(own, { didNot: { ...placed, atLeast: 2, inLastDays: 30 } })).toEqual([
    ...['p1', 'p2', 'p3', 'p5', 'p6'],
  ]);
  expect(await did(own, { all: [{ did: placed }, { didNot: { ...placed, inLastDays: 30 } }] })).toEqual(['p2']);
  expect(await did(own, { none: [{ any: [{ did: placed }, { did: { event: 'order_paid' } }] }] })).toEqual(['p6']);
  expect(await did(other, { did: placed })).toEqual(['p5', 'p6']);
});

test('is counted by kind, with its tag or field, and each change once', async () => {
  const own = await tenantList(4);
  await addListField(own.ctx, own.list.uid, { type: 'number', label: 'Age', tag: 'AGE' });
  const change = (person: string, input: object) =>
    updateSubscriber(own.ctx, { subscriber: `${person}@example.org`, listUid: own.list.uid, ...input });
  await change('p1', { tags: ['VIP', 'press'] });
  await own.ctx.db.execute(
    sql`UPDATE subscriber SET tags = '{}' WHERE list_id = ${own.list.id} AND email_key = 'p1@example.org'`,
  );
  await change('p2', { tags: ['press'], fieldValues: { AGE: '4' } });
  await addSubscriber(own.ctx, { listUid: own.list.uid, email: 'p5@example.org', tags: ['Vip'] });
  const tagged = { kind: 'tagged', tag: 'vip' };
  expect(await did(own, { did: tagged })).toEqual(['p1', 'p5']);
  expect(await did(own, { did: { kind: 'tagged' } })).toEqual(['p1', 'p2', 'p5']);
  expect(await did(own, { all: [{ did: tagged }, { none: [VIPS] }] })).toEqual(['p1']);
  expect(await did(own, { did: { kind: 'untagged', tag: 'PRESS', inLastDays: 1 } })).toEqual(['p1']);
  expect(await did(own, { did: { kind: 'changed', field: 'AGE' } })).toEqual(['p2']);
  expect(await did(own, { didNot: { kind: 'changed' } })).toEqual(['p1', 'p3', 'p4', 'p5']);
  expect(await did(own, { did: { kind: 'added', inLastDays: 1 } })).toEqual(['p1', 'p2', 'p3', 'p4', 'p5']);
  expect(await did(own, { did: { kind: 'added', atLeast: 2 } })).toEqual([]);
});
