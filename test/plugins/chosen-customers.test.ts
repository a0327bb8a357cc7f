/** A plugin with `customers: chosen` gets nothing of a customer that has not switched it on. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { composedByPlugins } from '../../src/domain/delivery/campaigns/composed-by-plugins.ts';
import { skippedByPlugin } from '../../src/domain/delivery/campaigns/skipped-by-plugin.ts';
import { createAskAboutRow } from '../../src/domain/audience/imports/ask-about-row.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';
import { mailWorld, until } from '../support/mail-world.ts';

const dataDir = newDataDir();
const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0', DATA_DIR: dataDir });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const [one, other] = [await app.newTenant(), await app.newTenant()];

const CODE = `
  const seen = (globalThis.chosenSeen ??= []);
  const note = (value) => { seen.push(value.customerUid); return value; };
  export const plugin = { name: 'acme/chosen', boot(hooks) {
    hooks.modify('import_row', note);
    hooks.modify('message_composed', note);
    hooks.modify('before_message_sent', note);
  } };`;

const seen = (): unknown[] => Reflect.get(globalThis, 'chosenSeen');

async function uidOf({ customerId }: RestTenant): Promise<string> {
  const [found] = await queryRows<{ uid: string }>(app.ctx.db, sql`SELECT uid FROM customer WHERE id = ${customerId}`);
  return found?.uid ?? '';
}

/** Asks by each FILTER with data of this customer. */
function askAll(customerUid: string): void {
  const uids = { listUid: 'l', importUid: 'i', campaignUid: 'c', customerUid };
  createAskAboutRow(app.hooks, { uids, tags: [] }).ask(2, { EMAIL: 'a@example.com' });
  skippedByPlugin({ hooks: app.hooks }, { uids }, { email: 'a@example.com', recipientId: 1n } as never);
  composedByPlugins(app.hooks, {
    ...{ subject: 's', html: 'h', plain: null, from: { name: 'n' }, campaign: { uid: 'c' }, list: { uid: 'l' } },
    customerUid,
  } as never);
}

test('its FILTERs see only customers that have switched it on, until they switch it off', async () => {
  writePlugin(dataDir, 'acme/chosen', { code: CODE });
  expect(await client.activate('acme/chosen')).toMatchObject({ isLive: true });
  const [uid, otherUid] = [await uidOf(one), await uidOf(other)];
  askAll(uid);
  askAll(otherUid);
  expect(seen()).toEqual([]);
  const before = app.hooks.changes;
  const change = (what: string) =>
    app.rest(`/me/plugins/acme/chosen/${what}`, { method: 'POST', body: {}, token: one.token });
  expect((await change('switch-on')).status).toBe(200);
  await until(async () => app.hooks.mayActFor('acme/chosen', uid) || undefined);
  // Messages that were compiled without the plugin are compiled again.
  expect(app.hooks.changes).toBeGreaterThan(before);
  askAll(uid);
  askAll(otherUid);
  expect(seen()).toEqual([uid, uid, uid]);
  await change('switch-off');
  await until(async () => !app.hooks.mayActFor('acme/chosen', uid) || undefined);
  askAll(uid);
  expect(seen()).toHaveLength(3);
});

const SENDING = `
  const asked = (globalThis.chosenAsked ??= []);
  const values = (recipients, { customerUid }) => {
    asked.push(customerUid);
    return Object.fromEntries(recipients.map(({ subscriberUid }) => [subscriberUid, '7']));
  };
  export const plugin = { name: 'acme/sends', boot(hooks) {
    hooks.add('merge_tag', { tag: 'ACME_POINTS', title: 'Points', values });
    hooks.modify('message_composed', (message) => ({ ...message, subject: message.subject + '!' }));
  } };`;

test('mails that are sent have its tags and changes for a customer that has switched it on, and for no other', async () => {
  writePlugin(dataDir, 'acme/sends', { code: SENDING });
  expect(await client.activate('acme/sends')).toMatchObject({ isLive: true });
  const uid = await uidOf(one);
  const path = '/me/plugins/acme/sends/switch-on';
  expect((await app.rest(path, { method: 'POST', body: {}, token: one.token })).status).toBe(200);
  await until(async () => app.hooks.mayActFor('acme/sends', uid) || undefined);
  const received = async (tenant: RestTenant, address: string) => {
    const { call, add, done, mailTo, newCampaign, newList } = mailWorld(app, tenant);
    const list = await newList();
    await add(list, address);
    const campaign = await newCampaign(list, { subject: 'Hello', html: '<p>{ACME_POINTS} points</p>' });
    await call('POST', `/campaigns/${campaign}/run`);
    await done(campaign);
    return mailTo(address);
  };
  const mail = await received(one, 'ann@chosen.example');
  expect([mail.subject, mail.html]).toEqual(['Hello!', expect.stringContaining('7 points')]);
  const others = await received(other, 'bob@chosen.example');
  expect([others.subject, others.html]).toEqual(['Hello', expect.stringContaining('{ACME_POINTS} points')]);
  expect(Reflect.get(globalThis, 'chosenAsked')).toEqual([uid]);
});
