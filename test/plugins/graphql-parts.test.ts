/** What plugins add to GraphQL, on the running product. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type Client } from 'graphql-ws';
import { afterAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { pluginClient, type Answered } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { NOTES_SDL, notesCode } from '../support/notes-plugin.ts';
import { switchedOnByAll } from '../support/switched-on-by-all.ts';
import { openRestApp } from '../support/open-rest-app.ts';
import { startRestApp } from '../support/rest-app.ts';
import { createTestDatabase } from '../support/test-database.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker' });
const { activate, deactivate } = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const tenant = await app.newTenant({ scopes: ['lists:read', 'lists:write', 'campaigns:read'] });
await switchedOnByAll(app.ctx, 'acme/notes');
const made = await app.rest('/lists', { method: 'POST', token: tenant.token, body: LIST_BODY });
const listUid = Reflect.get(Object(made.body), 'list_uid');

const clients: Client[] = [];
afterAll(() => {
  for (const client of clients) client.terminate();
});

/** What a field has answered, as far as these tests look. */
interface Answer {
  readonly [name: string]: Answer;
}

interface Asked {
  readonly data: Answer | null;
  readonly errors?: readonly { message: string; path?: string[]; extensions: Record<string, unknown> }[];
}

async function ask(query: string, token: string | null = tenant.token, variables: object = {}): Promise<Asked> {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(token === null ? {} : { Authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ query, variables }),
  });
  return response.json();
}

const reasonOf = ({ fields = [] }: Answered) => fields.flatMap(({ messages }) => messages).join(' ');
const ERROR = '... on Error { __typename code message }';

test('fields of an active plugin are answered, with results, rights and the audit trail of the product’s own', async () => {
  const notes = `{ acmeNotes { ... on AcmeNotesSuccess { nodes { uid text at words author { name } } } ${ERROR} } }`;
  expect((await ask(notes)).errors?.[0]?.message).toContain('Cannot query field "acmeNotes"');
  writePlugin(dataDir, 'acme/notes', { code: notesCode() });
  expect(await activate('acme/notes')).toMatchObject({ status: 'ACTIVE', error: null });
  const first = { uid: 'n1', text: 'first', at: '1970-01-01T00:00:00.000Z', words: ['first'], author: { name: 'Ada' } };
  expect(await ask(notes)).toEqual({ data: { acmeNotes: { nodes: [first] } } });

  // Each right.
  const codes = async (token: string | null) => {
    const { data } = await ask(
      `{ acmeNotes { ${ERROR} } acmeForAdmins { ${ERROR} } acmeForAll { ${ERROR} ... on AcmeForAllSuccess { data } } acmeCount { ${ERROR} } }`,
      token,
    );
    return Object.values(data ?? {}).map((value) => value?.['code'] ?? value['data'] ?? 'ok');
  };
  const other = await app.newTenant({ scopes: ['files:read'] });
  await switchedOnByAll(app.ctx, 'acme/notes');
  expect(await codes(null)).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED', 'stranger', 'UNAUTHENTICATED']);
  expect(await codes(other.token)).toEqual(['FORBIDDEN', 'FORBIDDEN', 'known', 'ok']);
  expect(await codes(tenant.token)).toEqual(['ok', 'FORBIDDEN', 'known', 'ok']);
  expect(await codes(app.adminToken)).toEqual(['ok', 'ok', 'known', 'ok']);

  // What the plugin learns of the caller, and nothing else.
  const who = await ask(`{ acmeWho { ... on AcmeWhoSuccess { data } } }`);
  const [user] = await queryRows<{ customer: string; user: string }>(
    app.ctx.db,
    sql`SELECT c.uid AS customer, u.uid AS user FROM app_user u JOIN customer c ON c.id = u.customer_id WHERE c.id = ${tenant.customerId}`,
  );
  const viewer = { customerUid: user?.customer, userUid: user?.user, isAdmin: false };
  expect(who.data).toEqual({ acmeWho: { data: JSON.stringify({ viewer }) } });

  // A field on a list gets the uid of the list only.
  const lists = await ask(`{ lists(first: 5) { ... on MailListConnection { nodes { name acmeNotes } } } }`);
  expect(lists.errors).toBeUndefined();
  expect(lists.data?.['lists']?.['nodes']).toEqual([{ name: LIST_BODY.name, acmeNotes: [`of ${listUid}`, 'uid'] }]);

  // Expected errors, and a mutation with its row of the audit trail.
  expect((await ask(`{ acmeNote(uid: "no") { ${ERROR} } }`)).data?.['acmeNote']).toEqual({
    ...{ __typename: 'NotFoundError', code: 'ACME_NOTE_NOT_FOUND', message: 'There is no such note.' },
  });
  const add = `mutation { acmeAddNote(input: { text: "second" }) { ... on AcmeNote { uid text } ${ERROR} } }`;
  expect(await ask(add)).toEqual({ data: { acmeAddNote: { uid: 'n2', text: 'second' } } });
  expect((await ask(add, other.token)).data?.['acmeAddNote']?.['code']).toBe('FORBIDDEN');
  const audited = sql`SELECT customer_id, fields FROM hot.audit_event WHERE operation = 'acmeAddNote'`;
  await expect
    .poll(() => queryRows(app.ctx.db, audited))
    .toEqual([{ customer_id: tenant.customerId, fields: ['text', 'colour'] }]);
  expect(
    (await ask(`mutation { acmeAddNote(input: { text: "a\\u0000" }) { ${ERROR} } }`)).data?.['acmeAddNote']?.['code'],
  ).toBe('INVALID_INPUT');
});

test('what a plugin’s resolver does wrong is contained: the client learns which plugin, the log why', async () => {
  const failed = async (kind: string) => {
    const { data, errors = [] } = await ask(
      `{ me { ... on User { email } } acmeFault(kind: "${kind}") { ... on AcmeFaultSuccess { data } ${ERROR} } }`,
    );
    // The rest of the answer is there.
    expect(data?.['me']?.['email']).toBe(tenant.email);
    expect(data?.['acmeFault'] ?? null).toBeNull();
    return errors.map(({ message, extensions }) => ({ message, ...extensions }));
  };
  const fault = {
    message: 'The plugin acme/notes failed. The administrator of this installation finds the reason in the log.',
    ...{ code: 'PLUGIN_FAILED', plugin: 'acme/notes' },
  };
  for (const kind of ['throw', 'reject', 'wrong', 'nothing']) expect(await failed(kind)).toEqual([fault]);
  const begunAt = performance.now();
  expect(await failed('never')).toEqual([fault]);
  expect(performance.now() - begunAt).toBeLessThan(15_000);
  const logged = app.logged.map((line) => JSON.parse(line)).filter(({ plugin }) => plugin === 'acme/notes');
  expect(logged.map(({ event, hook, message }) => `${event} ${hook} ${message ?? ''}`)).toEqual([
    'hook.listener_failed graphql_part Query.acmeFault: a secret reason',
    'hook.listener_failed graphql_part Query.acmeFault: another reason',
    'hook.listener_failed graphql_part Query.acmeFault: It answered what is no String!: String cannot represent value: { no: "text" }',
    'hook.listener_failed graphql_part Query.acmeFault: It answered nothing; its type is String!.',
    'hook.listener_late graphql_part ',
  ]);
  expect(
    (await ask(`{ acmeFault(kind: "refuse") { ... on ValidationError { fields { field messages } } } }`)).data,
  ).toEqual({
    acmeFault: { fields: [{ field: 'text', messages: ['The text is too long.'] }] },
  });

  // Inside of objects and of the product's own ones.
  const inside = await ask(`{ acmeNote(uid: "n1") { ... on AcmeNote { text wrong } } }`);
  expect(inside).toMatchObject({
    data: { acmeNote: { text: 'first', wrong: null } },
    errors: [{ extensions: fault_(fault) }],
  });
  const lists = await ask(`{ lists(first: 5) { ... on MailListConnection { nodes { name acmeBroken } } } }`);
  expect(lists.data?.['lists']?.['nodes']).toEqual([{ name: LIST_BODY.name, acmeBroken: null }]);
  expect(lists.errors).toMatchObject([{ extensions: fault_(fault), path: ['lists', 'nodes', 0, 'acmeBroken'] }]);

  // More than was asked for.
  expect((await ask(`{ acmeSome(first: 7) { __typename } }`)).errors).toMatchObject([{ extensions: fault_(fault) }]);
  expect((await ask(`{ acmeSome(first: 8) { __typename } }`)).errors).toBeUndefined();
});

const fault_ = ({ code, plugin }: { code: string; plugin: string }) => ({ code, plugin });

test('the limits of a document know the fields of plugins', async () => {
  const nodes = '{ ... on AcmeNotesSuccess { nodes { replies { uid } } } }';
  const times = (count: number) =>
    `{ ${Array.from({ length: count }, (_, n) => `n${n}: acmeNotes ${nodes}`).join(' ')} }`;
  // A list without a size counts as 100 items, also within another one: 100 * 100 values, of at most 15,000.
  expect((await ask(times(1))).errors).toBeUndefined();
  expect((await ask(times(2))).errors?.[0]).toMatchObject({ extensions: { code: 'DOCUMENT_TOO_EXPENSIVE' } });
  expect((await ask(`{ acmeSome(first: 101) { __typename } }`)).errors?.[0]).toMatchObject({
    extensions: { code: 'DOCUMENT_TOO_EXPENSIVE' },
  });
});

test('websockets stay connected while plugins come and go, and operations end on their schema', async () => {
  const codes: unknown[] = [];
  const client = createClient({
    url: `${app.baseUrl.replace('http:', 'ws:')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${tenant.token}` },
    lazy: false,
    onNonLazyError: () => undefined,
    retryAttempts: 0,
    on: { closed: (event) => codes.push(event) },
  });
  clients.push(client);
  const ticks: unknown[] = [];
  for await (const { data } of client.iterate({ query: 'subscription { acmeTicks(count: 3) }' })) ticks.push(data);
  expect(ticks).toEqual([1, 2, 3].map((acmeTicks) => ({ acmeTicks })));

  const silence = client.iterate({ query: 'subscription { acmeSilence }' });
  expect((await silence.next()).value).toEqual({ data: { acmeSilence: 'begun' } });
  const changes = client.iterate({
    query: 'subscription { campaignChanges { __typename } }',
  });
  // Those that are open now.
  expect(await changes.next()).toMatchObject({ value: { data: { campaignChanges: {} } } });
  // Under way while the plugin goes.
  const slow = ask(`{ acmeFault(kind: "never") { __typename } }`);
  await sleep(200);
  await deactivate('acme/notes');
  // Its own subscription ends, with its generator.
  expect(await silence.next()).toEqual({ done: true, value: undefined });
  expect((await slow).errors).toMatchObject([{ extensions: { code: 'PLUGIN_FAILED' } }]);
  // The same socket does not know the field any more, and the product's subscription still waits.
  const after = (query: string) => client.iterate({ query }).next();
  await expect(after('{ acmeCount { __typename } }')).rejects.toMatchObject([
    { message: expect.stringContaining('Cannot query field "acmeCount"') },
  ]);
  await activate('acme/notes');
  expect(await after('{ acmeCount { ... on AcmeCountSuccess { data } } }')).toMatchObject({
    value: { data: { acmeCount: { data: 2 } } },
  });
  expect(await changes.next()).toMatchObject({ done: false, value: { data: { campaignChanges: {} } } });
  expect(codes).toEqual([]);
});

test('introspection, the reference and the printed schema', async () => {
  const introspected = async () => (await ask('{ __type(name: "AcmeNote") { name description } }')).data?.['__type'];
  const reference = async () => (await fetch(`${app.baseUrl}/docs/graphql`)).text();
  expect(await introspected()).toEqual({ name: 'AcmeNote', description: 'A note.' });
  expect(await reference()).toContain('All notes. Needs the scope `lists:read`.');
  await deactivate('acme/notes');
  expect(await introspected()).toBeNull();
  expect(await reference()).not.toContain('acmeNotes');
  await activate('acme/notes');
  expect(await reference()).toContain('acmeNotes');
});

test.for([
  ['no shape', {}, '"schema" must be a text'],
  ['a scope that does not exist', { access: { acmeA: { scope: 'nothing' } } }, '"access" must name'],
  ['no right', { access: {} }, '"access" must say who may use acmeA'],
  ['a right for nothing', { access: { acmeA: 'public', acmeB: 'public' } }, '"access" names acmeB'],
  ['no resolver', { resolvers: {} }, '"resolvers" has none for Query.acmeA'],
  ['a resolver for nothing', { resolvers: { Query: { acmeA: 1, acmeB: 1 } } }, '"resolvers" has one for Query.acmeB'],
  ['bad SDL', { schema: 'extend type Query { acmeA String' }, 'Syntax Error'],
  [
    'another name of a field',
    { schema: 'extend type Query { notes: String }' },
    'Query.notes must have a name such as acmeNotes',
  ],
  ['half the prefix', { schema: 'extend type Query { acmea: String }' }, 'must have a name such as acmeNotes'],
  [
    'another name of a type',
    { schema: 'type Note { a: Int } extend type Query { acmeA: Int }' },
    'Note must have a name such as AcmeNote',
  ],
  ['an unknown type', { schema: 'extend type Query { acmeA: AcmeOther }' }, 'has the type AcmeOther, which is neither'],
  ['a type of the product', { schema: 'extend type Query { acmeA: MailList }' }, 'has the type MailList'],
  ['an internal type', { schema: 'extend type ForbiddenError { acmeA: Int }' }, 'types of Mailwright that have a uid'],
  ['a field that is not nullable', { schema: 'extend type MailList { acmeA: Int! }' }, 'must be nullable'],
  ['a scalar', { schema: 'scalar AcmeA extend type Query { acmeA: Int }' }, 'and nothing else'],
  ['a directive', { schema: 'extend type Query { acmeA: Int @oneOf }' }, 'only @deprecated'],
  [
    'an empty union',
    { schema: 'union AcmeU extend type Query { acmeA: Int }' },
    'must define one or more member types',
  ],
  [
    'an input as an output',
    { schema: 'input AcmeI { a: Int } extend type Query { acmeA: AcmeI }' },
    'must be Output Type',
  ],
  ['the name of a result', { schema: 'type AcmeAResult { a: Int } extend type Query { acmeA: Int }' }, 'AcmeAResult'],
] as const)('a part with %s fails the activation, and nothing is changed', async ([, change, reason]) => {
  const part = reason.startsWith('"schema"')
    ? { access: {} }
    : {
        schema: 'extend type Query { acmeA: Int }',
        access: { acmeA: 'public' },
        resolvers: { Query: { acmeA: 1 } },
        ...change,
      };
  const code = `
    const part = ${JSON.stringify(part)};
    for (const fields of Object.values(part.resolvers ?? {})) for (const name of Object.keys(fields)) fields[name] = () => 1;
    if (part.schema?.includes('MailList {')) part.resolvers = { MailList: { acmeA: () => 1 } };
    export const plugin = { name: 'acme/bad', boot: (hooks) => hooks.add('graphql_part', part) };`;
  writePlugin(dataDir, 'acme/bad', { code, migrations: { '1_a.sql': 'CREATE TABLE acme_bad (id int);' } });
  const answer = await activate('acme/bad');
  expect(answer).toMatchObject({ __typename: 'ValidationError', code: 'PLUGIN_ACTIVATION_FAILED' });
  expect(reasonOf(answer)).toContain('The GraphQL part of plugin "acme/bad" cannot be used: ');
  expect(reasonOf(answer)).toContain(reason);
  expect(await queryRows(app.ctx.db, sql`SELECT 1 FROM pg_tables WHERE tablename = 'acme_bad'`)).toEqual([]);
  // The other plugin still answers.
  expect((await ask('{ acmeCount { ... on AcmeCountSuccess { data } } }')).data).toMatchObject({
    acmeCount: { data: 2 },
  });
});

test('two plugins of a vendor cannot have the same type', async () => {
  writePlugin(dataDir, 'acme/again', { code: notesCode({ name: 'acme/again', sdl: NOTES_SDL }) });
  const answer = await activate('acme/again');
  expect(reasonOf(answer)).toContain('The GraphQL part of plugin "acme/again" cannot be used: ');
  expect(reasonOf(answer)).toContain('AcmeNote');
});

test('what a plugin changes in its part later has no effect', async () => {
  const more = `setTimeout(() => { part.schema = ''; part.resolvers.Query.acmeCount = () => 99; delete part.access.acmeCount; }, 50);`;
  writePlugin(dataDir, 'acme/notes', { code: notesCode({ more }) });
  await activate('acme/notes');
  await sleep(150);
  const count = '{ acmeCount { ... on AcmeCountSuccess { data } } }';
  expect((await ask(count)).data).toEqual({ acmeCount: { data: 1 } });
  writePlugin(dataDir, 'acme/other', {});
  await activate('acme/other');
  expect((await ask(count)).data).toEqual({ acmeCount: { data: 1 } });
});

test('a part that does not fit any more is left out, and the plugin’s row says why', async () => {
  const kept = newDataDir();
  const { url } = await createTestDatabase();
  const settings = { DATA_DIR: kept, ROLES: 'web' };
  const before = await openRestApp(url, settings);
  const write = (type: string) =>
    writePlugin(kept, 'acme/old', {
      code: `export const plugin = { name: 'acme/old', boot(hooks) {
        hooks.add('graphql_part', {
          schema: 'extend type ${type} { acmeOld: Int }', access: {}, resolvers: { ${type}: { acmeOld: () => 1 } } });
        hooks.add('rest_row', {
          method: 'GET', path: '/old', access: 'public', summary: 'Old.', present: () => 1,
          operation: '{ lists { ... on ${type}Connection { edges { node { acmeOld } } } } }', answers: { kind: 'body', shape: {} } });
      } };`,
    });
  write('MailList');
  const at = (app_: { baseUrl: string; adminToken: string }) =>
    pluginClient({ baseUrl: app_.baseUrl, token: app_.adminToken });
  expect(await at(before).activate('acme/old')).toMatchObject({ status: 'ACTIVE', fault: null });
  await before.stop();
  // As if a new version of the program had no such type any more.
  write('MailLists');
  const after = await openRestApp(url, settings);
  const { fault, ...row } = await at(after).plugin('acme/old');
  expect(row).toMatchObject({ status: 'ACTIVE', isLive: true, error: null });
  expect(fault).toMatch(/The GraphQL part of plugin "acme\/old" cannot be used: .*MailLists/);
  await fetch(`${after.baseUrl}/api/v1/old`);
  expect((await at(after).plugin('acme/old')).fault).toMatch(/MailLists.* A REST row of plugin "acme\/old" cannot/);
  // Mended, nothing is left of it.
  write('MailList');
  expect(await at(after).activate('acme/old')).toMatchObject({ status: 'ACTIVE', fault: null, error: null });
  await after.stop();
});
