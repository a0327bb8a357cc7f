/** Verifying a list over REST, with the bundled verifier, a real name server and the job of the queue; and the same over GraphQL. */
import { afterAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { runVerification } from '../../src/domain/verification/run-verification.ts';
import { verifyImported } from '../../src/domain/verification/start-verification.ts';
import { runListImport } from '../../src/domain/audience/imports/run-list-import.ts';
import { startDnsServer, zoneOf } from '../support/dns-zone.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { startRestApp } from '../support/rest-app.ts';

const dns = await startDnsServer(
  zoneOf({
    'NS com': ['a.gtld-servers.net'],
    'MX good.example': ['mx.good.example'],
    'A mx.good.example': ['192.0.2.1'],
    'MX broken.example': 'fail',
  }),
);
afterAll(() => dns.close());
const app = await startRestApp({ DNS_SERVERS: dns.address });
const { token } = await app.newTenant();
const signal = new AbortController().signal;

const ask = (path: string, method = 'GET', body?: unknown) =>
  app.rest(path, { method, token, ...(body === undefined ? {} : { body }) });

async function graphql(query: string, variables: object = {}) {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  return ((await response.json()) as { data: Record<string, unknown> }).data;
}

async function newList(...people: readonly string[]): Promise<string> {
  const { body } = await ask('/lists', 'POST', LIST_BODY);
  const { list_uid: uid } = body as { list_uid: string };
  for (const EMAIL of people) await ask(`/lists/${uid}/subscribers`, 'POST', { EMAIL });
  return uid;
}

/** What a worker does: the process of this test has none. */
async function work(uid: string): Promise<void> {
  const [run] = await queryRows<{ customerId: bigint; id: bigint }>(
    app.ctx.db,
    sql`SELECT customer_id AS "customerId", id FROM verification WHERE uid = ${uid}`,
  );
  if (run) await runVerification(app.ctx, run, { abortSignal: signal, isLastTry: false });
}

const uidOf = (body: unknown) => (body as { verification_uid: string }).verification_uid;

test('needs a server, and says so', async () => {
  const list = await newList();
  expect(await ask(`/lists/${list}/verify`, 'POST', {})).toMatchObject({
    status: 422,
    body: { errors: { verification_server: [expect.stringContaining('create one')] } },
  });
});

test('verifies a list, shows how far it is, and what was found', async () => {
  await app.rest('/email_verification_servers', { method: 'POST', body: { name: 'Check', type: 'address-check' } });
  const list = await newList('ada@good.example', 'info@good.example', 'bob@nowhere.example', 'eve@broken.example');
  const started = await ask(`/lists/${list}/verify`, 'POST', {});
  expect(started).toMatchObject({
    status: 201,
    body: { status: 1, verification: { list_uid: list, status: 'queued', total: null } },
  });
  const uid = uidOf(started.body);
  expect((await ask(`/lists/${list}/verify`, 'POST', {})).status).toBe(422);
  await work(uid);
  const shown = await ask(`/verifications/${uid}`);
  expect(shown.body).toMatchObject({
    verification: {
      ...{ uid, status: 'done', total: 4, processed: 4, deliverable: 1, undeliverable: 1, risky: 1, unknown: 1 },
      ...{ reason: null, import_uid: null, verification_server: { name: 'Check' } },
    },
  });
  expect((await ask('/verifications')).body).toMatchObject({ data: [{ uid }] });
  const person = async (email: string) =>
    ((await ask(`/subscribers/email/${email}`)).body as { subscribers: object[] }).subscribers[0];
  expect(await person('bob@nowhere.example')).toMatchObject({
    ...{ verification_status: 'undeliverable', verification_reasons: ['no_domain'], verified_by: 'address-check' },
    verified_at: expect.any(String),
  });
  expect(await person('eve@broken.example')).toMatchObject({
    verification_status: 'unknown',
    verification_reasons: ['dns_failed'],
  });
  const twin = await graphql(
    `query ($uid: String!, $list: String!) {
      verification(uid: $uid) { ... on Verification { status isOver progress total list { uid } } }
      subscriber(subscriber: "info@good.example", listUid: $list) { ... on Subscriber { verification { result reasons verifiedBy } } }
    }`,
    { uid, list },
  );
  expect(twin).toEqual({
    verification: { status: 'done', isOver: true, progress: 1, total: 4, list: { uid: list } },
    subscriber: { verification: { result: 'risky', reasons: ['role'], verifiedBy: 'address-check' } },
  });
  expect((await ask(`/verifications/${uid}`, 'DELETE')).status).toBe(422);
  expect((await app.rest(`/verifications/${uid}`)).status).toBe(403);

  const segment = async (rule: object) => {
    const made = await ask(`/lists/${list}/segments`, 'POST', { name: 'S', rule });
    const { segment_uid: of } = made.body as { segment_uid: string };
    const { body } = await ask(`/segments/${of}/subscribers`);
    return (body as { data: { email: string }[] }).data.map(({ email }) => email);
  };
  await ask(`/lists/${list}/subscribers`, 'POST', { EMAIL: 'new@good.example' });
  expect(await segment({ verification: ['undeliverable', 'risky'] })).toEqual([
    'info@good.example',
    'bob@nowhere.example',
  ]);
  expect(await segment({ none: [{ verification: ['undeliverable', 'risky', 'unknown'] }] })).toEqual([
    'ada@good.example',
    'new@good.example',
  ]);
  expect(await segment({ verification: ['unverified'] })).toEqual(['new@good.example']);
  expect(await segment({ verifiedAt: { inLastDays: 1 } })).toHaveLength(4);
  expect((await ask(`/lists/${list}/segments`, 'POST', { name: 'S', rule: { verification: ['bad'] } })).status).toBe(
    422,
  );
});

test('suppresses what it finds undeliverable, if it was asked to', async () => {
  const list = await newList('ada@good.example', 'tom@nowhere.example');
  const wrong = await ask(`/lists/${list}/verify`, 'POST', { undeliverable: 'delete' });
  expect(wrong).toMatchObject({
    status: 422,
    body: { errors: { undeliverable: [expect.stringContaining('suppress')] } },
  });
  const uid = uidOf((await ask(`/lists/${list}/verify`, 'POST', { undeliverable: 'suppress' })).body);
  await work(uid);
  expect((await ask(`/verifications/${uid}`)).body).toMatchObject({
    verification: { status: 'done', suppresses: true, suppressed: 1 },
  });
  expect((await ask('/suppressions?email=tom@nowhere.example')).body).toMatchObject({
    data: [{ reason: 'undeliverable', note: expect.stringContaining(uid), added_by: null }],
  });
  const twin = await graphql(
    `query ($uid: String!) {
      verification(uid: $uid) { ... on Verification { suppresses suppressed } }
      suppressionsPage(email: "tom@nowhere.example") { ... on SuppressionPage { nodes { reason } } }
    }`,
    { uid },
  );
  expect(twin).toEqual({
    verification: { suppresses: true, suppressed: 1 },
    suppressionsPage: { nodes: [{ reason: 'undeliverable' }] },
  });
});

test('is cancelled', async () => {
  const list = await newList('ada@good.example');
  const uid = uidOf((await ask(`/lists/${list}/verify`, 'POST', { older_than_days: 30 })).body);
  expect((await ask(`/verifications/${uid}/resume`, 'POST')).status).toBe(422);
  expect((await ask(`/verifications/${uid}`, 'DELETE')).body).toMatchObject({
    verification: { status: 'cancelled', older_than_days: 30 },
  });
  await work(uid);
  expect((await ask(`/verifications/${uid}`)).body).toMatchObject({
    verification: { status: 'cancelled', processed: 0 },
  });
});

test('is done with what an import has added, if its upload asks for it', async () => {
  const list = await newList('before@good.example');
  const form = new FormData();
  form.set('verify', 'yes');
  form.set('file', new Blob(['email\nada@good.example\nbefore@good.example\n']), 'people.csv');
  const answer = await ask(`/lists/${list}/import`, 'POST', form);
  expect(answer.status).toBe(201);
  const { import_uid: importUid } = answer.body as { import_uid: string };
  const [found] = await queryRows<{ customerId: bigint; id: bigint }>(
    app.ctx.db,
    sql`SELECT customer_id AS "customerId", id FROM mail_list_import WHERE uid = ${importUid}`,
  );
  if (!found) throw new Error('No import.');
  await runListImport(app.ctx, found, signal);
  await verifyImported(app.ctx, found);
  const { verifications } = (await graphql(
    '{ verifications(first: 1) { ... on VerificationConnection { nodes { uid importUid } } } }',
  )) as {
    verifications: { nodes: { uid: string; importUid: string }[] };
  };
  expect(verifications.nodes).toEqual([{ uid: expect.any(String), importUid }]);
  await work(verifications.nodes[0]?.uid ?? '');
  expect((await ask(`/verifications/${verifications.nodes[0]?.uid}`)).body).toMatchObject({
    verification: { status: 'done', import_uid: importUid, total: 1, deliverable: 1 },
  });
});

test('an import with a server that cannot be used is refused before anything is imported', async () => {
  const list = await newList();
  const form = new FormData();
  form.set('verify', '1');
  form.set('verification_server', '0000000000000');
  form.set('file', new Blob(['email\nada@good.example\n']), 'people.csv');
  expect(await ask(`/lists/${list}/import`, 'POST', form)).toMatchObject({
    status: 422,
    body: { errors: { verification_server: [expect.stringContaining('cannot use')] } },
  });
});
