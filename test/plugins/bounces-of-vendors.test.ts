/** How bounces of a server come back, what its owner is told about it, and which records of a domain have an effect. */
import { expect, test } from 'vitest';
import { afterFile } from '../support/after-file.ts';
import { MAILGUN_SIGNING_KEY, mailgunReport, startMailgunVendor } from '../support/mailgun-vendor.ts';
import { newDataDir } from '../support/plugin-folder.ts';
import { programRest } from '../support/program-rest.ts';
import { startProgram } from '../support/program.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestDatabase } from '../support/test-database.ts';

const vendor = await startMailgunVendor();
const relay = await scriptedSmtpServer();
afterFile(async () => {
  await vendor.close();
  await relay[Symbol.asyncDispose]();
});
const { url } = await createTestDatabase();
const program = await startProgram({
  ...{ DATABASE_URL: url, DATA_DIR: newDataDir(), ROLES: 'web' },
  ...{ BOUNCE_DOMAIN: 'bounces.house.test', SPF_TERMS: 'include:spf.house.test' },
});

const call = programRest(program);

const domain = await call('POST', '/sending_domains', { name: 'shop.example' });
const records = async (): Promise<string[]> => {
  const { json } = await call('GET', `/sending_domains/${domain.json.sending_domain_uid}`);
  return json.sending_domain.records.map(({ kind }: { kind: string }) => kind);
};
const server = async (uid: string) => (await call('GET', `/sending_servers/${uid}`)).json.sending_server;
const OF_RETURN_PATH = ['spf', 'return_path'];

test('a vendor that takes bounces itself: its server warns until a report arrives, and records of the return-path are not asked for', async () => {
  expect(await records()).toEqual(expect.arrayContaining(OF_RETURN_PATH));
  const { webhook_signing_key: _key, ...settings } = vendor.settings;
  const common = { name: 'Mailgun', type: 'mailgun-api', default_from_email: 'news@mg.house.test' };
  const { sending_server_uid: uid } = (await call('POST', '/sending_servers', { ...common, settings })).json;
  expect(await server(uid)).toMatchObject({
    bounces_come_by: 'reports',
    bounce_warning: expect.stringContaining('not believed without webhook_signing_key'),
  });
  const left = await records();
  expect(left).toEqual(expect.arrayContaining(['ownership', 'dkim', 'dmarc']));
  expect(left.filter((kind) => OF_RETURN_PATH.includes(kind))).toEqual([]);

  await call('PATCH', `/sending_servers/${uid}`, { settings: { webhook_signing_key: MAILGUN_SIGNING_KEY } });
  const { bounce_warning: warning, webhook_url: address } = await server(uid);
  expect(warning).toContain('has reported nothing in the last 31 days');
  const { method, headers, body } = mailgunReport({
    ...{ event: 'delivered', message: { headers: { 'message-id': 'of-another@house.test' } } },
  });
  const posted = await fetch(address, { method, headers, body: Buffer.from(body) });
  expect(posted.status).toBe(200);
  await expect.poll(async () => (await server(uid)).bounce_warning).toBeNull();
});

test('a server that bounces come back from by mail has no warning, and with it the records have an effect again', async () => {
  const made = await call('POST', '/sending_servers', {
    ...{ name: 'Relay', type: 'smtp', default_from_email: 'news@shop.example' },
    settings: { host: '127.0.0.1', port: relay.port, encryption: 'none' },
  });
  const uid = made.json.sending_server_uid;
  expect(await server(uid)).toMatchObject({ bounces_come_by: 'mail', bounce_warning: null });
  expect(await records()).toEqual(expect.arrayContaining(OF_RETURN_PATH));
});
