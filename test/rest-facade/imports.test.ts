/** Imports over REST and GraphQL, with a worker that runs them: upload, progress, rejected lines, cancelling. */
import { describe, expect, test } from 'vitest';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp({ ROLES: 'web,worker', IMPORT_BATCH_SIZE: '100', IMPORT_SIZE_MAX_MB: '3' });
const owner = await newWorld(app, { host: '127.0.0.1', port: 1, encryption: 'none' });
const stranger = await app.newTenant();

interface ImportBody {
  readonly import: {
    uid: string;
    status: string;
    processed: number;
    added: number;
    rejected: number;
    rejected_url: string;
    notices: string[];
  };
}

function formOf(
  file: string | Uint8Array<ArrayBuffer>,
  fields: Record<string, string> = {},
  fieldsFirst = true,
): FormData {
  const form = new FormData();
  const add = () => Object.entries(fields).forEach(([name, value]) => form.append(name, value));
  if (fieldsFirst) add();
  form.append('file', new Blob([file]), 'people.csv');
  if (!fieldsFirst) add();
  return form;
}

const upload = (body: unknown, token: string | null = owner.token, list = owner.listUid) =>
  app.rest(`/lists/${list}/import`, { method: 'POST', body, token });

const read = async (uid: string) =>
  (await app.rest(`/lists/${owner.listUid}/imports/${uid}`, { token: owner.token })).body as ImportBody;

async function finished(uid: string): Promise<ImportBody['import']> {
  for (;;) {
    const { import: found } = await read(uid);
    if (!['queued', 'running'].includes(found.status)) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function graphql(query: string, variables: object, token = owner.token): Promise<unknown> {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  return answer.json();
}

const people = (count: number, name = 'p') =>
  `email,first name\n${Array.from({ length: count }, (_, n) => `${name}${n}@x.com,N${n}`).join('\n')}\n`;

describe('REST', () => {
  test.each([true, false])('imports a file, fields before it: %s', async (fieldsFirst) => {
    const file = 'Adresse;Vorname;Ort\na@x.com;Anna;Bath\nbad;B;\n"=1+1";=2+2;-3\n';
    const fields = {
      mapping: '{"Adresse": "EMAIL", "Vorname": "FIRST_NAME"}',
      tag: 'Spring, Fair,',
      update_existing: '0',
    };
    const { status, body } = await upload(formOf(file, fields, fieldsFirst));
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { status: 1, import_uid: expect.stringMatching(/^[0-9a-f]{13}$/) },
    });
    const { import_uid: uid } = body as { import_uid: string };
    const done = await finished(uid);
    expect(done).toMatchObject({
      ...{ uid, status: 'done', total: 3, processed: 3, rejected: 2, error: null, file_name: 'people.csv' },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      finished_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      notices: ['Not imported, because no field of the list has their name: “Ort”.'],
    });
    const rejected = await app.rest(new URL(done.rejected_url).pathname.replace('/api/v1', ''), { token: owner.token });
    expect(rejected.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(rejected.text).toBe(
      'line,reason,Adresse,Vorname,Ort\r\n3,“bad” is not a valid email address,bad,B,\r\n' +
        "4,“=1+1” is not a valid email address,'=1+1,'=2+2,'-3\r\n",
    );
    const [person] = await queryRows(app.ctx.db, sql`SELECT fields, tags FROM subscriber WHERE email = 'a@x.com'`);
    expect(person).toEqual({ fields: { FIRST_NAME: 'Anna' }, tags: ['Spring', 'Fair'] });
  });

  test('says what is wrong with a file, and keeps nothing of it', async () => {
    const cases: [unknown, object][] = [
      [formOf('name,city\nAnna,Bath\n'), { file: [expect.stringContaining('No column contains email addresses')] }],
      [formOf(''), { file: ['The file is empty.'] }],
      [formOf(new Uint8Array(4_000_000).fill(120)), { file: ['The file may not be greater than 3 MB.'] }],
      [formOf(people(1), { mapping: '{"shoe": "FIRST_NAME"}' }), { 'mapping.shoe': ['The file has no such column.'] }],
      [formOf(people(1), { mapping: '[1' }), { mapping: [expect.stringContaining('JSON object')] }],
      [formOf(people(1), { mapping: '{"email": 7}' }), { 'mapping.email': ['The target must be a text or null.'] }],
      [formOf(people(1), { update_existing: 'perhaps' }, false), { update_existing: [expect.any(String)] }],
      [formOf(people(1), { tag: 'x'.repeat(101) }), { tag: [expect.any(String)] }],
      [formOf(people(1), { tag: 'a\r\nb' }), { tag: [expect.any(String)] }],
      [{ mapping: {} }, { file: [expect.stringContaining('required')] }],
    ];
    for (const [body, errors] of cases) {
      expect(await upload(body)).toMatchObject({ status: 422, body: { message: expect.any(String), errors } });
    }
    const chunks = await queryRows(
      app.ctx.db,
      sql`SELECT 1 FROM import_chunk c JOIN mail_list_import i USING (customer_id) WHERE i.id = c.import_id AND i.status <> 'running'`,
    );
    expect(chunks).toEqual([]);
  });

  test('is the business of the list owner', async () => {
    const { body } = await upload(formOf(people(1, 'own')));
    const { import_uid: uid } = body as { import_uid: string };
    const at = (list: string, rest = '') => `/lists/${list}/imports/${uid}${rest}`;
    const { token } = stranger;
    expect((await upload(formOf(people(1)), token)).status).toBe(403);
    expect((await upload(formOf(people(1)), null)).status).toBe(401);
    expect((await upload(formOf(people(1)), owner.token, '0000000000000')).status).toBe(404);
    for (const rest of ['', '/rejected']) expect((await app.rest(at(owner.listUid, rest), { token })).status).toBe(403);
    expect((await app.rest(at(owner.listUid), { token, method: 'DELETE' })).status).toBe(403);
    for (const rest of ['', '/rejected'])
      expect((await app.rest(at('0000000000000', rest), { token: owner.token })).status).toBe(404);
    await finished(uid);
  });

  test('cancels what runs, and refuses to cancel what is over', async () => {
    const { body } = await upload(formOf(people(40_000, 'c')));
    const { import_uid: uid } = body as { import_uid: string };
    const path = `/lists/${owner.listUid}/imports/${uid}`;
    expect(await app.rest(path, { method: 'DELETE', token: owner.token })).toMatchObject({
      status: 200,
      body: { import_uid: uid },
    });
    const { import: found } = await read(uid);
    expect(found).toMatchObject({ status: 'cancelled' });
    expect(await app.rest(path, { method: 'DELETE', token: owner.token })).toMatchObject({
      status: 422,
      body: { errors: { status: [expect.any(String)] } },
    });
    const [count] = await queryRows(
      app.ctx.db,
      sql`SELECT count(*)::int AS people FROM subscriber WHERE email LIKE 'c%@x.com'`,
    );
    expect(count).toEqual({ people: found.added });
  });
});

describe('GraphQL', () => {
  const START =
    'mutation ($input: StartListImportInput!) { startListImport(input: $input) { __typename ... on MailListImport { uid status } ... on Error { code } } }';
  const APPEND =
    'mutation ($input: AppendToListImportInput!) { appendToListImport(input: $input) { __typename ... on ImportPieceReceived { bytesTotal } ... on Error { code } } }';
  const FINISH = `mutation ($input: FinishListImportInput!) { finishListImport(input: $input) { __typename
    ... on MailListImport { status columns { header target } } ... on ValidationError { fields { field messages } } } }`;

  test('uploads in pieces and shows progress live', async () => {
    const started = await graphql(START, { input: { listUid: owner.listUid, fileName: 'x.csv' } });
    expect(started).toMatchObject({ data: { startListImport: { status: 'uploading' } } });
    const { uid } = (started as { data: { startListImport: { uid: string } } }).data.startListImport;
    const events: { status: string; processed: number; progress: number }[] = [];
    const client = createClient({
      url: `${app.baseUrl.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { Authorization: `Bearer ${owner.token}` },
    });
    const watching = (async () => {
      const query =
        'subscription ($uid: String!) { listImport(uid: $uid) { status processed progress isOver list { uid } } }';
      for await (const { data, errors } of client.iterate({ query, variables: { uid } })) {
        expect(errors).toBeUndefined();
        events.push((data as { listImport: (typeof events)[number] }).listImport);
      }
    })();
    await expect.poll(() => events.length).toBeGreaterThan(0);
    const file = Buffer.from(people(2_000, 'live'));
    const half = Math.ceil(file.length / 2);
    for (const no of [0, 1]) {
      const bytes = file.subarray(no * half, (no + 1) * half).toString('base64');
      expect(await graphql(APPEND, { input: { uid, no, bytes } })).toMatchObject({
        data: { appendToListImport: { __typename: 'ImportPieceReceived' } },
      });
    }
    expect(await graphql(FINISH, { input: { uid } })).toMatchObject({
      data: {
        finishListImport: {
          // The worker may be quicker than the answer.
          status: expect.stringMatching(/^(queued|running|done)$/),
          columns: [
            { header: 'email', target: 'EMAIL' },
            { header: 'first name', target: 'FIRST_NAME' },
          ],
        },
      },
    });
    await watching;
    await client.dispose();
    expect(events[0]).toMatchObject({ status: 'uploading', processed: 0 });
    expect(events.at(-1)).toMatchObject({ status: 'done', processed: 2_000, progress: 1 });
    expect(events.map(({ processed }) => processed)).toEqual(
      events.map(({ processed }) => processed).toSorted((a, b) => a - b),
    );
    const shown = await graphql(
      `query ($uid: String!) { list(uid: $uid) { ... on MailList { imports(first: 1) { nodes { uid added total rejectedLines { line } } } } } }`,
      { uid: owner.listUid },
    );
    expect(shown).toMatchObject({
      data: { list: { imports: { nodes: [{ uid, added: 2_000, total: 2_000, rejectedLines: [] }] } } },
    });
  });

  test('refuses what is wrong', async () => {
    expect(await graphql(START, { input: { listUid: owner.listUid } }, stranger.token)).toMatchObject({
      data: { startListImport: { __typename: 'NotFoundError' } },
    });
    expect(await graphql(APPEND, { input: { uid: owner.importUid, no: 0, bytes: '***' } })).toMatchObject({
      errors: [{ message: expect.stringContaining('Base64') }],
    });
    expect(await graphql(APPEND, { input: { uid: owner.importUid, no: 0, bytes: 'YQ==' } })).toMatchObject({
      data: { appendToListImport: { code: 'IMPORT_NOT_UPLOADING' } },
    });
  });
});
