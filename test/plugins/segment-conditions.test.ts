/** Conditions that plugins provide for segments (REGISTRY `segment_condition`): listed, checked, counted, and never wrong when a plugin fails. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { mailWorld, until } from '../support/mail-world.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp, type RestAnswer } from '../support/rest-app.ts';
import { answer, shop, SHOP_CODE, type Shop } from '../support/shop-plugin.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const [one, other] = [await app.newTenant(), await app.newTenant()];
const { call, add, newList } = mailWorld(app, one);
const list = await newList();
const elsewhere = await newList();
const strangers = await mailWorld(app, other).newList();

/** Each rule has another number of days, so that no answer of before is used. */
let days = 0;
const bought = (values: object = {}) => ({
  pluginCondition: { plugin: 'acme/shop', name: 'acme_bought', values: { days, ...values } },
});
let people: string[] = [];

beforeAll(async () => {
  writePlugin(dataDir, 'acme/shop', { code: SHOP_CODE, rights: { customers: 'all' } });
  expect(await client.activate('acme/shop', { forAllCustomers: true })).toMatchObject({ isLive: true });
  people = [];
  for (const name of ['ann', 'bob', 'cid']) people.push(await add(list, `${name}@shop.example`));
});

beforeEach(() => {
  days += 1;
  shop.asked.length = 0;
});

const create = (rule: object, token = one.token, on = list) =>
  call('POST', `/lists/${on.uid}/segments`, { name: 'Buyers', rule }, token);
const bodyOf = (given: RestAnswer) => given.body as Record<string, unknown> & { errors?: Record<string, string[]> };
const segmentOf = async (rule: object) => {
  const made = await create(rule);
  expect(made.status, made.text).toBe(201);
  return String(bodyOf(made)['segment_uid']);
};
const count = (uid: string) => call('GET', `/segments/${uid}/count`);
const preview = (rule: object) =>
  graphqlAs(
    one.token,
    `query ($listUid: String!, $rule: SegmentRuleInput!) { it: segmentPreview(listUid: $listUid, rule: $rule) {
      ... on SegmentPreview { size { count } subscribers(first: 10) { nodes { email } totalCount } } } }`,
    { listUid: list.uid, rule },
  );
async function graphqlAs(token: string, query: string, variables: object = {}) {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  return response.json();
}

describe('the list', () => {
  const LIST = `query ($language: String) { it: segmentConditions(language: $language) { ... on SegmentConditionsSuccess { nodes {
    plugin name label parameters { name label type isRequired min max options { value label } } } } ... on Error { code } } }`;

  test('has labels and parameters, from which a front end makes a form', async () => {
    const { data } = await graphqlAs(one.token, LIST, { language: 'de' });
    const [condition] = data.it.nodes;
    expect(condition).toMatchObject({ plugin: 'acme/shop', name: 'acme_bought', label: 'Hat gekauft' });
    expect(condition.parameters[0]).toEqual({
      ...{ name: 'days', label: 'Days', type: 'number', isRequired: true, min: 1, max: 365, options: [] },
    });
    expect(condition.parameters[1].options).toEqual([
      { value: 'book', label: 'Book' },
      { value: 'toy', label: 'Toy' },
    ]);
    const rest = await call('GET', '/segment_conditions');
    expect(rest.body).toMatchObject([{ plugin: 'acme/shop', name: 'acme_bought', label: 'Bought something' }]);
    expect(rest.body).toMatchObject([
      { parameters: [{ name: 'days', type: 'number', is_required: true }, {}, {}, {}, {}] },
    ]);
  });
});

describe('a rule', () => {
  test('with an unknown condition or wrong values is refused, on the field', async () => {
    const errorsOf = async (rule: object) => bodyOf(await create(rule)).errors;
    const unknown = { pluginCondition: { plugin: 'acme/shop', name: 'acme_sold', values: {} } };
    expect(await errorsOf({ all: [unknown] })).toEqual({
      'rule.all.0.pluginCondition.name': ['No active plugin acme/shop offers you the condition acme_sold.'],
    });
    expect(
      await errorsOf({
        none: [bought({ days: 366, kind: 'car', since: '2026-02-30', word: 'longer', paid: 'no', size: 1 })],
      }),
    ).toEqual({
      'rule.none.0.pluginCondition.values.days': ['The value days must be at most 365.'],
      'rule.none.0.pluginCondition.values.kind': ['The value kind must be one of: book, toy.'],
      'rule.none.0.pluginCondition.values.since': ['The value since must be a day such as 2026-12-31.'],
      'rule.none.0.pluginCondition.values.word': ['The value word may have at most 5 characters.'],
      'rule.none.0.pluginCondition.values.paid': ['The value paid must be true or false.'],
      'rule.none.0.pluginCondition.values.size': ['The value size is no parameter of this condition.'],
    });
    const without = { pluginCondition: { plugin: 'acme/shop', name: 'acme_bought' } };
    expect(await errorsOf(without)).toEqual({ 'rule.pluginCondition.values.days': ['The value days is required.'] });
    expect(
      Object.keys((await errorsOf({ pluginCondition: { plugin: 'acme', name: 'X', values: { a: [] } } })) ?? {}),
    ).toEqual(['rule.pluginCondition.plugin', 'rule.pluginCondition.name', 'rule.pluginCondition.values.a']);
    const many = Array.from({ length: 6 }, (_, no) => bought({ days: no + 1 }));
    expect(await errorsOf({ any: many })).toEqual({
      rule: ['The rule may not have more than 5 conditions of plugins.'],
    });
    expect(shop.asked).toEqual([]);
  });

  test('keeps the condition as it was given, over both entry points', async () => {
    const rule = { any: [bought({ kind: 'book' }), { tags: { hasAny: ['vip'] } }] };
    const uid = await segmentOf(rule);
    expect(await call('GET', `/segments/${uid}`)).toMatchObject({ body: { segment: { rule } } });
    const MAKE =
      'mutation ($input: CreateSegmentInput!) { it: createSegment(input: $input) { ... on Segment { rule } ... on Error { code } } }';
    const made = await graphqlAs(one.token, MAKE, { input: { listUid: list.uid, name: 'Twin', rule } });
    expect(made.data.it.rule).toEqual(rule);
  });
});

describe('people', () => {
  test('are those that the plugin names, page by page, and only of the list', async () => {
    const stranger = String(
      bodyOf(await call('POST', '/subscribers', { list_uid: strangers.uid, EMAIL: 'eve@shop.example' }, other.token))[
        'subscriber_uid'
      ],
    );
    const onOtherList = await add(elsewhere, 'dora@shop.example');
    answer([people[0], stranger], [], [onOtherList, 'not-a-uid', people[2]]);
    const uid = await segmentOf(bought({ kind: 'toy' }));
    expect((await count(uid)).body).toMatchObject({ count: 2 });
    const listed = await call('GET', `/segments/${uid}/subscribers`);
    expect(listed.body).toMatchObject({
      data: [{ email: 'ann@shop.example' }, { email: 'cid@shop.example' }],
      meta: { total: 2 },
    });
    const bits = await queryRows(
      app.ctx.db,
      sql`SELECT customer_id, list_id, sum(bit_count(members))::int AS people FROM hot.segment_answer_block GROUP BY 1, 2`,
    );
    expect(bits).toEqual([{ customer_id: one.customerId, list_id: list.id, people: 2 }]);
    const none = await segmentOf({ none: [bought({ kind: 'toy' })] });
    expect((await count(none)).body).toMatchObject({ count: 1 });
    const [customer] = await queryRows<{ uid: string }>(
      app.ctx.db,
      sql`SELECT uid FROM customer WHERE id = ${one.customerId}`,
    );
    // Three pages, once: the second and third question use the same answer.
    expect(shop.asked.map(({ after }) => after)).toEqual([null, '1', '2']);
    expect(shop.asked[0]).toMatchObject({
      customerUid: customer?.uid,
      listUid: list.uid,
      values: { days, kind: 'toy' },
    });
  });

  test('are combined with other conditions, and previewed without being saved', async () => {
    answer([people[0], people[1]]);
    const { data } = await preview({ all: [bought(), { email: { startsWith: 'bob' } }] });
    expect(data.it).toMatchObject({
      size: { count: 1 },
      subscribers: { nodes: [{ email: 'bob@shop.example' }], totalCount: 1 },
    });
    expect(shop.asked).toHaveLength(1);
  });
});

describe('without a complete answer', () => {
  const FAULTS: Readonly<Record<string, [find: Shop['find'], why: RegExp]>> = {
    'a plugin that throws': [
      () => {
        throw new Error('no shop');
      },
      /It failed/,
    ],
    'a plugin that fails on its second page': [
      ({ after }) => {
        if (after) throw new Error('no shop');
        return { uids: [people[0]], next: 'x' };
      },
      /It failed/,
    ],
    'a plugin that never answers': [() => new Promise(() => undefined), /too long/],
    'a plugin whose pages never end': [() => ({ uids: [people[0]], next: 'again' }), /too many pages/],
    'a plugin that answers something else': [() => ({ uids: 'everybody', next: null }), /It failed/],
    'a plugin that answers no end': [() => ({ uids: [people[0]] }), /It failed/],
  };

  test.each(Object.entries(FAULTS))(
    '%s is an error, for the condition and for its negation',
    async (_name, [find, why]) => {
      shop.find = find;
      const rule = bought();
      for (const asked of [rule, { none: [rule] }, { any: [{ status: ['subscribed'] }, { none: [rule] }] }]) {
        const uid = await segmentOf(asked);
        const counted = await count(uid);
        expect(counted.status).toBe(422);
        expect(bodyOf(counted).errors?.['rule']?.[0]).toMatch(why);
        expect(bodyOf(counted).errors?.['rule']?.[0]).toContain(
          'acme/shop has not said for whom its condition acme_bought holds',
        );
        expect((await call('GET', `/segments/${uid}/subscribers`)).status).toBe(422);
      }
      const { data, errors } = await preview({ none: [rule] });
      expect(data).toBeNull();
      expect(errors[0]).toMatchObject({
        message: expect.stringContaining('acme/shop'),
        extensions: { code: 'SEGMENT_CONDITION_UNAVAILABLE' },
      });
      // A field of the preview may still be asking when another one has failed.
      await until(async () => {
        const left = await queryRows(app.ctx.db, sql`SELECT 1 FROM hot.segment_answer WHERE complete_at IS NULL`);
        return left.length === 0 || undefined;
      });
    },
  );

  test('the fault is counted for the plugin, and a late one is told to stop', async () => {
    let isStopped = false;
    const counted = async () => {
      const [row] = await queryRows<{ late: number }>(
        app.ctx.db,
        sql`SELECT late::int AS late FROM hot.hook_fault_total WHERE plugin = 'acme/shop' AND hook = 'segment_condition'`,
      );
      return row?.late ?? 0;
    };
    // Those of the tests before. The heartbeat takes them and writes them, at any moment.
    app.hooks.faults.take();
    const before = await counted();
    shop.find = ({ signal }) =>
      new Promise(() =>
        signal.addEventListener('abort', () => {
          isStopped = true;
        }),
      );
    expect((await count(await segmentOf(bought()))).status).toBe(422);
    expect(isStopped).toBe(true);
    await expect.poll(counted).toBeGreaterThan(before);
  });

  test('an inactive plugin is an error, not an old answer; its conditions are not listed', async () => {
    answer([people[0]]);
    const uid = await segmentOf({ none: [bought()] });
    expect((await count(uid)).body).toMatchObject({ count: 2 });
    await client.deactivate('acme/shop');
    const counted = await count(uid);
    expect(counted.status).toBe(422);
    expect(bodyOf(counted).errors?.['rule']?.[0]).toContain('activate or switch on the plugin');
    expect((await call('GET', '/segment_conditions')).body).toEqual([]);
    expect((await create(bought())).status).toBe(422);
    await client.activate('acme/shop', { forAllCustomers: true });
    expect((await count(uid)).body).toMatchObject({ count: 2 });
  });
});

describe('a plugin for chosen customers', () => {
  const CHOSEN = `
    export const plugin = { name: 'acme/club', boot(hooks) {
      hooks.add('segment_condition', { name: 'acme_member', label: 'Is a member', parameters: [],
        find(question) { globalThis.acmeShop.asked.push(question); return { uids: [], next: null }; } });
    } };`;
  const member = { pluginCondition: { plugin: 'acme/club', name: 'acme_member', values: {} } };
  const names = async (token: string) => (await call('GET', '/segment_conditions', {}, token)).text;
  const change = (what: string) => call('POST', `/me/plugins/acme/club/${what}`);

  test('offers its conditions to those that have switched it on, and is asked only for them', async () => {
    writePlugin(dataDir, 'acme/club', { code: CHOSEN });
    expect(await client.activate('acme/club')).toMatchObject({ isLive: true });
    expect(await names(one.token)).not.toContain('acme_member');
    const refused = bodyOf(await create(member)).errors;
    expect(refused).toEqual({
      'rule.pluginCondition.name': ['No active plugin acme/club offers you the condition acme_member.'],
    });
    await change('switch-on');
    await until(async () => (await names(one.token)).includes('acme_member') || undefined);
    expect(await names(other.token)).not.toContain('acme_member');
    expect((await create(member, other.token, strangers)).status).toBe(422);
    const uid = await segmentOf({ none: [member] });
    expect((await count(uid)).body).toMatchObject({ count: 3 });
    expect(shop.asked).toHaveLength(1);
    await change('switch-off');
    await until(async () => (await count(uid)).status === 422 || undefined);
    expect(shop.asked).toHaveLength(1);
  });
});

const VALID = `name: 'acme_a', label: 'A', parameters: [], find: () => ({ uids: [], next: null })`;
const withParameter = (parameter: string) => `{ ${VALID}, parameters: [{ name: 'p', label: 'P', ${parameter} }] }`;

test.each([
  [`{ ${VALID}, name: 'bought' }`, '"name": must begin with acme_.'],
  [`{ ${VALID}, name: 'acme-a' }`, '"name": must be of small letters'],
  [`{ ${VALID}, find: 7 }`, '"find": must be a function.'],
  [`{ ${VALID}, secondsMax: 61 }`, '"secondsMax": must be a whole number from 1 to 60.'],
  [withParameter(`type: 'list'`), 'must be "text", "number", "boolean", "day" or "option"'],
  [withParameter(`type: 'option'`), 'needs "options" exactly if it is an option'],
  [withParameter(`type: 'text', min: 1`), 'has a min and is no number'],
  [withParameter(`type: 'number', min: 2, max: 1`), 'has a min above its max'],
  [withParameter(`type: 'text', max: 2000`), 'has a max that is no whole number from 1 to 1000'],
  [`{ ${VALID}, parameters: [1, 2].map(() => ({ name: 'p', label: 'P', type: 'day' })) }`, 'have the same name'],
  [`{ ${VALID} }); hooks.add('segment_condition', { ${VALID} }`, 'two conditions acme_a'],
])('a condition that cannot be used is refused: %s', async (entry, reason) => {
  const code = `export const plugin = { name: 'acme/wrong', boot(hooks) { hooks.add('segment_condition', ${entry}); } };`;
  writePlugin(dataDir, 'acme/wrong', { code });
  const { fields = [] } = await client.activate('acme/wrong');
  expect(fields.flatMap(({ messages }) => messages).join(' ')).toContain(reason);
});
