/** REST rows of plugins, on the running product. */
import { expect, test } from 'vitest';
import { pluginClient, type Answered } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { notesCode } from '../support/notes-plugin.ts';
import { switchedOnByAll } from '../support/switched-on-by-all.ts';
import { startRestApp } from '../support/rest-app.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker' });
const { activate, deactivate } = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const tenant = await app.newTenant({ scopes: ['lists:read', 'lists:write'] });
await switchedOnByAll(app.ctx, 'acme/notes');
await app.rest('/lists', { method: 'POST', token: tenant.token, body: LIST_BODY });

/** Rows on fields of the plugin itself, and on one of the product. */
const ROWS = `
  const noteShape = { type: 'object', properties: { uid: { type: 'string' }, text: { type: 'string' } } };
  const rows = [
    {
      method: 'GET', path: '/notes/all', access: 'token', summary: 'Lists all notes.',
      operation: '{ acmeNotes { ... on AcmeNotesSuccess { nodes { uid text } } } }',
      present: ({ acmeNotes }) => acmeNotes.nodes,
      answers: { kind: 'body', shape: { type: 'array', items: noteShape } },
    },
    {
      method: 'GET', path: '/notes/:note_uid', access: 'token', summary: 'Shows a note.',
      operation: 'query ($noteUid: ID!) { acmeNote(uid: $noteUid) { ... on AcmeNote { uid text } } }',
      present: ({ acmeNote }, given) => ({ ...acmeNote, asked: given.note_uid }),
      answers: { kind: 'body', shape: noteShape },
    },
    {
      method: 'POST', path: '/notes', access: 'token', summary: 'Adds a note.',
      parameters: { text: { kind: 'text', isRequired: true }, colour: { kind: 'text', words: ['red', 'blue'] }, count: { kind: 'integer' } },
      operation: 'mutation ($input: AcmeNoteInput!) { acmeAddNote(input: $input) { ... on AcmeNote { uid text } } }',
      variables: ({ text, colour }) => ({ input: { text, colour: colour?.toUpperCase() } }),
      present: ({ acmeAddNote }) => ({ status: 1, message: 'Added', note: acmeAddNote }),
      answers: { kind: 'created', shape: { type: 'object' } },
    },
    {
      method: 'GET', path: '/notes/lists', access: 'token', summary: 'Lists the names of lists.',
      operation: 'query ($page: Int, $perPage: Int) { listsPage(page: $page, perPage: $perPage) { ... on MailListPage { nodes { name } total page perPage } } }',
      present: ({ listsPage }) => ({ ...listsPage, nodes: listsPage.nodes.map(({ name }) => ({ name })) }),
      answers: { kind: 'page', shape: { type: 'object', properties: { name: { type: 'string' } } } },
    },
    {
      method: 'GET', path: '/notes/some', access: 'token', summary: 'Lists some notes.', parameters: { first: { kind: 'integer' } },
      operation: 'query ($first: Int!) { acmeSome(first: $first) { ... on AcmeSomeSuccess { nodes { uid } } } }',
      present: ({ acmeSome }) => acmeSome.nodes.length,
      answers: { kind: 'body', shape: { type: 'integer' } },
    },
    {
      method: 'GET', path: '/notes/open', access: 'public', summary: 'For everybody.',
      operation: '{ acmeForAll { ... on AcmeForAllSuccess { data } } }', present: ({ acmeForAll }) => acmeForAll,
      answers: { kind: 'body', shape: { type: 'object' } },
    },
    {
      method: 'GET', path: '/notes/admins', access: 'admin', summary: 'For administrators.',
      operation: '{ acmeForAll { ... on AcmeForAllSuccess { data } } }', present: ({ acmeForAll }) => acmeForAll,
      answers: { kind: 'body', shape: { type: 'object' } },
    },
    ...['throw', 'promise', 'circle', 'resolver'].map((kind) => ({
      method: 'GET', path: '/notes/faults/' + kind, access: 'token', summary: 'Fails.',
      operation: kind === 'resolver' ? '{ acmeFault(kind: "throw") { __typename } }' : '{ acmeForAll { __typename } }',
      present: () => {
        if (kind === 'throw') throw new Error('broken row');
        if (kind === 'promise') return Promise.resolve(1);
        const circle = {}; circle.self = circle; return circle;
      },
      answers: { kind: 'body', shape: {} },
    })),
  ];`;

interface Asking {
  readonly method?: string;
  readonly body?: unknown;
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Without the product's own contract, which does not know these rows. */
async function rest(path: string, { method = 'GET', body, token = tenant.token, headers = {} }: Asking = {}) {
  const response = await fetch(`${app.baseUrl}/api/v1${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const answer: unknown = text === '' ? undefined : JSON.parse(text);
  return { status: response.status, headers: response.headers, body: answer };
}

const reasonOf = ({ fields = [] }: Answered) => fields.flatMap(({ messages }) => messages).join(' ');

test('rows of an active plugin are answered by the facade’s own rules', async () => {
  expect((await rest('/notes/all')).status).toBe(404);
  writePlugin(dataDir, 'acme/notes', { code: notesCode({ more: ROWS, rows: 'rows' }) });
  expect(await activate('acme/notes')).toMatchObject({ status: 'ACTIVE', error: null });
  expect(await rest('/notes/all')).toMatchObject({ status: 200, body: [{ uid: 'n1', text: 'first' }] });
  expect(await rest('/notes/n1')).toMatchObject({ status: 200, body: { uid: 'n1', text: 'first', asked: 'n1' } });

  // Refusals of the schema, and of the row.
  expect(await rest('/notes/no')).toMatchObject({ status: 404, body: { message: 'There is no such note.' } });
  expect(await rest('/notes/all', { token: null })).toMatchObject({
    status: 401,
    body: { message: 'Unauthenticated.' },
  });
  const other = await app.newTenant({ scopes: ['files:read'] });
  await switchedOnByAll(app.ctx, 'acme/notes');
  expect((await rest('/notes/all', { token: other.token })).status).toBe(403);
  expect((await rest('/notes/admins')).status).toBe(403);
  expect(await rest('/notes/admins', { token: app.adminToken })).toMatchObject({ status: 200 });
  expect(await rest('/notes/open', { token: null })).toMatchObject({ status: 200, body: { data: 'stranger' } });
  expect(await rest('/notes/all', { method: 'DELETE' })).toMatchObject({
    ...{ status: 404, body: { message: expect.stringContaining('This endpoint takes GET') } },
  });

  // Parameters: all faults at once, ignored ones named, dialects, idempotency.
  expect(await rest('/notes', { method: 'POST', body: { colour: 'green', count: 'many' } })).toMatchObject({
    status: 422,
    body: {
      message: 'The given data was invalid.',
      errors: {
        text: ['The text field is required.'],
        colour: ['The colour must be red or blue.'],
        count: ['The count must be a whole number.'],
      },
    },
  });
  // Faults are also looked for in the mutation, which must not run for that.
  expect((await rest('/notes', { method: 'POST', body: { text: 'lost', count: 'many' } })).status).toBe(422);
  const added = await rest('/notes', {
    ...{ method: 'POST', body: { text: 'second', colour: 'blue', nonsense: 1 }, headers: { 'Idempotency-Key': 'k1' } },
  });
  expect(added).toMatchObject({ status: 201, body: { status: 1, note: { uid: 'n2', text: 'second' } } });
  expect(added.headers.get('x-ignored-parameters')).toBe('nonsense');
  expect(added.body).toMatchObject({ ignored: ['nonsense'] });
  const again = await rest('/notes', {
    ...{ method: 'POST', body: { text: 'second', colour: 'blue', nonsense: 1 }, headers: { 'Idempotency-Key': 'k1' } },
  });
  expect(again).toMatchObject({ status: 201, body: added.body as object });
  const classic = { 'X-Api-Dialect': 'classic' };
  expect((await rest('/notes', { method: 'POST', body: { text: 'third' }, headers: classic })).status).toBe(200);
  expect((await rest('/notes/all')).body).toHaveLength(3);

  // An index in pages, of the product's own field.
  expect(await rest('/notes/lists?per_page=1')).toMatchObject({
    ...{ status: 200, body: { data: [{ name: LIST_BODY.name }], meta: { total: 1, per_page: 1 } } },
  });
  expect((await rest('/notes/lists', { headers: classic })).body).toEqual([{ name: LIST_BODY.name }]);
  expect((await rest('/notes/lists?nonsense=1')).status).toBe(422);

  // The cost of its document is limited, by the caller's numbers.
  expect(await rest('/notes/some?first=5')).toMatchObject({ status: 200, body: 5 });
  expect(await rest('/notes/some?first=500')).toMatchObject({
    status: 422,
    body: { errors: { input: [expect.stringContaining('500 rows')] } },
  });
});

test('a row that fails names its plugin', async () => {
  const failed = {
    status: 500,
    body: { message: expect.stringContaining('The plugin acme/notes failed.'), reference: expect.any(String) },
  };
  for (const kind of ['throw', 'promise', 'circle', 'resolver'])
    expect(await rest(`/notes/faults/${kind}`), kind).toMatchObject(failed);
  const logged = app.logged.map((line) => JSON.parse(line));
  expect(logged).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        event: 'hook.listener_failed',
        plugin: 'acme/notes',
        hook: 'rest_row',
        message: 'broken row',
      }),
    ]),
  );
  expect(logged.filter(({ event }) => event === 'rest.defect')).toEqual([]);
});

test('they are in the OpenAPI document and in the reference while the plugin is active', async () => {
  const documents = async () => {
    const api = await (await fetch(`${app.baseUrl}/api/v1/openapi.json`)).json();
    const page = await (await fetch(`${app.baseUrl}/docs`)).text();
    return { api, page };
  };
  const { api, page } = await documents();
  expect(api.paths['/notes'].post).toMatchObject({ summary: 'Adds a note.', 'x-access': 'token' });
  const { $ref } = api.paths['/notes'].post.requestBody.content['application/json'].schema;
  expect(api.components.schemas[$ref.split('/').at(-1)].properties).toMatchObject({
    ...{ text: { type: 'string' }, colour: { enum: ['red', 'blue'] } },
  });
  expect(api.paths['/notes/{note_uid}'].get.responses['200'].content['application/json'].schema).toMatchObject({
    ...{ type: 'object', properties: { uid: { type: 'string' }, text: { type: 'string' } } },
  });
  expect(page).toContain('Adds a note.');
  expect(api.paths['/lists']).toBeDefined();
  await deactivate('acme/notes');
  for (const path of ['/notes/all', '/notes/n1', '/notes/open']) expect((await rest(path)).status).toBe(404);
  expect((await rest('/notes', { method: 'POST', body: { text: 'x' } })).status).toBe(404);
  const after = await documents();
  expect(Object.keys(after.api.paths).filter((path) => path.startsWith('/notes'))).toEqual([]);
  expect(after.page).not.toContain('Adds a note.');
  await activate('acme/notes');
  expect((await rest('/notes/all')).status).toBe(200);
});

const GOOD = `{
  method: 'GET', path: '/bad/a', access: 'token', summary: 'A.', operation: '{ me { __typename } }',
  present: () => 1, answers: { kind: 'body', shape: {} },
}`;

test.for([
  ['another method', `method: 'TRACE'`, '"method" must be'],
  ['the path of a core resource', `path: '/lists/a'`, 'must be /bad or begin with /bad/'],
  ['the path of another plugin', `path: '/badly'`, 'must be /bad or begin with /bad/'],
  ['a path with a pattern', `path: '/bad/*'`, '"path" must be'],
  ['a path with dots', `path: '/bad/../lists'`, '"path" must be'],
  ['an unknown access', `access: 'everybody'`, '"access" must be'],
  ['no summary', `summary: ''`, '"summary" must be'],
  ['a wrong parameter', `parameters: { A: { kind: 'text' } }`, '"parameters" must have'],
  ['a parameter of the product', `parameters: { api_token: { kind: 'text' } }`, '"api_token"'],
  ['a name twice', `path: '/bad/:a', parameters: { a: { kind: 'text' } }`, '"a"'],
  ['no operation', `operation: 1`, '"operation" must be'],
  ['a subscription', `operation: 'subscription { campaignChanges { __typename } }'`, 'must have one query or mutation'],
  ['two operations', `operation: 'query a { me { __typename } } query b { me { __typename } }'`, 'must have one query'],
  ['an unknown field', `operation: '{ nothing }'`, 'Cannot query field "nothing"'],
  [
    'a fragment of the product',
    `operation: '{ me { ...Failure } } fragment Failure on Error { code }'`,
    'give yours another name',
  ],
  ['no function', `present: 1`, '"present" must be a function'],
  ['a shape with a reference', `answers: { kind: 'body', shape: { $ref: '#/x' } }`, '"answers" must have'],
  ['more than it may', `takesFile: true`, 'and nothing else'],
] as const)('a row with %s fails the activation', async ([, change, reason]) => {
  const code = `export const plugin = { name: 'other/bad', boot: (hooks) => hooks.add('rest_row', { ...${GOOD}, ${change} }) };`;
  writePlugin(dataDir, 'other/bad', { code });
  const answer = await activate('other/bad');
  expect(answer).toMatchObject({ code: 'PLUGIN_ACTIVATION_FAILED' });
  expect(reasonOf(answer)).toContain('A REST row of plugin "other/bad" cannot be used: ');
  expect(reasonOf(answer)).toContain(reason);
  expect((await rest('/notes/all')).status).toBe(200);
});

test('two plugins of one name cannot have the same row', async () => {
  const row = GOOD.replace('/bad/a', '/notes/:other_name');
  writePlugin(dataDir, 'other/notes', {
    code: `export const plugin = { name: 'other/notes', boot: (hooks) => hooks.add('rest_row', ${row}) };`,
  });
  expect(reasonOf(await activate('other/notes'))).toContain(
    'GET /notes/:other_name is a row of plugin "acme/notes" already',
  );
});
