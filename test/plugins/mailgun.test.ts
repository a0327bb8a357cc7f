/** Mailgun in a running program: settings that are tried, the address of its reports, the domains of the account, what arrives there. */
import { expect, test } from 'vitest';
import { afterFile } from '../support/after-file.ts';
import { MAILGUN_KEY, startMailgunVendor } from '../support/mailgun-vendor.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir } from '../support/plugin-folder.ts';
import { programRest } from '../support/program-rest.ts';
import { startProgram } from '../support/program.ts';
import { createTestDatabase } from '../support/test-database.ts';

const vendor = await startMailgunVendor();
afterFile(() => vendor.close());
const { url } = await createTestDatabase();
const program = await startProgram({ DATABASE_URL: url, DATA_DIR: newDataDir(), ROLES: 'web' });
const { graphql } = pluginClient(program);

const call = programRest(program);

const wanted = { name: 'Mailgun', type: 'mailgun-api', default_from_email: 'news@mg.house.test' };
const settings = { ...vendor.settings };
let uid = '';

test('settings are checked field by field, then tried, and stored only when both pass', async () => {
  const wrong = await call('POST', '/sending_servers', {
    ...wanted,
    settings: { ...settings, region: 'mars', api_key: '' },
  });
  expect(wrong).toMatchObject({
    status: 422,
    json: { errors: { 'settings.region': [expect.any(String)], 'settings.api_key': ['The API key is required.'] } },
  });
  const refused = await call('POST', '/sending_servers', { ...wanted, settings: { ...settings, api_key: 'another' } });
  expect(refused).toMatchObject({
    status: 422,
    json: { errors: { connection: [expect.stringContaining('Mailgun refused the API key')] } },
  });
  const other = await call('POST', '/sending_servers', { ...wanted, settings: { ...settings, domain: 'other.test' } });
  expect(other).toMatchObject({
    status: 422,
    json: { errors: { connection: [expect.stringContaining('other.test')] } },
  });
  expect((await call('GET', '/sending_servers')).json.data).toEqual([]);
  const made = await call('POST', '/sending_servers', { ...wanted, settings });
  expect(made).toMatchObject({ status: 201, json: { sending_server: { type: 'mailgun-api', fault: null } } });
  expect(JSON.stringify(made.json)).not.toContain(MAILGUN_KEY);
  uid = made.json.sending_server_uid;
  expect(made.json.sending_server.webhook_url).toBe(`${program.baseUrl}/webhook/mailgun-api/${uid}`);
});

test('a message arrives as it was composed, with our own id, whatever looks like a template in it', async () => {
  const path = `/sending_servers/${uid}`;
  await call('PATCH', path, { name: 'Mail %recipient.name% {{x}} {y}' });
  const answer = await call('POST', `${path}/test`, { to: 'ada@there.test' });
  expect(answer).toMatchObject({ status: 200, json: { test: { accepted: true } } });
  const [message] = vendor.taken();
  expect(message).toMatchObject({ to: 'ada@there.test' });
  expect(message?.content).toContain('Mail %recipient.name% {{x}} {y}');
  const [request] = vendor.requests().filter(({ method }) => method === 'POST');
  expect(request?.body.toString()).toMatch(/name="v:mailwright_id"\r\n\r\n[\w.-]{10,64}\r\n/);
  expect(request?.body.toString()).not.toContain('recipient-variables');
});

const IDENTITY = '... on SendingServerIdentity { kind name isVerified status records { type name value isFound } }';

test('the domains of the account are shown, added and checked', async () => {
  expect(
    await graphql(
      `{ sendingServerIdentities(uid: "${uid}") { ... on SendingServerIdentitiesSuccess { nodes { name isVerified } } } }`,
    ),
  ).toEqual({ sendingServerIdentities: { nodes: [{ name: 'mg.house.test', isVerified: true }] } });
  const input = (name: string, kind = 'DOMAIN') => `(input: { uid: "${uid}", kind: ${kind}, name: "${name}" })`;
  const added = await graphql(`mutation { it: addSendingServerIdentity${input('News.Example.com')} { ${IDENTITY} } }`);
  expect(added).toEqual({
    it: {
      ...{ kind: 'DOMAIN', name: 'news.example.com', isVerified: false, status: 'unverified' },
      records: [{ type: 'TXT', name: 'news.example.com', value: 'v=spf1 include:mailgun.org ~all', isFound: null }],
    },
  });
  const again = `mutation { it: addSendingServerIdentity${input('news.example.com')} { ... on Error { code } ... on ValidationError { fields { field messages } } } }`;
  expect(await graphql(again)).toMatchObject({ it: { code: 'VENDOR_REFUSED' } });
  expect(
    await graphql(`mutation { it: checkSendingServerIdentity${input('news.example.com')} { ${IDENTITY} } }`),
  ).toMatchObject({
    it: { isVerified: true, records: [{ isFound: true }] },
  });
  const refused = `mutation { it: addSendingServerIdentity${input('ada@example.com', 'EMAIL')} { ... on ValidationError { code } } }`;
  expect(await graphql(refused)).toMatchObject({ it: { code: 'INVALID_INPUT' } });
  const invalid = `mutation { it: addSendingServerIdentity${input('a b')} { ... on ValidationError { code } } }`;
  expect(await graphql(invalid)).toMatchObject({ it: { code: 'INVALID_INPUT' } });
});

test('a server whose driver shows no senders says so, and the types tell what their vendors can', async () => {
  const types = await graphql(
    '{ sendingServerTypes { ... on SendingServerTypesSuccess { nodes { type takesReports showsSenders recognisesRepeats composesMessages signsDkim bouncesComeBy } } } }',
  );
  expect(types).toMatchObject({
    sendingServerTypes: {
      nodes: expect.arrayContaining([
        {
          ...{ type: 'mailgun-api', takesReports: true, showsSenders: true },
          ...{ recognisesRepeats: false, composesMessages: false, signsDkim: false, bouncesComeBy: 'REPORTS' },
        },
        {
          ...{ type: 'smtp', takesReports: false, showsSenders: false },
          ...{ recognisesRepeats: false, composesMessages: false, signsDkim: false, bouncesComeBy: 'MAIL' },
        },
      ]),
    },
  });
});
