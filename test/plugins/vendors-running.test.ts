/** SendGrid and SparkPost in a running program: settings that are tried, what arrives there, and the address of their reports. */
import { describe, expect, test } from 'vitest';
import { afterFile } from '../support/after-file.ts';
import { programRest } from '../support/program-rest.ts';
import { newDataDir } from '../support/plugin-folder.ts';
import { startProgram } from '../support/program.ts';
import { SENDGRID_KEY, sendGridReport, startSendGridVendor } from '../support/sendgrid-vendor.ts';
import {
  SPARKPOST_KEY,
  SPARKPOST_WEBHOOK_KEY,
  sparkPostReport,
  startSparkPostVendor,
} from '../support/sparkpost-vendor.ts';
import { createTestDatabase } from '../support/test-database.ts';

const sendGrid = await startSendGridVendor();
const sparkPost = await startSparkPostVendor();
afterFile(async () => {
  await sendGrid.close();
  await sparkPost.close();
});
const { url } = await createTestDatabase();
const program = await startProgram({ DATABASE_URL: url, DATA_DIR: newDataDir(), ROLES: 'web' });

const call = programRest(program);

const event = { sg_event_id: 'e1', sg_message_id: 'nobody.1', event: 'delivered' };
const delivery = { msys: { message_event: { type: 'delivery', event_id: 'e1', transmission_id: '1' } } };
const VENDORS = [
  {
    ...{ type: 'sendgrid-api', vendor: sendGrid, secrets: [SENDGRID_KEY] },
    ...{ report: sendGridReport([event]), forged: { ...sendGridReport([event]), headers: {} } },
    endOfAddress: '',
  },
  {
    ...{ type: 'sparkpost-api', vendor: sparkPost, secrets: [SPARKPOST_KEY] },
    ...{ report: sparkPostReport([delivery]), forged: { ...sparkPostReport([delivery]), query: { key: '0' } } },
    endOfAddress: `?key=${SPARKPOST_WEBHOOK_KEY}`,
  },
];

describe.each(VENDORS)('$type', ({ type, vendor, secrets, report, forged, endOfAddress }) => {
  const wanted = { name: 'Vendor', type, default_from_email: 'news@house.test' };
  const created = (() => {
    let made: ReturnType<typeof call> | undefined;
    return () => (made ??= call('POST', '/sending_servers', { ...wanted, settings: vendor.settings }));
  })();

  test('settings are checked field by field, then tried, and stored only when both pass', async () => {
    const settings = { ...vendor.settings, region: 'mars', api_key: '' };
    expect(await call('POST', '/sending_servers', { ...wanted, settings })).toMatchObject({
      status: 422,
      json: { errors: { 'settings.region': [expect.any(String)], 'settings.api_key': ['The API key is required.'] } },
    });
    const another = { ...vendor.settings, api_key: 'another' };
    expect(await call('POST', '/sending_servers', { ...wanted, settings: another })).toMatchObject({
      status: 422,
      json: { errors: { connection: [expect.stringContaining('refused the API key')] } },
    });
    const made = await created();
    expect(made).toMatchObject({ status: 201, json: { sending_server: { type, fault: null } } });
    for (const secret of secrets) expect(JSON.stringify(made.json)).not.toContain(secret);
  });

  test('a message arrives with our own id, and with what looks like a template in it', async () => {
    const { sending_server_uid: uid } = (await created()).json;
    await call('PATCH', `/sending_servers/${uid}`, { name: 'Mail {{x}} {y} {{{z}}}' });
    const answer = await call('POST', `/sending_servers/${uid}/test`, { to: 'ada@there.test' });
    expect(answer).toMatchObject({ status: 200, json: { test: { accepted: true } } });
    const taken = vendor.taken().at(-1);
    expect(taken?.to).toBe('ada@there.test');
    const sent = vendor.requests().find(({ method }) => method === 'POST');
    const fields: { readonly subject?: string } = JSON.parse(sent?.body.toString() ?? '');
    // In a field of its own, or a header of the message.
    expect(fields.subject ?? /^Subject: .*/m.exec(taken?.content ?? '')?.[0]).toContain('Mail {{x}} {y} {{{z}}}');
    expect(sent?.body.toString()).toMatch(/"mailwright_id":"[\w.-]{10,64}"/);
  });

  test('its reports are taken at the address of the server, and forged ones are not', async () => {
    const server = (await created()).json.sending_server;
    const address = `${program.baseUrl}/webhook/${type}/${(await created()).json.sending_server_uid}`;
    expect(server.webhook_url).toBe(`${address}${endOfAddress}`);
    const post = async ({ headers, query, body }: typeof report) =>
      fetch(`${address}?${new URLSearchParams(query)}`, { method: 'POST', headers, body: Buffer.from(body) });
    expect((await post(report)).status).toBe(200);
    expect((await post(forged)).status).toBe(401);
  });
});
