/**
 * All vendors with a web interface in a running program: a server that is saved after a real test, a small campaign through it, and reports, genuine and
 * forged; and reports that come while the database is away (hard case C14).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { WebhookRequest } from '../../src/plugin-api/index.ts';
import { afterFile } from '../support/after-file.ts';
import type { ApiVendor } from '../support/api-vendor.ts';
import { onBusyMachine } from '../support/busy-machine.ts';
import { startFreezingProxy } from '../support/freezing-proxy.ts';
import { startLocalSns } from '../support/local-sns.ts';
import { programRest } from '../support/program-rest.ts';
import { newDataDir } from '../support/plugin-folder.ts';
import { startProgram } from '../support/program.ts';
import { startSns } from '../support/sns.ts';
import { testCertificate } from '../support/test-certificate.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { reportingVendors } from '../support/unsubscribe-reports.ts';
import { VENDORS } from '../support/vendors.ts';

/** Somebody who unsubscribes at the vendor, somebody who is said to by a stranger, and somebody who does while the database is away. */
const PEOPLE = ['ann', 'bob', 'cleo'] as const;
const BUSY_ANSWER_MS_MAX = onBusyMachine(30_000);

const certificate = testCertificate();
const reporting = reportingVendors(startSns({ certificate }));
const { url } = await createTestDatabase();
const database = openDatabase({ url, poolSize: 2, log: silentLog });
afterFile(() => database.close());
const through = new URL(url);
const proxy = await startFreezingProxy(Number(through.port));
through.port = String(proxy.port);
const program = await startProgram({
  ...{ DATABASE_URL: through.href, DATA_DIR: newDataDir(), OUTBOUND_ALLOW_HOSTS: '127.0.0.1' },
  ...(await startLocalSns(certificate)),
});

const call = programRest(program);

interface Scene {
  readonly type: string;
  readonly vendor: ApiVendor;
  readonly address: string;
}

const scenes = new Map<string, Promise<Scene>>();

/** The vendor with its server, and a campaign of which everything was sent. */
function sceneOf(type: string): Promise<Scene> {
  const known = scenes.get(type) ?? playCampaign(type);
  scenes.set(type, known);
  return known;
}

const emailOf = (type: string, person: string) => `${person}@${type}.there.test`;

async function playCampaign(type: string): Promise<Scene> {
  const vendor = await vendorOf(type).start();
  afterFile(() => vendor.close());
  const server = await call('POST', '/sending_servers', {
    ...{ name: type, type, default_from_email: 'news@house.test', settings: vendor.settings },
  });
  expect(server).toMatchObject({ status: 201, json: { sending_server: { type, fault: null } } });
  const sender = { from_email: 'news@house.test', from_name: 'House' };
  const made = async (path: string, body: object, key: string): Promise<string> => {
    const { json } = await call('POST', path, body);
    if (typeof json[key] !== 'string') throw new Error(JSON.stringify(json));
    return json[key];
  };
  const list = { name: type, default_subject: 'News', ...sender, contact: CONTACT };
  const listUid = await made('/lists', list, 'list_uid');
  for (const person of PEOPLE)
    await made('/subscribers', { list_uid: listUid, EMAIL: emailOf(type, person) }, 'subscriber_uid');
  const campaign = {
    ...{ list_uid: listUid, name: type, subject: 'News', html: '<p>Hello</p>', ...sender },
    sending_servers: [{ uid: server.json.sending_server_uid, weight: 1 }],
  };
  const campaignUid = await made('/campaigns', campaign, 'campaign_uid');
  expect(await call('POST', `/campaigns/${campaignUid}/run`)).toMatchObject({ status: 200 });
  await expect
    .poll(async () => (await call('GET', `/campaigns/${campaignUid}`)).json.campaign.status, { timeout: 120_000 })
    .toBe('done');
  expect(vendor.taken().map(({ to }) => to)).toEqual(
    expect.arrayContaining(PEOPLE.map((person) => emailOf(type, person))),
  );
  return { type, vendor, address: server.json.sending_server.webhook_url };
}

const CONTACT = {
  company: 'House',
  address_1: '1 Main Street',
  city: 'Springfield',
  state: 'CA',
  phone: '1',
  zip: '12345',
  country_id: 1,
  email: 'a@house.test',
};

function vendorOf(type: string) {
  const vendor = VENDORS.find((one) => one.type === type);
  if (!vendor) throw new Error(`There is no ${type}.`);
  return vendor;
}

/** Our own id in the request to the vendor. */
function ownIdOf({ type, vendor }: Scene, person: string): string {
  const sent = vendor.requests().find(({ method, body }) => method === 'POST' && body.includes(emailOf(type, person)));
  const [id = ''] = /mail[._-][0-9a-z]{25,57}/.exec(sent?.body.toString() ?? '') ?? [];
  return id.replace(/^mail[._-]/, 'mail.');
}

async function post({ address }: Scene, { method, headers, query, body }: WebhookRequest) {
  const to = new URL(address);
  for (const [name, value] of Object.entries(query)) to.searchParams.set(name, value);
  const answer = await fetch(to, { method, headers, ...(method === 'POST' && { body: new Uint8Array(body) }) });
  await answer.text();
  return { status: answer.status, retryAfter: answer.headers.get('retry-after') };
}

/** By their names: who is no longer subscribed, and how often that was counted for the campaign. */
async function leftAt({ type }: Scene) {
  const people = await queryRows<{ email: string }>(
    database,
    sql`SELECT email FROM subscriber WHERE email LIKE ${`%@${type}.there.test`} AND status = 'unsubscribed' ORDER BY email`,
  );
  const [row] = await queryRows<{ counted: number }>(
    database,
    sql`SELECT coalesce(sum(unsubscribe_count), 0)::int AS counted FROM hot.tracking_counter t JOIN campaign c ON c.id = t.source_id WHERE c.name = ${type}`,
  );
  return { people: people.map(({ email }) => email.split('@')[0]), counted: row?.counted };
}

describe.each(reporting)('$type', (vendor) => {
  test('wrong credentials are refused when a server is saved', async () => {
    const double = await vendorOf(vendor.type).start();
    afterFile(() => double.close());
    const key = vendor.type === 'amazon-api' ? 'secret_access_key' : 'api_key';
    const settings = { ...double.settings, [key]: 'wrong' };
    expect(
      await call('POST', '/sending_servers', {
        name: 'Wrong',
        type: vendor.type,
        default_from_email: 'news@house.test',
        settings,
      }),
    ).toMatchObject({ status: 422, json: { errors: { connection: [expect.any(String)] } } });
  });

  test('a campaign goes through it; a genuine report has its effect, a forged one has none', async () => {
    const scene = await sceneOf(vendor.type);
    expect((await post(scene, vendor.forged(ownIdOf(scene, 'bob'), 1))).status).toBe(401);
    expect((await post(scene, vendor.report(ownIdOf(scene, 'ann'), 2))).status).toBe(200);
    await expect.poll(() => leftAt(scene), { timeout: 120_000 }).toEqual({ people: ['ann'], counted: 1 });
  });
});

test('while the database is away every vendor is told to come again in its own way, and then nothing is lost', async () => {
  const all = await Promise.all(
    reporting.map(async (vendor) => {
      const scene = await sceneOf(vendor.type);
      return { scene, report: vendor.report(ownIdOf(scene, 'cleo'), 3) };
    }),
  );
  proxy.freeze('all');
  const startedAt = performance.now();
  const answers = await Promise.all(
    all.map(async ({ scene, report }) => ({ type: scene.type, ...(await post(scene, report)) })),
  );
  expect(performance.now() - startedAt).toBeLessThan(BUSY_ANSWER_MS_MAX);
  expect(answers).toEqual(
    all.map(({ scene: { type } }) => ({ type, status: type === 'brevo-api' ? 429 : 503, retryAfter: '5' })),
  );
  proxy.thaw();
  for (const { scene, report } of all) {
    // As the vendor does: again until it is taken, and once more because it did not see the answer.
    let taken = 0;
    for (let tries = 0; tries < 100 && taken < 2; tries++) {
      if ((await post(scene, report)).status === 200) taken++;
      else await sleep(300);
    }
    expect({ type: scene.type, taken }).toEqual({ type: scene.type, taken: 2 });
    await expect
      .poll(() => leftAt(scene), { timeout: onBusyMachine(30_000), interval: 200 })
      .toEqual({ people: ['ann', 'cleo'], counted: 2 });
  }
  expect(program.process.exitCode).toBeNull();
});
