import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { addSubscriber } from '../../../src/domain/audience/add-subscriber.ts';
import { confirmSubscription } from '../../../src/domain/audience/confirm-subscription.ts';
import { confirmationRequest } from '../../../src/domain/audience/confirmation.ts';
import { consentHistories } from '../../../src/domain/audience/consent-read-model.ts';
import { deleteSubscriber } from '../../../src/domain/audience/delete-subscriber.ts';
import { expirePending } from '../../../src/domain/audience/expire-pending.ts';
import { findSubscriber, subscribersByAddress } from '../../../src/domain/audience/find-subscriber.ts';
import { listCounters } from '../../../src/domain/audience/list-counter-store.ts';
import { subscribeSubscriber } from '../../../src/domain/audience/subscribe-subscriber.ts';
import type { Subscriber } from '../../../src/domain/audience/subscriber.ts';
import { isSuppressed, suppress, unsuppress } from '../../../src/domain/audience/suppression-store.ts';
import { tagSubscriber, untagSubscriber } from '../../../src/domain/audience/tag-subscriber.ts';
import { unsubscribePerson, unsubscribeSubscriber } from '../../../src/domain/audience/unsubscribe-subscriber.ts';
import { updateSubscriber } from '../../../src/domain/audience/update-subscriber.ts';
import { ForeignResourceError, NotFoundError, ValidationError } from '../../../src/lib/errors.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const house = await createTestContext();
const ctx = await createTenant(house);
const stranger = await createTenant(house);
const single = await newList(ctx);
const double = await newList(ctx, { subscribeConfirmation: true });

let count = 0;
const address = () => `person${(count += 1)}@example.org`;
const add = (listUid = single.uid, email = address()) => addSubscriber(ctx, { listUid, email });
const key = (subscriber: Subscriber) => ({
  customerId: subscriber.customerId,
  listId: subscriber.listId,
  id: subscriber.id,
});
const historyOf = async (subscriber: Subscriber) =>
  (await consentHistories(ctx.db, subscriber.customerId, [subscriber]))[0]?.map(
    ({ status, source }) => `${status} by ${source}`,
  );
const lastAsking = async ({ id }: Subscriber) => {
  const [row] = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`SELECT max(id) AS id FROM consent_event WHERE subscriber_id = ${id} AND status = 'pending'`,
  );
  return row?.id ?? 0n;
};
const requestFor = async (person: Subscriber) =>
  confirmationRequest(ctx, { ...key(person), eventId: await lastAsking(person) });
const jobs = async () =>
  (await queryRows(ctx.db, sql`SELECT 1 FROM hot.message WHERE purpose = 'confirmation'`)).length;

test('single opt-in: subscribed at once, with fields, tags and history', async () => {
  await addListField(ctx, single.uid, { type: 'number', label: 'Age', tag: 'AGE' });
  const input = {
    listUid: single.uid,
    email: ' Ann@Example.ORG ',
    fieldValues: { first_name: 'Ann', AGE: ' 41 ', LAST_NAME: '' },
    tags: ['vip, Press,', 'VIP'],
  };
  const ann = await addSubscriber(ctx, input);
  expect(ann).toMatchObject({
    email: 'Ann@Example.ORG',
    status: 'subscribed',
    source: 'api',
    fields: { FIRST_NAME: 'Ann', AGE: '41' },
    tags: ['vip', 'Press'],
    ipAddress: null,
    pendingUntil: null,
  });
  expect(await historyOf(ann)).toEqual(['subscribed by api']);
  expect(await queryRows(ctx.db, sql`SELECT name FROM list_tag WHERE list_id = ${single.id} ORDER BY name`)).toEqual([
    { name: 'Press' },
    { name: 'vip' },
  ]);
});

test('one row per address and list, whatever the case and the status (D20)', async () => {
  const first = await add();
  await unsubscribeSubscriber(ctx, { subscriber: first.email });
  await expect(add(single.uid, first.email.toUpperCase())).rejects.toMatchObject({
    code: 'EMAIL_TAKEN',
    fields: { EMAIL: ['The email has already been taken.'] },
  });
  await expect(add(double.uid, first.email)).resolves.toMatchObject({ status: 'pending' });
});

test('ten callers adding one address make one row', async () => {
  const email = address();
  const results = await Promise.allSettled(Array.from({ length: 10 }, () => add(single.uid, email)));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const result of results)
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'EMAIL_TAKEN' });
});

test('double opt-in: pending until the link is clicked, once', async () => {
  const before = await jobs();
  const person = await add(double.uid);
  expect(person.status).toBe('pending');
  expect(await jobs()).toBe(before + 1);
  const request = await requestFor(person);
  expect(request).toMatchObject({
    email: person.email,
    listName: 'Friends',
    fromEmail: 'news@sender.example',
    contact: { company: 'Acme', countryId: 1 },
  });
  const expiresAt = request?.pendingUntil ?? new Date(0);
  expect(expiresAt.getMilliseconds()).toBe(0);
  expect(await confirmSubscription(ctx, { ...key(person), expiresAt })).toMatchObject({
    kind: 'confirmed',
    subscriber: { status: 'subscribed', pendingUntil: null },
  });
  expect(await confirmSubscription(ctx, { ...key(person), expiresAt })).toMatchObject({ kind: 'already-subscribed' });
  await unsubscribeSubscriber(ctx, { subscriber: person.email, listUid: double.uid });
  expect(await confirmSubscription(ctx, { ...key(person), expiresAt })).toEqual({ kind: 'used' });
  expect(await historyOf(person)).toEqual(['pending by api', 'subscribed by confirmation', 'unsubscribed by api']);
});

test('a link of before is used up after the person changed its mind; the new one works', async () => {
  const person = await add(double.uid);
  const old = person.pendingUntil ?? new Date(0);
  await ctx.db.execute(sql`UPDATE consent_event SET at = at - interval '1 hour' WHERE subscriber_id = ${person.id}`);
  const expiresBefore = new Date(old.getTime() - 3_600_000);
  await unsubscribeSubscriber(ctx, { subscriber: subscriberUid(person.id) });
  const again = await subscribeSubscriber(ctx, { subscriber: subscriberUid(person.id) });
  expect(again).toMatchObject({ status: 'pending' });
  expect(await confirmSubscription(ctx, { ...key(person), expiresAt: expiresBefore })).toEqual({ kind: 'used' });
  expect(await confirmSubscription(ctx, { ...key(person), expiresAt: again.pendingUntil ?? old })).toMatchObject({
    kind: 'confirmed',
  });
});

test('a confirmation that ran out makes unconfirmed, and its link does nothing', async () => {
  const [late, waiting] = [await add(double.uid), await add(double.uid)];
  await ctx.db.execute(sql`UPDATE subscriber SET pending_until = now() - interval '1 second' WHERE id = ${late.id}`);
  expect(await expirePending(ctx)).toBe(1);
  expect(await findSubscriber(ctx, { subscriber: late.email })).toMatchObject({
    status: 'unconfirmed',
    pendingUntil: null,
  });
  expect(await findSubscriber(ctx, { subscriber: waiting.email })).toMatchObject({ status: 'pending' });
  expect(await historyOf(late)).toEqual(['pending by api', 'unconfirmed by expiry']);
  expect(await confirmSubscription(ctx, { ...key(late), expiresAt: new Date(Date.now() - 1_000) })).toEqual({
    kind: 'expired',
  });
});

test('nobody is asked more than three times a day, over all lists of the customer', async () => {
  const email = address();
  const person = await add(double.uid, email);
  const elsewhere = await add((await newList(ctx, { subscribeConfirmation: true })).uid, email);
  const askedFirst = await lastAsking(person);
  for (let n = 0; n < 3; n++) await subscribeSubscriber(ctx, { subscriber: subscriberUid(person.id) });
  expect(await confirmationRequest(ctx, { ...key(person), eventId: askedFirst })).toBeDefined();
  expect(await requestFor(elsewhere)).toBeDefined();
  expect(await requestFor(person)).toBeUndefined();
  await ctx.db.execute(
    sql`UPDATE consent_event SET at = at - interval '25 hours' WHERE id <= ${await lastAsking(elsewhere)}`,
  );
  expect(await requestFor(person)).toBeDefined();
});

test('a suppressed address is neither added nor asked', async () => {
  const person = await add();
  const gone = { customerId: person.customerId, emailKey: person.email };
  expect(await suppress(ctx.db, { ...gone, reason: 'bounce' })).toBe(true);
  expect(await suppress(ctx.db, { ...gone, reason: 'manual' })).toBe(false);
  await expect(add(double.uid, person.email)).rejects.toMatchObject({ code: 'EMAIL_SUPPRESSED' });
  await expect(subscribeSubscriber(ctx, { subscriber: person.email })).rejects.toMatchObject({
    code: 'EMAIL_SUPPRESSED',
  });
  expect(await isSuppressed(ctx.db, { ...gone, customerId: stranger.viewer?.customerId ?? 0n })).toBe(false);
  await suppress(ctx.db, { customerId: 0n, emailKey: 'house@example.org', reason: 'manual' });
  expect(await isSuppressed(ctx.db, { ...gone, emailKey: 'house@example.org' })).toBe(true);
  expect(await unsuppress(ctx.db, gone)).toBe(true);
  await expect(add(double.uid, person.email)).resolves.toMatchObject({ status: 'pending' });
});

test('a slot takes a uid, an id or an address (D7)', async () => {
  const person = await add();
  for (const slot of [
    subscriberUid(person.id),
    String(person.id),
    person.email,
    person.email.toUpperCase(),
    ` ${person.email} `,
  ]) {
    expect(await findSubscriber(ctx, { subscriber: slot })).toMatchObject({ id: person.id });
  }
  await expect(findSubscriber(ctx, { subscriber: person.email, listUid: double.uid })).rejects.toThrow(NotFoundError);
  await expect(findSubscriber(ctx, { subscriber: String(person.id), listUid: double.uid })).rejects.toThrow(
    NotFoundError,
  );
  await add(double.uid, person.email);
  await expect(findSubscriber(ctx, { subscriber: person.email })).rejects.toMatchObject({
    fields: { listUid: expect.anything() },
  });
  expect(await subscribersByAddress(ctx, person.email)).toHaveLength(2);
});

test("other tenants' people: foreign by uid and id, unknown by address; nonsense is unknown", async () => {
  const person = await add();
  for (const slot of [subscriberUid(person.id), String(person.id)]) {
    await expect(findSubscriber(stranger, { subscriber: slot })).rejects.toThrow(ForeignResourceError);
    await expect(deleteSubscriber(stranger, { subscriber: slot })).rejects.toThrow(ForeignResourceError);
    await expect(updateSubscriber(stranger, { subscriber: slot, status: 'unsubscribed' })).rejects.toThrow(
      ForeignResourceError,
    );
  }
  await expect(findSubscriber(stranger, { subscriber: person.email })).rejects.toThrow(NotFoundError);
  // An integer that is not one's own is a 403, whether it is somebody's or not (decision D95).
  for (const slot of ['0', '99999999999999999999'])
    await expect(findSubscriber(ctx, { subscriber: slot })).rejects.toThrow(ForeignResourceError);
  for (const slot of ['', '-1', '1e3', 'a\u0000@b.co', '@', 'x'.repeat(100_000), "' OR 1=1 --", 'ffffffffffffff']) {
    await expect(findSubscriber(ctx, { subscriber: slot })).rejects.toThrow(NotFoundError);
  }
  await expect(addSubscriber(stranger, { listUid: single.uid, email: 'a@b.co' })).rejects.toThrow(ForeignResourceError);
});

test('hostile input is refused field by field and changes nothing', async () => {
  const before = await listCounters(ctx.db, single.customerId, [single.id]);
  for (const email of ['', 'x', 'a@b.co\r\nBcc: c@d.co', 'a\u0000@b.co', 'y'.repeat(1_000_000)]) {
    await expect(add(single.uid, email)).rejects.toMatchObject({ fields: { EMAIL: expect.anything() } });
  }
  const fields = {
    AGE: 'old',
    FIRST_NAME: 'a\u0000b',
    LAST_NAME: 'x'.repeat(5_000),
    NOPE: '1',
    ['n'.repeat(1_000)]: 1,
  };
  const failure = await addSubscriber(ctx, {
    listUid: single.uid,
    email: 'x',
    fieldValues: fields,
    tags: ['a\nb'],
  }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ValidationError);
  expect(failure).toMatchObject({
    fields: {
      EMAIL: expect.anything(),
      AGE: ['The AGE must be a number.'],
      FIRST_NAME: expect.anything(),
      LAST_NAME: expect.anything(),
      NOPE: expect.anything(),
      tags: expect.anything(),
    },
  });
  await expect(
    addSubscriber(ctx, { listUid: single.uid, email: 'x@y.co', fieldValues: { FIRST_NAME: { a: 1 } } }),
  ).rejects.toThrow(ValidationError);
  await expect(
    addSubscriber(ctx, { listUid: single.uid, email: 'x@y.co', tags: Array.from({ length: 101 }, (_, n) => `t${n}`) }),
  ).rejects.toThrow(ValidationError);
  expect(await listCounters(ctx.db, single.customerId, [single.id])).toEqual(before);
  const lenient = await addSubscriber(ctx, {
    listUid: single.uid,
    email: address(),
    fieldValues: { NOPE: '1' },
    ignoreUnknownFields: true,
  });
  expect(lenient.fields).toEqual({});
});

test('a required field must have a value', async () => {
  const list = await newList(ctx);
  await addListField(ctx, list.uid, { type: 'text', label: 'Town', tag: 'TOWN', required: true });
  await expect(addSubscriber(ctx, { listUid: list.uid, email: 'a@b.co' })).rejects.toMatchObject({
    fields: { TOWN: ['The TOWN field is required.'] },
  });
  await addSubscriber(ctx, { listUid: list.uid, email: 'a@b.co', fieldValues: { TOWN: 'Bath' } });
  await expect(updateSubscriber(ctx, { subscriber: 'a@b.co', fieldValues: { TOWN: '' } })).rejects.toThrow(
    ValidationError,
  );
  await expect(
    updateSubscriber(ctx, { subscriber: 'a@b.co', fieldValues: { FIRST_NAME: 'A' } }),
  ).resolves.toMatchObject({ fields: { TOWN: 'Bath', FIRST_NAME: 'A' } });
});

test('an update changes what it names; a status leaves a line of history', async () => {
  const person = await addSubscriber(ctx, {
    listUid: single.uid,
    email: address(),
    fieldValues: { FIRST_NAME: 'A', AGE: 3 },
    tags: ['one'],
  });
  const email = address();
  const updated = await updateSubscriber(ctx, {
    subscriber: String(person.id),
    email,
    fieldValues: { FIRST_NAME: null, LAST_NAME: 'B' },
    tags: ['two', 'ONE'],
    status: 'unsubscribed',
  });
  expect(updated).toMatchObject({
    email,
    status: 'unsubscribed',
    fields: { AGE: '3', LAST_NAME: 'B' },
    tags: ['one', 'two'],
  });
  expect(updated.fields).not.toHaveProperty('FIRST_NAME');
  expect(await historyOf(person)).toEqual(['subscribed by api', 'unsubscribed by api']);
  for (const status of ['pending', 'x', ''])
    await expect(updateSubscriber(ctx, { subscriber: email, status })).rejects.toMatchObject({
      fields: { status: expect.anything() },
    });
  const other = await add();
  await expect(updateSubscriber(ctx, { subscriber: email, email: other.email.toUpperCase() })).rejects.toMatchObject({
    code: 'EMAIL_TAKEN',
  });
  await expect(updateSubscriber(ctx, { subscriber: email, email: email.toUpperCase() })).resolves.toMatchObject({
    email: email.toUpperCase(),
  });
});

test('tags: additive, idempotent, compared without case, in order', async () => {
  const { email } = await add();
  expect((await tagSubscriber(ctx, { subscriber: email, tags: ['b,A,'] })).tags).toEqual(['b', 'A']);
  expect((await tagSubscriber(ctx, { subscriber: email, tags: ['a', ' c '] })).tags).toEqual(['b', 'A', 'c']);
  expect((await untagSubscriber(ctx, { subscriber: email, tags: ['B,zzz'] })).tags).toEqual(['A', 'c']);
  for (const tags of [[], [''], [' , '], ['x'.repeat(101)], ['a\u0000']])
    await expect(tagSubscriber(ctx, { subscriber: email, tags })).rejects.toMatchObject({
      fields: { tags: expect.anything() },
    });
  await tagSubscriber(ctx, { subscriber: email, tags: Array.from({ length: 98 }, (_, n) => `t${n}`) });
  await expect(tagSubscriber(ctx, { subscriber: email, tags: ['more'] })).rejects.toMatchObject({
    code: 'TOO_MANY_TAGS',
  });
});

test('tags added at once are all kept', async () => {
  const { email } = await add();
  await Promise.all(Array.from({ length: 10 }, (_, n) => tagSubscriber(ctx, { subscriber: email, tags: [`t${n}`] })));
  expect((await findSubscriber(ctx, { subscriber: email })).tags).toHaveLength(10);
});

test('unsubscribing twice changes once', async () => {
  const person = await add();
  expect(await unsubscribePerson(ctx, key(person), 'one-click')).toMatchObject({ changed: true });
  expect(await unsubscribePerson(ctx, key(person), 'one-click')).toMatchObject({ changed: false });
  expect(await historyOf(person)).toEqual(['subscribed by api', 'unsubscribed by one-click']);
  expect(await unsubscribePerson(ctx, { ...key(person), id: 1n << 50n }, 'link')).toBeUndefined();
});

test('deleting erases the person, its history and its counts', async () => {
  const list = await newList(ctx);
  const [person, other] = [await add(list.uid), await add(list.uid)];
  for (const { id } of [person, other]) {
    await ctx.db.execute(
      sql`INSERT INTO hot.subscriber_activity VALUES (${list.customerId}, ${list.id}, ${id}, now(), NULL)`,
    );
  }
  await ctx.db.execute(sql`UPDATE hot.list_counter SET openers = 2 WHERE list_id = ${list.id}`);
  await deleteSubscriber(ctx, { subscriber: person.email });
  await expect(deleteSubscriber(ctx, { subscriber: person.email })).rejects.toThrow(NotFoundError);
  expect(await historyOf(person)).toEqual([]);
  expect(await listCounters(ctx.db, list.customerId, [list.id])).toMatchObject([
    { subscribed: 1, openers: 1, clickers: 0 },
  ]);
});
