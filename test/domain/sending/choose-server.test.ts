/** Through which server a customer sends, by its plan (D29, D46); and what the plan adds to what it sends. */
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { insertApiToken } from '../../../src/domain/accounts/api-token-store.ts';
import { authenticateToken } from '../../../src/domain/accounts/authenticate-token.ts';
import { allowanceOf } from '../../../src/domain/billing/plans/allowance.ts';
import { createCampaign } from '../../../src/domain/campaigns/create-campaign.ts';
import { viewerOf, type Context } from '../../../src/domain/context.ts';
import { compileCampaign } from '../../../src/domain/delivery/campaigns/campaign-message.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { createSendingServer } from '../../../src/domain/sending/create-sending-server.ts';
import { routedServers, routeQuestion } from '../../../src/domain/sending/sending-server-read-model.ts';
import { updateSendingServer } from '../../../src/domain/sending/update-sending-server.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { changeOptions, givePlan } from '../../support/plans.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const root = await createTestContext();
const operatorCtx = await createTenant(root);
const house = viewerOf(operatorCtx).customerId;
afterEach(() => root.db.execute(sql`DELETE FROM sending_server`));

async function server(customerId: bigint, name: string, { type = 'smtp', isSystem = false } = {}): Promise<string> {
  const uid = newUid();
  await root.db.execute(
    sql`INSERT INTO sending_server (customer_id, uid, name, type, is_system) VALUES (${customerId}, ${uid}, ${name}, ${type}, ${isSystem})`,
  );
  return uid;
}
const system = (name: string) => server(house, name, { isSystem: true });

async function chosen({ db, viewer }: Context): Promise<string | undefined> {
  const [row] = await queryRows<{ name: string }>(
    db,
    routedServers(sql`s.name`, routeQuestion(viewer?.customerId ?? 0n, null)),
  );
  return row?.name;
}

describe('a customer sends through', () => {
  test('its own server without a plan, else the oldest of the system', async () => {
    const ctx = await createTenant(root);
    expect(await chosen(ctx)).toBeUndefined();
    await system('first');
    await system('second');
    expect(await chosen(ctx)).toBe('first');
    await server(viewerOf(ctx).customerId, 'own');
    expect(await chosen(ctx)).toBe('own');
    await server(viewerOf(await createTenant(root)).customerId, "another's");
    expect(await chosen(await createTenant(root))).toBe('first');
  });

  test('its own server only while the plan says so and allows its type', async () => {
    const ctx = await createTenant(root);
    const { customerId } = viewerOf(ctx);
    await system('first');
    await server(customerId, 'own');
    await givePlan(ctx.db, customerId, { sending_server_option: 'own' });
    expect(await chosen(ctx)).toBe('own');
    await changeOptions(ctx.db, customerId, { sending_server_option: 'system' });
    expect(await chosen(ctx)).toBe('first');
    await changeOptions(ctx.db, customerId, { sending_server_option: 'own', all_sending_server_types: 'no' });
    expect(await chosen(ctx)).toBe('first');
  });

  test('any as before, when the first plan it asked for was never paid for', async () => {
    const ctx = await createTenant(root);
    const { customerId } = viewerOf(ctx);
    await system('first');
    await givePlan(ctx.db, customerId, { all_sending_servers: 'no', api_access: 'no' });
    await root.db.execute(sql`
      UPDATE subscription SET status = 'ended', current_period_started_at = NULL, current_period_ends_at = NULL
       WHERE customer_id = ${customerId}`);
    expect((await allowanceOf(ctx.db, customerId)).source).toBe('none');
    expect(await chosen(ctx)).toBe('first');
    const { token } = await insertApiToken(ctx.db, { ...viewerOf(ctx), kind: 'named', name: 'Mine', scopes: ['*'] });
    const credential = { text: token, isSession: false, ipAddress: null };
    expect(await authenticateToken(ctx, credential)).toMatchObject({ mayUseApi: true });
  });

  test('the system server that the plan names, and no other where it does not give all', async () => {
    const ctx = await createTenant(root);
    const { customerId } = viewerOf(ctx);
    await system('first');
    const named = await system('named');
    await givePlan(ctx.db, customerId, { sending_server_subaccount_uid: named });
    expect(await chosen(ctx)).toBe('named');
    await changeOptions(ctx.db, customerId, { all_sending_servers: 'no' });
    expect(await chosen(ctx)).toBe('named');
    await root.db.execute(sql`UPDATE sending_server SET status = 'inactive' WHERE uid = ${named}`);
    expect(await chosen(ctx)).toBeUndefined();
    await changeOptions(ctx.db, customerId, { all_sending_servers: 'yes' });
    expect(await chosen(ctx)).toBe('first');
  });
});

describe('the footer of the plan', () => {
  const recipient = {
    ...{ email: 'a@example.org', uid: '0000000000000', fields: {}, messageId: '<x@example.org>' },
    links: {
      click: () => '',
      open: () => '',
      unsubscribe: () => 'http://u',
      webView: () => '',
      updateProfile: () => '',
    },
  };

  test('is in every mail of the customer, for free plans only if it says so, and follows a change while it is sent', async () => {
    const ctx = await createTenant(root);
    const { customerId } = viewerOf(ctx);
    const list = await newList(ctx);
    const { uid } = await createCampaign(ctx, {
      ...{ listUid: list.uid, name: 'N', subject: 'S', fromEmail: 'n@s.example', fromName: 'S', html: '<p>Hi</p>' },
    });
    const [row] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM campaign WHERE uid = ${uid}`);
    const campaignId = row?.id ?? 0n;
    const shown = async () => (await (await compileCampaign(ctx, { customerId, campaignId }))?.texts(recipient))?.html;
    await givePlan(ctx.db, customerId, { email_footer_enabled: 'yes', html_footer: '<p>By House</p>' });
    expect(await shown()).toContain('By House');
    await changeOptions(ctx.db, customerId, { email_footer_trial_period_only: 'yes' });
    expect(await shown()).not.toContain('By House');
    await root.db.execute(sql`UPDATE plan SET price_minor = 0`);
    expect(await shown()).toContain('By House');
    // A campaign that is being sent is compiled anew.
    await root.db.execute(
      sql`UPDATE campaign SET status = 'sending', snapshot_on = '2026-11-21' WHERE customer_id = ${customerId}`,
    );
    const cache = createActiveCampaigns();
    const sent = async () =>
      (await (await cache.take(ctx, { customerId, campaignId }))?.edition.message.texts(recipient))?.html;
    expect(await sent()).toContain('By House');
    await changeOptions(ctx.db, customerId, { html_footer: '<p>By Another</p>' });
    expect(await sent()).toContain('By Another');
  });
});

describe("an administrator's token that may not act as one", () => {
  const as = (ctx: Context, scopes: string[]): Context => ({
    ...ctx,
    viewer: ctx.viewer && { ...ctx.viewer, isAdmin: true, scopes },
  });
  const settings = { host: '127.0.0.1', port: 1 };
  const refused = { fields: { 'settings.host': [expect.stringMatching(/not a public address/)] } };
  beforeAll(() => loadPlugins(path.resolve('plugins'), root.hooks));

  test("makes a server like a customer's", async () => {
    const ctx = await createTenant(root);
    const input = { name: 'Relay', type: 'smtp', settings };
    const narrow = createSendingServer(as(ctx, ['sending-servers:write']), input);
    await expect(narrow).rejects.toMatchObject(refused);
    // Whoever may act as an administrator reaches the address, where nobody listens.
    const wide = createSendingServer(as(ctx, ['admin']), input);
    await expect(wide).rejects.toThrow(/connect|refused/i);
  });

  test('makes no server that runs a program of this machine', async () => {
    const ctx = await createTenant(root);
    const input = { name: 'Local', type: 'sendmail', settings: {} };
    await expect(createSendingServer(as(ctx, ['sending-servers:write']), input)).rejects.toMatchObject({
      code: 'SENDING_SERVER_SYSTEM_ONLY',
    });
    const uid = await server(viewerOf(operatorCtx).customerId, 'local', { type: 'sendmail', isSystem: true });
    const change = { uid, settings: { connections: 2 } };
    await expect(updateSendingServer(as(operatorCtx, ['sending-servers:write']), change)).rejects.toMatchObject({
      code: 'SENDING_SERVER_SYSTEM_ONLY',
    });
    // Whoever may act as an administrator is asked for a program of the list, which is empty here.
    const wide = createSendingServer(as(ctx, ['admin']), input);
    await expect(wide).rejects.toMatchObject({ fields: { 'settings.path': [expect.stringMatching(/allows none/)] } });
  });

  test("moves a server of the system like a customer's", async () => {
    const input = { uid: await system('relay'), settings };
    const narrow = updateSendingServer(as(operatorCtx, ['sending-servers:write']), input);
    await expect(narrow).rejects.toMatchObject(refused);
    const wide = updateSendingServer(as(operatorCtx, ['admin']), input);
    await expect(wide).rejects.toThrow(/connect|refused/i);
    const [row] = await queryRows(root.db, sql`SELECT settings FROM sending_server WHERE uid = ${input.uid}`);
    expect(row).toEqual({ settings: {} });
  });
});
