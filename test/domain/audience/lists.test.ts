import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { eraseDeleted } from '../../../src/domain/accounts/erase-deleted.ts';
import { addSubscriber } from '../../../src/domain/audience/add-subscriber.ts';
import { COUNTRIES, countryOf } from '../../../src/domain/audience/countries.ts';
import { createList } from '../../../src/domain/audience/create-list.ts';
import { deleteList } from '../../../src/domain/audience/delete-list.ts';
import { listCounters, listStatistics } from '../../../src/domain/audience/list-counter-store.ts';
import { readFieldValue } from '../../../src/domain/audience/field-value.ts';
import { isTakenTag, LIST_FIELDS_MAX } from '../../../src/domain/audience/list-field.ts';
import { fieldsOfList } from '../../../src/domain/audience/list-field-store.ts';
import { findOwnedList } from '../../../src/domain/audience/find-owned-list.ts';
import { updateList } from '../../../src/domain/audience/update-list.ts';
import { tagValues } from '../../../src/domain/content/merge-tags.ts';
import type { MessageSource } from '../../../src/domain/content/message.ts';
import { ForeignResourceError, NotFoundError, ValidationError, WrongStateError } from '../../../src/lib/errors.ts';
import { createTenant, newList, rightListInput } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const house = await createTestContext();
const ctx = await createTenant(house);
const stranger = await createTenant(house);

const hostile = ['', '   ', 'a\r\nBcc: evil@example.com', 'a\u0000b', 'x\ud800', 'y'.repeat(1_000_000), '\u2028'];

test('countries are numbered from 1 in the order of their English names', () => {
  expect(COUNTRIES.length).toBeGreaterThan(240);
  expect(COUNTRIES[0]).toEqual({ id: 1, code: 'AF', name: 'Afghanistan' });
  expect(COUNTRIES.every((country, index) => country.id === index + 1 && countryOf(country.id) === country)).toBe(true);
  expect(countryOf(0)).toBeUndefined();
});

test('a new list has its contact, two fields and counters', async () => {
  const list = await newList(ctx, { subscribeConfirmation: true });
  expect(list).toMatchObject({ name: 'Friends', subscribeConfirmation: true });
  expect((await fieldsOfList(ctx.db, list)).map(({ tag }) => tag)).toEqual(['FIRST_NAME', 'LAST_NAME']);
  const [contact] = await queryRows(ctx.db, sql`SELECT company, url FROM list_contact WHERE list_id = ${list.id}`);
  expect(contact).toEqual({ company: 'Acme', url: '' });
});

test('what a contact must have depends on the dialect (D14)', async () => {
  const brief = { ...rightListInput(), contact: { company: 'Acme', countryId: 7, email: 'a@b.co' } };
  await expect(createList(ctx, brief)).rejects.toMatchObject({
    fields: { 'contact.address1': expect.anything(), 'contact.zip': expect.anything() },
  });
  await expect(createList(ctx, { ...brief, briefContact: true })).resolves.toMatchObject({ name: 'Friends' });
});

test.each(['name', 'fromEmail', 'fromName', 'defaultSubject'])('hostile values of %s are refused', async (field) => {
  for (const value of hostile) {
    const failure = await createList(ctx, { ...rightListInput(), [field]: value }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ValidationError);
    expect(failure).toMatchObject({ fields: { [field]: [expect.stringMatching(/^The .+\.$/)] } });
  }
});

test('hostile contacts are refused, and what the input does not document is left alone', async () => {
  const { contact } = rightListInput();
  for (const wrong of [
    { email: 'nobody' },
    { countryId: 0 },
    { countryId: 9_999 },
    { url: 'javascript:alert(1)' },
    { company: 'a\nb' },
  ]) {
    await expect(createList(ctx, rightListInput({ contact: { ...contact, ...wrong } }))).rejects.toThrow(
      ValidationError,
    );
  }
  const greedy = {
    ...rightListInput(),
    id: 1,
    uid: 'ffffffffffff0',
    customerId: 77,
    customer_id: 77,
    status: 'x',
    createdAt: new Date(0),
  };
  const list = await createList(ctx, greedy);
  expect(list.customerId).toBe(ctx.viewer?.customerId);
  expect(list.uid).not.toBe('ffffffffffff0');
});

test('an update changes what it names and nothing else', async () => {
  const list = await newList(ctx);
  await updateList(ctx, list.uid, { name: ' Family ', contact: { city: 'Shelbyville' }, subscribeConfirmation: true });
  const [row] = await queryRows(
    ctx.db,
    sql`
    SELECT name, from_name, subscribe_confirmation, send_welcome_email, city, zip FROM mail_list l
      JOIN list_contact c ON c.list_id = l.id WHERE l.id = ${list.id}`,
  );
  expect(row).toEqual({
    name: 'Family',
    from_name: 'Sender',
    subscribe_confirmation: true,
    send_welcome_email: false,
    city: 'Shelbyville',
    zip: '12345',
  });
  await expect(updateList(ctx, list.uid, { fromEmail: 'x' })).rejects.toThrow(ValidationError);
  const greedy = { name: 'Still', customer_id: 1, uid: 'x' };
  await expect(updateList(ctx, list.uid, greedy)).resolves.toMatchObject({ name: 'Still', uid: list.uid });
});

test("lists of others and of nobody are not the caller's", async () => {
  const theirs = await newList(stranger);
  for (const act of [findOwnedList, deleteList, (c: typeof ctx, uid: string) => updateList(c, uid, { name: 'Mine' })]) {
    await expect(act(ctx, theirs.uid)).rejects.toThrow(ForeignResourceError);
    for (const uid of ['0000000000000', 'nonsense', '', 'a\u0000', 'é'.repeat(500)])
      await expect(act(ctx, uid)).rejects.toThrow(NotFoundError);
  }
  await expect(findOwnedList(stranger, theirs.uid)).resolves.toMatchObject({ name: 'Friends' });
});

test('fields: upper-case tags, unique, never the name of a merge tag', async () => {
  const list = await newList(ctx);
  const added = await addListField(ctx, list.uid, { type: 'number', label: 'Age', tag: 'age' });
  expect(added).toMatchObject({ type: 'number', tag: 'AGE', defaultValue: null, required: false });
  await expect(addListField(ctx, list.uid, { type: 'text', label: 'Age', tag: 'AGE' })).rejects.toMatchObject({
    code: 'FIELD_TAG_TAKEN',
  });
  for (const tag of ['EMAIL', 'unsubscribe_url', 'SUBSCRIBER_EMAIL', 'a-b', 'é', '', 'a b', 'x'.repeat(65)]) {
    await expect(addListField(ctx, list.uid, { type: 'text', label: 'L', tag })).rejects.toMatchObject({
      fields: { tag: expect.anything() },
    });
  }
  await expect(addListField(stranger, list.uid, { type: 'text', label: 'L', tag: 'T' })).rejects.toThrow(
    ForeignResourceError,
  );
});

test('a list has at most so many fields', async () => {
  const list = await newList(ctx);
  await ctx.db.execute(sql`
    INSERT INTO list_field (customer_id, uid, list_id, type, label, tag)
    SELECT ${list.customerId}, 'f' || n, ${list.id}, 'text', 'F', 'F' || n FROM generate_series(3, ${LIST_FIELDS_MAX}::int) n`);
  await expect(addListField(ctx, list.uid, { type: 'text', label: 'L', tag: 'ONE_MORE' })).rejects.toMatchObject({
    code: 'TOO_MANY_FIELDS',
  });
});

test('every built-in merge tag is taken', () => {
  const contact = {
    company: '',
    address1: '',
    address2: '',
    city: '',
    state: '',
    zip: '',
    country: '',
    phone: '',
    email: '',
    url: '',
  };
  const source: MessageSource = {
    ...{ kind: 'marketing', customerUid: '', campaign: { uid: '', name: '' }, list: { uid: '', name: '', contact } },
    ...{
      from: { name: '', email: '' },
      replyTo: null,
      subject: '',
      html: null,
      plain: '',
      trackOpens: false,
      trackClicks: false,
    },
    fieldDefaults: {},
  };
  const names = tagValues(source);
  expect([...names.keys()].filter((name) => !isTakenTag(name))).toEqual([]);
});

test('values by type', () => {
  const fault = (type: 'number' | 'datetime', value: string) => readFieldValue({ type, options: [] }, value).fault;
  for (const value of ['1', '-2.5', '.5', '1e3']) expect(fault('number', value)).toBeUndefined();
  for (const value of ['x', '1,5', '0x1', 'Infinity', '1 2']) expect(fault('number', value)).toBe('not_a_number');
  for (const value of ['2026-02-28', '2024-02-29 23:59', '2026-01-01T10:00:00.5Z', '2026-01-01 10:00:00 +02:00']) {
    expect(fault('datetime', value)).toBeUndefined();
  }
  for (const value of ['2026-02-29', '2026-13-01', '2026-01-01 25:00', 'tomorrow', '1/2/2026'])
    expect(fault('datetime', value)).toBeDefined();
});

test('deleting a list takes everything with it, unless a campaign is under way', async () => {
  const [list, other] = [await newList(ctx), await newList(ctx)];
  await addSubscriber(ctx, { listUid: list.uid, email: 'a@b.co', tags: ['x'] });
  await addSubscriber(ctx, { listUid: other.uid, email: 'a@b.co' });
  await ctx.db.execute(
    sql`INSERT INTO campaign (customer_id, uid, list_id, name, status) VALUES (${list.customerId}, 'c1', ${list.id}, 'Spring', 'sending')`,
  );
  await expect(deleteList(ctx, list.uid)).rejects.toThrow(WrongStateError);
  await ctx.db.execute(sql`UPDATE campaign SET status = 'done' WHERE list_id = ${list.id}`);
  await deleteList(ctx, list.uid);
  await eraseDeleted(ctx, { isStopping: () => false });
  for (const table of ['subscriber', 'consent_event', 'list_field', 'list_tag', 'list_contact', 'campaign']
    .map((name) => `public.${name}`)
    .concat('hot.list_counter', 'hot.subscriber_block')) {
    const { rows } = await ctx.database.pool.query(`SELECT count(*)::int AS n FROM ${table} WHERE list_id = $1`, [
      list.id,
    ]);
    expect([table, rows[0].n]).toEqual([table, 0]);
  }
  expect(
    (await listCounters(ctx.db, other.customerId, [list.id, other.id])).map(({ subscribed }) => subscribed),
  ).toEqual([0, 1]);
});

test('somebody who is added while the list is deleted is not left behind', async () => {
  const list = await newList(ctx);
  const adding = Array.from({ length: 10 }, (_, n) => addSubscriber(ctx, { listUid: list.uid, email: `p${n}@b.co` }));
  const results = await Promise.allSettled([...adding.slice(0, 5), deleteList(ctx, list.uid), ...adding.slice(5)]);
  for (const result of results) if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(NotFoundError);
  await eraseDeleted(ctx, { isStopping: () => false });
  const [row] = await queryRows(ctx.db, sql`SELECT count(*)::int AS n FROM subscriber WHERE list_id = ${list.id}`);
  expect(row).toEqual({ n: 0 });
});

test('statistics are rates of four places', () => {
  const none = {
    subscribed: 0,
    unsubscribed: 0,
    unconfirmed: 0,
    pending: 0,
    openers: 0,
    clickers: 0,
    sentCount: 0n,
    uniqOpenCount: 0n,
    uniqClickCount: 0n,
  };
  expect(listStatistics(none)).toMatchObject({ subscriberCount: 0, openUniqRate: 0, subscribeRate: 0 });
  expect(
    listStatistics({
      ...none,
      subscribed: 2,
      unsubscribed: 1,
      pending: 1,
      unconfirmed: 2,
      sentCount: 3n,
      uniqOpenCount: 1n,
    }),
  ).toEqual({
    ...{ subscriberCount: 6, openUniqRate: 0.3333, clickRate: 0, subscribeRate: 0.3333, unsubscribeRate: 0.1667 },
    ...{ unsubscribeCount: 1, unconfirmedCount: 3 },
  });
});
