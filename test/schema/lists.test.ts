/** Lists over GraphQL: made, read with everything that hangs on them, changed, deleted; and what is refused. */
import { describe, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { startGraphqlApp } from '../support/graphql-app.ts';
import { countStatements, NOISE } from '../support/count-statements.ts';

const app = await startGraphqlApp();
const stranger = await app.newCustomer();
const reader = await app.newCustomer(['lists:read']);

const contact = {
  company: 'Acme',
  address1: '1 High Street',
  city: 'Bath',
  state: 'BA',
  zip: '12345',
  phone: '1',
  countryId: 1,
  email: 'o@x.co',
};
const right = { name: 'Friends', fromEmail: 'news@x.co', fromName: 'News', defaultSubject: 'Hello', contact };

const FAILURE = '... on ValidationError { fields { field messages } } ... on Error { code message }';
const CREATE = `mutation ($input: CreateListInput!) { createList(input: $input) { __typename ... on MailList { uid } ${FAILURE} } }`;
const UPDATE = `mutation ($uid: String!, $input: UpdateListInput!) { updateList(uid: $uid, input: $input) { __typename ... on MailList { name contact { city } } ${FAILURE} } }`;
const DELETE = `mutation ($uid: String!) { deleteList(uid: $uid) { __typename ... on DeletedList { uid } ${FAILURE} } }`;
const ADD_FIELD = `mutation ($input: AddListFieldInput!) { addListField(input: $input) { __typename ... on ListField { tag type } ${FAILURE} } }`;
const READ = `query ($uid: String!) { list(uid: $uid) { __typename ... on MailList {
  name remindMessage contact { company country { code name } } fields { tag } counters { subscribed } statistics { subscriberCount subscribeRate }
  tags } ${FAILURE} } }`;

async function newList(changes: object = {}, token?: string): Promise<string> {
  const { data } = await app.run(CREATE, { input: { ...right, ...changes } }, token);
  return (data['createList'] as { uid: string }).uid;
}

describe('a list', () => {
  test('is made and read with contact, fields and numbers', async () => {
    const uid = await newList({ remindMessage: 'You signed up.' });
    const { data } = await app.run(READ, { uid });
    expect(data['list']).toEqual({
      ...{ __typename: 'MailList', name: 'Friends', remindMessage: 'You signed up.' },
      contact: { company: 'Acme', country: { code: 'AF', name: 'Afghanistan' } },
      ...{ fields: [{ tag: 'FIRST_NAME' }, { tag: 'LAST_NAME' }], counters: { subscribed: 0 }, tags: [] },
      statistics: { subscriberCount: 0, subscribeRate: 0 },
    });
  });

  test('is changed where the change says so', async () => {
    const uid = await newList();
    const { data } = await app.run(UPDATE, { uid, input: { name: 'Family', contact: { city: 'York' } } });
    expect(data['updateList']).toEqual({ __typename: 'MailList', name: 'Family', contact: { city: 'York' } });
  });

  test('is offered in preferences while its owner says so', async () => {
    const uid = await newList();
    const read = async () => {
      const { data } = await app.run(
        'query ($uid: String!) { list(uid: $uid) { ... on MailList { showInPreferences } } }',
        { uid },
      );
      return data['list'];
    };
    expect(await read()).toEqual({ showInPreferences: false });
    await app.run(UPDATE, { uid, input: { showInPreferences: true } });
    await app.run(UPDATE, { uid, input: { name: 'Family', showInPreferences: null } });
    expect(await read()).toEqual({ showInPreferences: true });
    await app.run(UPDATE, { uid, input: { showInPreferences: false } });
    expect(await read()).toEqual({ showInPreferences: false });
  });

  test('gets fields and is deleted', async () => {
    const uid = await newList();
    const added = await app.run(ADD_FIELD, { input: { listUid: uid, type: 'number', label: 'Age', tag: 'age' } });
    expect(added.data['addListField']).toEqual({ __typename: 'ListField', tag: 'AGE', type: 'number' });
    const again = await app.run(ADD_FIELD, { input: { listUid: uid, type: 'text', label: '', tag: 'a b' } });
    expect(again.data['addListField']).toMatchObject({
      __typename: 'ValidationError',
      fields: [{ field: 'label' }, { field: 'tag' }],
    });
    expect((await app.run(DELETE, { uid })).data['deleteList']).toEqual({ __typename: 'DeletedList', uid });
    const DELETIONS = '{ deletions { ... on DeletionsSuccess { nodes { kind uid name total erased requestedAt } } } }';
    expect((await app.run(DELETIONS)).data['deletions']).toEqual({
      nodes: [{ kind: 'list', uid, name: 'Friends', total: 0, erased: 0, requestedAt: expect.any(String) }],
    });
    expect((await app.run(DELETIONS, {}, stranger.token)).data['deletions']).toEqual({ nodes: [] });
    expect((await app.run(READ, { uid })).data['list']).toMatchObject({
      __typename: 'NotFoundError',
      code: 'LIST_NOT_FOUND',
    });
  });

  test('names every fault of its input', async () => {
    const input = { ...right, name: 'a\r\nb', fromEmail: 'x', contact: { company: 'x'.repeat(300), countryId: 0 } };
    const { data } = await app.run(CREATE, { input });
    const { fields } = data['createList'] as { fields: { field: string; messages: string[] }[] };
    expect(fields.map(({ field }) => field).sort()).toEqual([
      ...['contact.address1', 'contact.city', 'contact.company', 'contact.countryId', 'contact.email', 'contact.phone'],
      ...['contact.state', 'contact.zip', 'fromEmail', 'name'],
    ]);
  });
});

describe('other tenants', () => {
  test("see nothing of it, and cannot tell it from a list that isn't there", async () => {
    const uid = await newList();
    const unknown = '0123456789abc';
    const asked = async (document: string, name: string, variables: object) =>
      (await app.run(document, { ...variables }, stranger.token)).data[name];
    for (const [document, name, more] of [
      [READ, 'list', {}],
      [UPDATE, 'updateList', { input: { name: 'Mine' } }],
      [DELETE, 'deleteList', {}],
    ] as const) {
      const foreign = await asked(document, name, { uid, ...more });
      expect(foreign).toEqual(await asked(document, name, { uid: unknown, ...more }));
      expect(foreign).toMatchObject({ __typename: 'NotFoundError' });
    }
    expect(
      (
        await app.run(
          '{ lists { ... on MailListConnection { nodes { uid } } } listsPage { ... on MailListPage { total } } }',
          {},
          stranger.token,
        )
      ).data,
    ).toEqual({
      lists: { nodes: [] },
      listsPage: { total: 0 },
    });
    expect((await app.run(READ, { uid })).data['list']).toMatchObject({ name: 'Friends' });
  });

  test('need the scope', async () => {
    const { data } = await app.run(CREATE, { input: right }, reader.token);
    expect(data['createList']).toMatchObject({ __typename: 'ForbiddenError' });
    expect(
      (await app.run('{ listsPage { ... on MailListPage { total nodes { uid } } } }', {}, reader.token)).data,
    ).toEqual({
      listsPage: { total: 0, nodes: [] },
    });
  });
});

describe('many lists', () => {
  test('a forged cursor is a mistake of the caller, not ours', async () => {
    const cursors = [
      'zzz',
      'GPC:J:["x","y"]',
      'GPC:J:["99999999999999999999999999","1"]',
      'GPC:J:[{},[]]',
      'GPC:J:["1"]',
      'GPC:S:a',
      'GPC:J:',
    ];
    for (const cursor of cursors) {
      const after = cursor === 'zzz' ? cursor : Buffer.from(cursor).toString('base64');
      for (const field of ['lists', 'apiTokens']) {
        const { data } = await app.run(
          `query ($after: String) { ${field}(after: $after) { ... on Error { code } ... on ValidationError { fields { field } } } }`,
          { after },
        );
        expect(data[field], cursor).toEqual({ code: 'INVALID_INPUT', fields: [{ field: 'after' }] });
      }
    }
  });

  test('come by key from either end, in either order, even when the row of the cursor is gone', async () => {
    const owner = await app.newCustomer();
    const names = ['A', 'B', 'C', 'D', 'E'];
    const uids: string[] = [];
    for (const name of names) uids.push(await newList({ name }, owner.token));
    const CREATE_TOKEN = `mutation ($name: String!) { createApiToken(input: { name: $name, scopes: ["lists:read"] }) { __typename ${FAILURE} } }`;
    for (const name of names) await app.run(CREATE_TOKEN, { name }, owner.token);

    const walk = async (field: string, [size, cursorArg]: ['first', 'after'] | ['last', 'before']) => {
      const type = field === 'lists' ? 'MailListConnection' : 'ApiTokenConnection';
      const found: string[][] = [];
      for (let cursor: string | null = null, more = true; more;) {
        const { data } = await app.run(
          `query ($cursor: String) { ${field}(${size}: 2, ${cursorArg}: $cursor) { ... on ${type} { nodes { name }
             pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`,
          { cursor },
          owner.token,
        );
        const { nodes, pageInfo } = data[field] as {
          nodes: { name: string }[];
          pageInfo: Record<'startCursor' | 'endCursor', string> & Record<'hasNextPage' | 'hasPreviousPage', boolean>;
        };
        found.push(nodes.map(({ name }) => name));
        [more, cursor] =
          size === 'first'
            ? [pageInfo.hasNextPage, pageInfo.endCursor]
            : [pageInfo.hasPreviousPage, pageInfo.startCursor];
      }
      return found;
    };
    expect(await walk('lists', ['first', 'after'])).toEqual([['A', 'B'], ['C', 'D'], ['E']]);
    expect(await walk('lists', ['last', 'before'])).toEqual([['D', 'E'], ['B', 'C'], ['A']]);
    const newest = (await walk('apiTokens', ['first', 'after'])).flat();
    expect(newest.filter((name) => names.includes(name))).toEqual(names.toReversed());
    expect((await walk('apiTokens', ['last', 'before'])).toReversed().flat()).toEqual(newest);

    const AFTER =
      'query ($after: String) { lists(first: 2, after: $after) { ... on MailListConnection { nodes { name } pageInfo { endCursor } } } }';
    const { data } = await app.run(AFTER, {}, owner.token);
    await app.run(DELETE, { uid: uids[1] }, owner.token);
    const after = (data['lists'] as { pageInfo: { endCursor: string } }).pageInfo.endCursor;
    expect((await app.run(AFTER, { after }, owner.token)).data['lists']).toMatchObject({
      nodes: [{ name: 'C' }, { name: 'D' }],
    });
  });

  test('come by key and by number', async () => {
    const owner = await app.newCustomer();
    const uids: string[] = [];
    for (let n = 0; n < 5; n++) uids.push(await newList({ name: `L${n}` }, owner.token));
    const first = await app.run(
      '{ lists(first: 3) { ... on MailListConnection { nodes { uid } pageInfo { hasNextPage endCursor } } } }',
      {},
      owner.token,
    );
    const { nodes, pageInfo } = first.data['lists'] as {
      nodes: { uid: string }[];
      pageInfo: { hasNextPage: boolean; endCursor: string };
    };
    const rest = await app.run(
      'query ($after: String) { lists(first: 3, after: $after) { ... on MailListConnection { nodes { uid } } } }',
      { after: pageInfo.endCursor },
      owner.token,
    );
    expect([...nodes, ...(rest.data['lists'] as { nodes: { uid: string }[] }).nodes].map(({ uid }) => uid)).toEqual(
      uids,
    );
    const page = await app.run(
      '{ listsPage(page: 2, perPage: 2) { ... on MailListPage { total page perPage nodes { name } } } }',
      {},
      owner.token,
    );
    expect(page.data['listsPage']).toEqual({ total: 5, page: 2, perPage: 2, nodes: [{ name: 'L2' }, { name: 'L3' }] });
    expect(
      (await app.run('{ listsPage(page: 99) { ... on MailListPage { nodes { name } } } }', {}, owner.token)).data[
        'listsPage'
      ],
    ).toEqual({
      nodes: [],
    });
  });

  test('take as many statements for 100 as for 10, with fields, contact and counters', NOISE, async () => {
    const owner = await app.newCustomer();
    await newList({}, owner.token);
    await app.ctx.db.execute(sql`
      WITH made AS (
        INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
        SELECT ${owner.customerId}, 'n' || n, 'L' || n, 's', 'a@b.co', 'f' FROM generate_series(1, 99) n RETURNING customer_id, id),
      contacts AS (INSERT INTO list_contact (customer_id, list_id, company, country_id, email) SELECT customer_id, id, 'c', 2, 'a@b.co' FROM made)
      INSERT INTO list_field (customer_id, uid, list_id, type, label, tag) SELECT customer_id, 'f' || id, id, 'text', 'F', 'F' FROM made`);
    const document = `query ($first: Int!) { lists(first: $first) { ... on MailListConnection { nodes { uid contact { company country { name } } fields { tag } counters { subscribed } statistics { subscriberCount } } } } }`;
    const run = (first: number) => countStatements(() => app.run(document, { first }, owner.token));
    await run(10);
    const [ten, hundred] = [await run(10), await run(100)];
    expect((hundred.result.data['lists'] as { nodes: unknown[] }).nodes).toHaveLength(100);
    expect(hundred.statements.length).toBe(ten.statements.length);
    expect(ten.statements.length).toBeGreaterThan(1);
    expect(ten.statements.length).toBeLessThan(8);
  });
});

test('countries are there for every token', async () => {
  const { data } = await app.run(
    '{ countries { ... on CountriesSuccess { nodes { id code name } } } }',
    {},
    reader.token,
  );
  expect((data['countries'] as { nodes: unknown[] }).nodes[0]).toEqual({ id: 1, code: 'AF', name: 'Afghanistan' });
});
