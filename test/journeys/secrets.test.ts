/** Secrets at rest and in passing (HARD-CASES E8): none of them is in any table, any job, any log line, any answer. */
import { afterAll, describe, expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { raw, openDatabase, sql } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import { browse, cookieOf } from '../support/browser.ts';
import { startProgram } from '../support/program.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestDatabase } from '../support/test-database.ts';

const { url } = await createTestDatabase();
const database = openDatabase({ url, poolSize: 2, log: silentLog });
afterAll(() => database.close());

const ADMIN_TOKEN = 'CanaryToken'.padEnd(60, 'x');
const ADMIN_PASSWORD = 'canary-password-of-admin';
const SMTP_PASSWORD = 'canary-password-of-smtp';
const CUSTOMER_PASSWORD = 'canary-password-of-customer';
const CHANGED_PASSWORD = 'canary-password-that-changed';

/** Every row of every table as text; bytea shows as hex. */
async function dump(): Promise<string> {
  const tables = await queryRows<{ name: string }>(
    database,
    sql`SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const rows = await queryRows<{ line: string }>(database, sql`SELECT t::text AS line FROM ${raw(name)} t`);
    texts.push(...rows.map((row) => row.line));
  }
  return texts.join('\n');
}

const TRAIL = `{
  auditEvents(first: 100, everybody: true) { ... on AuditEventConnection { nodes { operation fields targetUid ipAddress userEmail } } }
  customers(first: 100) { ... on CustomerConnection { nodes { uid name owner { email } } } }
  apiTokens(first: 100) { ... on ApiTokenConnection { nodes { uid kind name } } }
}`;

async function graphql(baseUrl: string, token: string, body: object): Promise<string> {
  const answer = await fetch(`${baseUrl}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return answer.text();
}

/** Makes and uses every kind of credential there is for a customer; answers those that were made here. */
async function useAccounts(baseUrl: string): Promise<string[]> {
  const post = async (path: string, token: string, body: object) => {
    const answer = await fetch(`${baseUrl}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as Record<string, string>;
  };
  const email = 'canary@customer.example';
  const { api_token: primary = '' } = await post('/customers', ADMIN_TOKEN, { email, password: CUSTOMER_PASSWORD });
  const { token: login = '' } = await post('/user/login', primary, { email, password: CUSTOMER_PASSWORD });
  const { token: used = '', url = '' } = await post('/login-token', primary, {});
  const { token: unused = '' } = await post('/login-token', ADMIN_TOKEN, { email });
  const followed = await browse(url);
  const session = cookieOf(followed).split('=')[1] ?? '';
  await browse(url);
  const named = await graphql(baseUrl, primary, {
    query: 'mutation { createApiToken(input: { name: "Robot" }) { ... on CreatedApiToken { token } } }',
  });
  await graphql(baseUrl, primary, {
    query: `mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { __typename } }`,
    variables: { input: { currentPassword: CUSTOMER_PASSWORD, newPassword: CHANGED_PASSWORD } },
  });
  // Wrong in every way that an error might repeat.
  await graphql(baseUrl, primary, {
    query: `mutation { changePassword(input: { currentPassword: "${CHANGED_PASSWORD}", newPassword: "${CHANGED_PASSWORD}", x: 1 }) { __typename } }`,
  });
  await post(`/user/login?api_token=${primary}`, used, { email, password: [CHANGED_PASSWORD] });
  const { token: script } = (JSON.parse(named) as { data: { createApiToken: { token: string } } }).data.createApiToken;
  const made = [primary, login, used, unused, session, script];
  expect(made.map((one) => one.length)).toEqual([60, 60, 43, 43, 60, 60]);
  return made;
}

describe('secrets', () => {
  it('are nowhere to be read', async () => {
    await using smtp = await scriptedSmtpServer({
      extensions: ['PIPELINING', 'AUTH PLAIN'],
      answer: ({ verb }) => (verb === 'AUTH' ? '235 2.7.0 ok' : undefined),
    });
    const program = await startProgram({
      DATABASE_URL: url,
      ADMIN_API_TOKEN: ADMIN_TOKEN,
      ADMIN_PASSWORD,
      LOG_LEVEL: 'debug',
    });
    const answers: string[] = [];
    const call = async (method: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
      const answer = await fetch(`${program.baseUrl}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      answers.push(text);
      return JSON.parse(text);
    };
    const settings = {
      host: '127.0.0.1',
      port: smtp.port,
      encryption: 'none',
      username: 'robot',
      password: SMTP_PASSWORD,
    };
    const { sending_server_uid } = await call('POST', '/sending_servers', { name: 'Relay', type: 'smtp', settings });
    expect(sending_server_uid).toBeTypeOf('string');
    await call('GET', `/sending_servers/${String(sending_server_uid)}`);
    await call('GET', '/sending_servers');
    await call('PATCH', `/sending_servers/${String(sending_server_uid)}`, { settings: { ...settings, port: 1 } });
    await call('GET', '/me');
    await call('POST', '/user/login', { email: 'admin@example.com', password: `${ADMIN_PASSWORD}-wrong` });
    const login = await fetch(`${program.baseUrl}/api/v1/user/login?api_token=${ADMIN_TOKEN}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'admin@example.com', password: ADMIN_PASSWORD }),
    });
    const { token } = (await login.json()) as { token: string };
    expect(token).toMatch(/^\w{60}$/);
    const secrets = await useAccounts(program.baseUrl);
    for (const path of ['/customers', '/me', '/customers?keyword=canary']) await call('GET', path);
    answers.push(await graphql(program.baseUrl, ADMIN_TOKEN, { query: TRAIL }));
    await program.stop();

    const places = { database: await dump(), log: program.output(), answers: answers.join('\n') };
    for (const secret of [
      ADMIN_TOKEN,
      ADMIN_PASSWORD,
      SMTP_PASSWORD,
      CUSTOMER_PASSWORD,
      CHANGED_PASSWORD,
      token,
      ...secrets,
    ]) {
      for (const spelled of [
        secret,
        Buffer.from(secret).toString('hex'),
        Buffer.from(secret).toString('base64').replace(/=+$/, ''),
      ]) {
        for (const [place, text] of Object.entries(places))
          expect(text.includes(spelled), `${spelled.slice(0, 24)} in the ${place}`).toBe(false);
      }
    }
  });
});
