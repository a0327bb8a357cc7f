/** Testing a stored sending server: the connection, one mail through it, its refusals with advice, limits, other customers. */
import { expect, it } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { SERVER_TESTS_PER_ADDRESS_AND_DAY_MAX } from '../../src/domain/delivery/messages/test-sending-server.ts';
import { endHold, hold } from '../../src/domain/installation/restore-guard.ts';
import { endPlan } from '../support/plans.ts';
import { startRestApp, type RestAnswer } from '../support/rest-app.ts';
import { scriptedSmtpServer, type SmtpEvent } from '../support/scripted-smtp-server.ts';

const app = await startRestApp();
let answer: ((event: SmtpEvent) => string | null | undefined) | undefined;
const smtp = await scriptedSmtpServer({ answer: (event) => answer?.(event) });

async function newServer(more: Record<string, unknown> = {}, token?: string): Promise<string> {
  const settings = { host: '127.0.0.1', port: smtp.port, encryption: 'none' };
  const body = { name: 'Relay', type: 'smtp', settings, default_from_email: 'post@example.com', ...more };
  const made = await app.rest('/sending_servers', { method: 'POST', body, ...(token ? { token } : {}) });
  return (made.body as { sending_server_uid: string }).sending_server_uid;
}

const testServer = (uid: string, body: object = {}, more: object = {}): Promise<RestAnswer> =>
  app.rest(`/sending_servers/${uid}/test`, { method: 'POST', body, ...more });

async function twin(uid: string, to: string | null): Promise<unknown> {
  const query = `mutation ($input: TestSendingServerInput!) { testSendingServer(input: $input) {
    ... on SendingServerTest { uid isAccepted reply advice } ... on Error { message } } }`;
  const answered = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { input: { uid, to } } }),
  });
  return answered.json();
}

it('connects only, or sends one mail, in both dialects and over GraphQL', async () => {
  const uid = await newServer();
  smtp.accepted.length = 0;
  for (const headers of [{}, { 'x-api-dialect': 'classic' }])
    expect(await testServer(uid, {}, { headers })).toMatchObject({
      status: 200,
      body: { status: 1, sending_server_uid: uid, test: { accepted: true, advice: null } },
    });
  expect(smtp.accepted).toEqual([]);
  expect(await testServer(uid, { to: 'ann@example.org' })).toMatchObject({
    status: 200,
    body: { test: { accepted: true, reply: expect.stringContaining('250'), advice: null } },
  });
  expect(smtp.accepted).toMatchObject([{ from: expect.any(String), to: 'ann@example.org' }]);
  expect(smtp.accepted[0]?.content).toMatch(/^From: post@example\.com\r$/m);
  expect(await twin(uid, 'ann@example.org')).toMatchObject({
    data: { testSendingServer: { uid, isAccepted: true, advice: null } },
  });
});

it('answers what the server said, and what to do', async () => {
  const uid = await newServer();
  answer = ({ verb }) => (verb === 'MAIL' ? '550 5.7.1 Sender address rejected: not owned by user' : undefined);
  expect(await testServer(uid, { to: 'ann@example.org' })).toMatchObject({
    status: 200,
    body: {
      message: 'The test failed',
      test: {
        accepted: false,
        reply: expect.stringContaining('5.7.1 Sender address rejected'),
        advice: expect.stringContaining('does not take mail from this sender'),
      },
    },
  });
  answer = ({ verb }) => (verb === 'CONNECT' ? '554 5.7.1 no service for you' : undefined);
  const refused = await testServer(uid);
  expect(refused).toMatchObject({
    status: 200,
    body: {
      test: { accepted: false, reply: expect.stringContaining('no service for you'), advice: expect.any(String) },
    },
  });
  expect(await twin(uid, null)).toMatchObject({ data: { testSendingServer: { isAccepted: false } } });
  answer = undefined;
});

it('sends no mail while the installation is on hold as a restored backup, and still connects', async () => {
  const uid = await newServer();
  smtp.accepted.length = 0;
  await hold(app.ctx.db, 'restored');
  try {
    for (const headers of [{}, { 'x-api-dialect': 'classic' }])
      expect(await testServer(uid, { to: 'ann@example.org' }, { headers })).toMatchObject({
        status: 422,
        body: { message: expect.stringContaining('on hold as a restored backup') },
      });
    expect(await twin(uid, 'ann@example.org')).toMatchObject({
      data: { testSendingServer: { message: expect.stringContaining('on hold as a restored backup') } },
    });
    expect(smtp.accepted).toEqual([]);
    expect(await testServer(uid)).toMatchObject({ status: 200, body: { test: { accepted: true } } });
  } finally {
    await endHold(app.ctx, 'continue');
  }
  expect(await testServer(uid, { to: 'ann@example.org' })).toMatchObject({ body: { test: { accepted: true } } });
});

it('refuses what is wrong before it connects', async () => {
  const before = smtp.sessions.length;
  expect(await testServer('0'.repeat(13))).toMatchObject({ status: 404 });
  const uid = await newServer();
  const nameless = await newServer({ default_from_email: '' });
  const connected = smtp.sessions.length;
  expect(connected).toBe(before + 2);
  expect(await testServer(uid, { to: 'nobody' })).toMatchObject({
    status: 422,
    body: { errors: { to: expect.any(Array) } },
  });
  expect(await testServer(nameless, { to: 'ann@example.org' })).toMatchObject({
    status: 422,
    body: { errors: { to: [expect.stringContaining('default_from_email')] } },
  });
  const other = await app.newTenant();
  expect(await testServer(uid, {}, { token: other.token })).toMatchObject({ status: 403 });
  await app.rest('/suppressions', { method: 'POST', body: { email: 'gone@example.org' } });
  expect(await testServer(uid, { to: 'gone@example.org' })).toMatchObject({
    status: 422,
    body: { errors: { to: [expect.stringContaining('suppressed')] } },
  });
  expect(smtp.sessions.length).toBe(connected);
});

it("does not connect to a customer's server at a private address (D44), also when it was moved there later", async () => {
  const customer = await app.newTenant();
  const system = await newServer();
  // As if its name had led to a public address when it was stored.
  await app.ctx.db.execute(
    sql`UPDATE sending_server SET is_system = false, customer_id = ${customer.customerId} WHERE uid = ${system}`,
  );
  const connected = smtp.sessions.length;
  const tested = await testServer(system, {}, { token: customer.token });
  expect(smtp.sessions.length, JSON.stringify(tested.body)).toBe(connected);
  expect(tested).toMatchObject({ status: 422, body: { errors: { 'settings.host': [expect.any(String)] } } });
});

it('sends nothing for a customer whose plan has ended (D55), and still connects', async () => {
  const customer = await app.newTenant();
  const uid = await newServer();
  await app.ctx.db.execute(
    sql`UPDATE sending_server SET is_system = false, customer_id = ${customer.customerId},
               settings = settings || '{"host": "relay.example"}' WHERE uid = ${uid}`,
  );
  await endPlan(app.ctx.db, customer.customerId);
  const accepted = smtp.accepted.length;
  expect(await testServer(uid, { to: 'ann@example.org' }, { token: customer.token })).toMatchObject({
    status: 422,
    body: { message: expect.stringMatching(/subscription/i) },
  });
  expect(await testServer(uid, {}, { token: customer.token })).not.toMatchObject({
    body: { message: expect.stringMatching(/subscription/i) },
  });
  expect(smtp.accepted.length).toBe(accepted);
});

it('shows the name of the server as it is, and runs no template in it', async () => {
  const uid = await newServer({ name: 'Relay {{ 7 | times: 6 }} {% x' });
  smtp.accepted.length = 0;
  expect(await testServer(uid, { to: 'name@example.org' })).toMatchObject({
    status: 200,
    body: { test: { accepted: true } },
  });
  expect(smtp.accepted[0]?.content).toContain('Relay {{ 7 | times: 6 }} {% x');
});

it('limits how many mails an address gets', async () => {
  const uid = await newServer();
  const to = 'often@example.org';
  for (let n = 0; n < SERVER_TESTS_PER_ADDRESS_AND_DAY_MAX; n++)
    expect(await testServer(uid, { to })).toMatchObject({ status: 200 });
  expect(await testServer(uid, { to })).toMatchObject({ status: 429 });
});
