/** Subscribers over GraphQL: added, found, changed, tagged, asked, deleted; pages; and what is refused. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { createList } from '../../src/domain/audience/create-list.ts';
import { countStatements, NOISE } from '../support/count-statements.ts';
import { startGraphqlApp } from '../support/graphql-app.ts';
import { rightListInput } from '../support/tenant.ts';

const app = await startGraphqlApp();
const owner = await app.newCustomer();
const stranger = await app.newCustomer();
const listReader = await app.newCustomer(['lists:read']);

const viewerOf = ({ customerId, userId }: typeof owner) => ({
  customerId,
  userId,
  userUid: 'x',
  tokenId: 0n,
  tokenUid: 't',
  tokenKind: 'primary' as const,
  isAdmin: false,
  scopes: ['*'],
});
const newList = (who = owner, changes = {}) =>
  createList({ ...app.ctx, viewer: viewerOf(who) }, rightListInput(changes));
const list = await newList();

const PERSON =
  '... on Subscriber { uid id email status fieldValues tags list { uid } consentEvents { status source ipAddress } }';
const FAILURE = '... on ValidationError { fields { field messages } } ... on Error { code }';
const ADD = `mutation ($input: AddSubscriberInput!) { r: addSubscriber(input: $input) { __typename ${PERSON} ${FAILURE} } }`;
const UPDATE = `mutation ($input: UpdateSubscriberInput!) { r: updateSubscriber(input: $input) { __typename ${PERSON} ${FAILURE} } }`;
const READ = `query ($subscriber: String!, $listUid: String) { r: subscriber(subscriber: $subscriber, listUid: $listUid) { __typename ${PERSON} ${FAILURE} } }`;
const act = (name: string, tags = false) =>
  `mutation ($subscriber: String!, $listUid: String${tags ? ', $tags: [String!]!' : ''}) { r: ${name}(subscriber: $subscriber, listUid: $listUid${tags ? ', tags: $tags' : ''}) { __typename ${name === 'deleteSubscriber' ? '... on DeletedSubscriber { uid }' : PERSON} ${FAILURE} } }`;

interface Result {
  readonly __typename: string;
  readonly uid: string;
  readonly id: string;
  readonly status?: string;
  readonly tags?: string[];
}

async function run(document: string, variables: Record<string, unknown>, token = owner.token): Promise<Result> {
  const { data, errors } = await app.run(document, variables, token);
  expect(errors ?? []).toEqual([]);
  return data['r'] as Result;
}

let count = 0;
const add = (changes: object = {}) =>
  run(ADD, { input: { listUid: list.uid, email: `p${(count += 1)}@example.org`, ...changes } });

describe('a subscriber', () => {
  test('is added with fields and tags, and read by uid, id and address', async () => {
    const added = await add({ email: 'Ann@x.co', fieldValues: { FIRST_NAME: 'Ann' }, tags: ['vip', 'press'] });
    expect(added).toMatchObject({
      ...{
        __typename: 'Subscriber',
        email: 'Ann@x.co',
        status: 'subscribed',
        tags: ['vip', 'press'],
        list: { uid: list.uid },
      },
      ...{
        fieldValues: { FIRST_NAME: 'Ann', LAST_NAME: null },
        consentEvents: [{ status: 'subscribed', source: 'api', ipAddress: '127.0.0.1' }],
      },
    });
    for (const subscriber of [added.uid, added.id, 'ann@X.CO']) expect(await run(READ, { subscriber })).toEqual(added);
    expect(await add({ email: 'ANN@x.co' })).toMatchObject({
      __typename: 'ValidationError',
      code: 'EMAIL_TAKEN',
      fields: [{ field: 'EMAIL' }],
    });
  });

  test('starts automations unless it says no', async () => {
    const starts = async ({ id }: Result) => {
      const rows = await queryRows<{ starts: boolean }>(
        app.ctx.db,
        sql`SELECT starts_flows AS starts FROM hot.person_event WHERE person_id = ${BigInt(id)}`,
      );
      return rows.map((one) => one.starts);
    };
    expect(await starts(await add())).toEqual([true]);
    expect(await starts(await add({ runAutomations: false }))).toEqual([false]);
  });

  test('waits for its confirmation on a double opt-in list', async () => {
    const double = await newList(owner, { subscribeConfirmation: true });
    expect(await add({ listUid: double.uid })).toMatchObject({ status: 'pending' });
  });

  test('is updated, tagged, asked, unsubscribed and deleted', async () => {
    const { uid: subscriber } = await add({ tags: ['a'] });
    expect(
      await run(UPDATE, { input: { subscriber, fieldValues: { LAST_NAME: 'B' }, tags: ['b'], status: 'unconfirmed' } }),
    ).toMatchObject({ status: 'unconfirmed', tags: ['a', 'b'] });
    expect(await run(act('tagSubscriber', true), { subscriber, tags: ['c,A'] })).toMatchObject({
      tags: ['a', 'b', 'c'],
    });
    expect(await run(act('untagSubscriber', true), { subscriber, tags: ['B'] })).toMatchObject({ tags: ['a', 'c'] });
    expect(await run(act('subscribeSubscriber'), { subscriber })).toMatchObject({ status: 'pending' });
    expect(await run(act('unsubscribeSubscriber'), { subscriber, listUid: list.uid })).toMatchObject({
      status: 'unsubscribed',
    });
    expect(await run(act('deleteSubscriber'), { subscriber })).toEqual({
      __typename: 'DeletedSubscriber',
      uid: subscriber,
    });
    expect(await run(READ, { subscriber })).toMatchObject({
      __typename: 'NotFoundError',
      code: 'SUBSCRIBER_NOT_FOUND',
    });
  });

  test('on several lists is found with the list', async () => {
    const other = await newList();
    await add({ email: 'two@x.co' });
    await add({ email: 'two@x.co', listUid: other.uid });
    expect(await run(READ, { subscriber: 'two@x.co' })).toMatchObject({
      __typename: 'ValidationError',
      fields: [{ field: 'listUid' }],
    });
    expect(await run(READ, { subscriber: 'two@x.co', listUid: other.uid })).toMatchObject({ list: { uid: other.uid } });
    const { data } = await app.run(
      '{ subscribersByEmail(email: "TWO@x.co") { ... on SubscribersByEmailSuccess { nodes { list { uid } } } } }',
      {},
      owner.token,
    );
    expect(data['subscribersByEmail']).toEqual({
      nodes: [{ list: { uid: list.uid } }, { list: { uid: other.uid } }],
    });
  });
});

describe('other tenants', () => {
  test('see and change nothing', async () => {
    const { uid: subscriber } = await add();
    for (const document of [READ, act('unsubscribeSubscriber'), act('subscribeSubscriber'), act('deleteSubscriber')]) {
      const foreign = await run(document, { subscriber }, stranger.token);
      expect(foreign).toMatchObject({ __typename: 'NotFoundError' });
      expect(foreign).toEqual(await run(document, { subscriber: '0123456789abc' }, stranger.token));
    }
    expect(await run(ADD, { input: { listUid: list.uid, email: 'a@b.co' } }, stranger.token)).toMatchObject({
      code: 'LIST_NOT_FOUND',
    });
    expect(await run(READ, { subscriber })).toMatchObject({ status: 'subscribed' });
  });

  test('a token for lists reads no people', async () => {
    const { data } = await app.run('{ subscribers { ... on Error { code } } }', {}, listReader.token);
    expect(data['subscribers']).toEqual({ code: 'FORBIDDEN' });
    const theirs = await newList(listReader);
    const inside = await app.run(
      'query ($uid: String!) { list(uid: $uid) { ... on MailList { subscribers { nodes { email } } } } }',
      { uid: theirs.uid },
      listReader.token,
    );
    expect(inside.errors[0]?.extensions).toMatchObject({ code: 'FORBIDDEN' });
  });
});

describe('hostile values', () => {
  const texts = [
    '',
    'a\r\nBcc: x@y.co',
    '\u2028',
    'x'.repeat(1_000_000),
    "'; DROP TABLE subscriber; --",
    '{{7*7}}',
    '<script>',
    '\ud800',
    'a\u0000',
  ];
  test.each(texts.map((text, n) => [n, text] as const))('no %i never reach a defect', async (_n, text) => {
    const { uid: subscriber } = await add();
    const inputs = [
      { email: text },
      { fieldValues: { FIRST_NAME: text } },
      { fieldValues: { [text]: 'x' } },
      { tags: [text] },
      { listUid: text },
    ];
    for (const input of inputs) {
      for (const [document, base] of [
        [ADD, { listUid: list.uid, email: `h${(count += 1)}@x.co` }],
        [UPDATE, { subscriber }],
      ] as const) {
        const { errors } = await app.run(document, { input: { ...base, ...input } }, owner.token);
        for (const error of errors ?? []) expect(error.extensions['code']).not.toBe('INTERNAL_ERROR');
      }
    }
    for (const [document, variables] of [
      [READ, { subscriber: text }],
      [act('tagSubscriber', true), { subscriber, tags: [text] }],
      [UPDATE, { input: { subscriber, status: text } }],
    ] as const) {
      const { errors } = await app.run(document, variables, owner.token);
      for (const error of errors ?? []) expect(error.extensions['code']).not.toBe('INTERNAL_ERROR');
    }
    expect(app.logged.filter((line) => line.includes('graphql.defect'))).toEqual([]);
  });
});

describe('pages', () => {
  test('by key and by number, with activity', async () => {
    const many = await newList();
    await app.ctx.db.execute(sql`
      WITH made AS (
        INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
        SELECT ${many.customerId}, ${many.id}, n || '@m.co', n || '@m.co', 'subscribed', '{}' FROM generate_series(1, 120) n RETURNING id),
      active AS (INSERT INTO hot.subscriber_activity SELECT ${many.customerId}, ${many.id}, id, now(), NULL FROM made WHERE id % 2 = 0 RETURNING 1)
      SELECT 1`);
    await app.ctx.db.execute(sql`UPDATE hot.list_counter SET openers = 60 WHERE list_id = ${many.id}`);
    const document = `query ($uid: String!, $first: Int, $after: String, $last: Int, $before: String) { list(uid: $uid) { ... on MailList {
      subscribers(first: $first, after: $after, last: $last, before: $before) { nodes { email } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } } }`;
    const read = async (variables: object) => {
      const { data } = await app.run(document, { uid: many.uid, ...variables }, owner.token);
      const { subscribers } = data['list'] as {
        subscribers: { nodes: { email: string }[]; pageInfo: Record<string, unknown> };
      };
      return { emails: subscribers.nodes.map(({ email }) => email), pageInfo: subscribers.pageInfo };
    };
    const first = await read({ first: 100 });
    expect(first.pageInfo).toMatchObject({ hasNextPage: true });
    const second = await read({ first: 100, after: first.pageInfo['endCursor'] });
    expect([...first.emails, ...second.emails]).toEqual(Array.from({ length: 120 }, (_, n) => `${n + 1}@m.co`));
    expect((await read({ last: 2 })).emails).toEqual(['119@m.co', '120@m.co']);
    expect((await read({ last: 2, before: second.pageInfo['startCursor'] })).emails).toEqual(['99@m.co', '100@m.co']);
    const page = `query ($listUid: String, $page: Int, $opened: Boolean) { subscribersPage(listUid: $listUid, page: $page, perPage: 50, opened: $opened) { ... on SubscriberPage { total nodes { email } } } }`;
    const pageOf = async (variables: object) =>
      (await app.run(page, { listUid: many.uid, ...variables }, owner.token)).data['subscribersPage'] as {
        total: number;
        nodes: unknown[];
      };
    expect(await pageOf({ page: 3 })).toMatchObject({ total: 120, nodes: { length: 20 } });
    expect(await pageOf({ page: 2, opened: true })).toMatchObject({ total: 60, nodes: { length: 10 } });
    expect(await pageOf({ page: 4 })).toEqual({ total: 120, nodes: [] });
    const broken = await app.run('{ subscribers(after: "x") { __typename } }', {}, owner.token);
    expect(broken.data['subscribers']).toEqual({ __typename: 'ValidationError' });
  });

  test('of several lists are read at once, each with its own people and arguments', async () => {
    const lists = [await newList(), await newList(), await newList()];
    for (const [at, list] of lists.slice(0, 2).entries())
      await app.ctx.db.execute(sql`
        INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
        SELECT ${list.customerId}, ${list.id}, n || '@' || ${at} || '.co', n || '@' || ${at} || '.co', 'subscribed', '{}'
          FROM generate_series(1, 3) n`);
    const inner =
      'first: subscribers(first: 2) { totalCount nodes { email } } last: subscribers(last: 1) { nodes { email } }';
    const document = `{ lists(last: 3) { ... on MailListConnection { nodes { ${inner} } } } }`;
    const { result, statements } = await countStatements(() => app.run(document, {}, owner.token));
    const nodes = (...emails: string[]) => ({ nodes: emails.map((email) => ({ email })) });
    expect(result.data).toEqual({
      lists: {
        nodes: [
          ...[0, 1].map((at) => ({
            first: { totalCount: 3, ...nodes(`1@${at}.co`, `2@${at}.co`) },
            last: nodes(`3@${at}.co`),
          })),
          { first: { totalCount: 0, nodes: [] }, last: nodes() },
        ],
      },
    });
    expect(statements.filter((text) => text.includes('AS people'))).toHaveLength(2);
  });

  test('take as many statements for 100 people as for 10', NOISE, async () => {
    const document =
      'query ($first: Int!) { subscribers(first: $first) { ... on SubscriberConnection { nodes { email fieldValues list { name fields { tag } counters { pending } } consentEvents { status } } } } }';
    const read = (first: number) => countStatements(() => app.run(document, { first }, owner.token));
    await read(10);
    const [ten, hundred] = [await read(10), await read(100)];
    expect((hundred.result.data['subscribers'] as { nodes: unknown[] }).nodes).toHaveLength(100);
    expect(hundred.statements.length).toBe(ten.statements.length);
  });
});
