/** Verification servers: who may make and use which, by the plan; what is stored; and that a verifier runs as its plugin. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { viewerOf, type Context } from '../../../src/domain/context.ts';
import { unsealSecrets } from '../../../src/domain/sending/server-secrets.ts';
import { createVerificationServer } from '../../../src/domain/verification/create-verification-server.ts';
import { deleteVerificationServer } from '../../../src/domain/verification/delete-verification-server.ts';
import { openStoredVerifier } from '../../../src/domain/verification/open-verifier.ts';
import { findOwnedVerificationServer } from '../../../src/domain/verification/find-owned-verification-server.ts';
import { setPlanVerificationServers } from '../../../src/domain/verification/set-plan-verification-servers.ts';
import {
  testVerificationServer,
  VERIFIER_TESTS_PER_HOUR_MAX,
} from '../../../src/domain/verification/test-verification-server.ts';
import { updateVerificationServer } from '../../../src/domain/verification/update-verification-server.ts';
import {
  usableVerificationServer,
  usableVerificationServers,
} from '../../../src/domain/verification/usable-server-read-model.ts';
import { runningPlugin } from '../../../src/plugin-host/running-plugin.ts';
import { worldsVerifier } from '../../support/insert-verification.ts';
import { changeOptions, endPlan, givePlan } from '../../support/plans.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';
import { withHooks } from '../../support/with-hooks.ts';

const root = await createTestContext();
/** Who ran each call. */
const ran: (string | undefined)[] = [];
const plugin = withHooks(root.hooks, {
  register: (hooks) =>
    hooks.add('register_email_verifier', {
      ...worldsVerifier,
      connect(settings, options) {
        const verifier = worldsVerifier.connect(settings, options);
        return {
          ...verifier,
          verify(addresses, more) {
            ran.push(runningPlugin());
            return verifier.verify(addresses, more);
          },
        };
      },
    }),
});
const tenant = await createTenant(root);
const admin: Context = { ...tenant, viewer: { ...viewerOf(tenant), isAdmin: true, scopes: ['*'] } };
const input = (changes: object = {}) => ({ name: 'Mine', type: worldsVerifier.type, settings: {}, ...changes });

const usable = async ({ db, viewer }: Context) =>
  (await usableVerificationServers(db, viewer?.customerId ?? 0n, 100)).map(({ name }) => name);

describe('a plan', () => {
  test('lets make own servers, so many, or none', async () => {
    const ctx = await createTenant(root);
    const { customerId } = viewerOf(ctx);
    await givePlan(ctx.db, customerId, {});
    await expect(createVerificationServer(ctx, input())).rejects.toMatchObject({ code: 'PLAN_DOES_NOT_INCLUDE' });
    await changeOptions(ctx.db, customerId, {
      create_email_verification_servers: 'yes',
      email_verification_servers_max: '1',
    });
    const made = await createVerificationServer(ctx, input());
    expect(made).toMatchObject({ name: 'Mine', isSystem: false, status: 'active', perMinuteMax: null });
    await expect(createVerificationServer(ctx, input())).rejects.toMatchObject({
      code: 'PLAN_LIMIT_REACHED',
      fields: { name: ['The plan allows at most 1 email verification server: this limit is reached.'] },
    });
    await changeOptions(ctx.db, customerId, { email_verification_servers_max: '-1' });
    await createVerificationServer(ctx, input({ name: 'Second' }));
    await endPlan(ctx.db, customerId);
    await expect(createVerificationServer(ctx, input())).rejects.toMatchObject({ code: 'SUBSCRIPTION_ENDED' });
  });

  test('gives all servers of the system, the chosen ones, or none; own ones go first', async () => {
    const ctx = await createTenant(root);
    const other = await createTenant(root);
    const { customerId } = viewerOf(ctx);
    const [first, second] = [
      await createVerificationServer(admin, input({ name: 'System 1' })),
      await createVerificationServer(admin, input({ name: 'System 2' })),
    ];
    expect([first.isSystem, second.isSystem]).toEqual([true, true]);
    await givePlan(ctx.db, customerId, { create_email_verification_servers: 'yes' });
    await createVerificationServer(ctx, input({ name: 'Own' }));
    await createVerificationServer(other, input({ name: "Another's" }));
    expect(await usable(ctx)).toEqual(['Own', 'System 1', 'System 2']);
    await changeOptions(ctx.db, customerId, { create_email_verification_servers: 'no' });
    expect(await usable(ctx)).toEqual(['System 1', 'System 2']);
    await changeOptions(ctx.db, customerId, { all_email_verification_servers: 'no' });
    expect(await usable(ctx)).toEqual([]);
    expect(await usableVerificationServer(ctx.db, { customerId, uid: first.uid })).toBeUndefined();
    const [plan] = await queryRows<{ uid: string }>(
      ctx.db,
      sql`SELECT p.uid FROM plan p JOIN subscription s ON s.plan_id = p.id WHERE s.customer_id = ${customerId}`,
    );
    await setPlanVerificationServers(admin, { planUid: plan?.uid ?? '', servers: [second.uid] });
    expect(await usable(ctx)).toEqual(['System 2']);
    expect(await usableVerificationServer(ctx.db, { customerId, uid: null })).toMatchObject({ name: 'System 2' });
    await updateVerificationServer(admin, { uid: second.uid, status: 'inactive' });
    expect(await usable(ctx)).toEqual([]);
    await updateVerificationServer(admin, { uid: second.uid, status: 'active' });
    await setPlanVerificationServers(admin, { planUid: plan?.uid ?? '', servers: null });
    expect(await usable(ctx)).toEqual([]);
  });

  test('names servers of the system only, and only an administrator chooses', async () => {
    const ctx = await createTenant(root);
    const own = await createVerificationServer(ctx, input());
    const [plan] = await queryRows<{ uid: string }>(
      ctx.db,
      sql`SELECT uid FROM plan WHERE status <> 'deleted' LIMIT 1`,
    );
    const planUid = plan?.uid ?? '';
    await expect(setPlanVerificationServers(ctx, { planUid, servers: [] })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
    const choosing = setPlanVerificationServers(admin, { planUid, servers: [own.uid] });
    await expect(choosing).rejects.toMatchObject({ code: 'VERIFICATION_SERVER_NOT_FOUND' });
    const unknown = setPlanVerificationServers(admin, { planUid: '0000000000000', servers: [] });
    await expect(unknown).rejects.toMatchObject({ code: 'PLAN_NOT_FOUND' });
  });
});

describe('a server', () => {
  test('is stored when its test has passed, with its credentials sealed', async () => {
    const ctx = await createTenant(root);
    const { uid } = await createVerificationServer(ctx, input({ settings: { api_key: 'canary-77', region: 'us' } }));
    const [row] = await queryRows<{ settings: object; sealed_settings: Buffer; text: string }>(
      ctx.db,
      sql`SELECT settings, sealed_settings, s::text AS text FROM email_verification_server s WHERE uid = ${uid}`,
    );
    expect(row?.settings).toEqual({ region: 'us' });
    expect(row?.text).not.toContain('canary-77');
    const { secret } = ctx.installation;
    const sealed = row?.sealed_settings ?? null;
    expect(unsealSecrets(secret, uid, sealed, 'email-verification-server')).toEqual({ api_key: 'canary-77' });
    // A key for another purpose opens nothing.
    expect(() => unsealSecrets(secret, uid, sealed)).toThrow();
    const refused = updateVerificationServer(ctx, { uid, name: 'No', settings: { api_key: 'wrong' } });
    await expect(refused).rejects.toMatchObject({ fields: { connection: ['The key *** is refused.'] } });
    await updateVerificationServer(ctx, { uid, perMinuteMax: 50, settings: { region: 'eu' } });
    const after = await findOwnedVerificationServer(ctx, uid);
    expect(after).toMatchObject({ name: 'Mine', perMinuteMax: 50, settings: { region: 'eu' } });
    expect(unsealSecrets(secret, uid, after.sealedSettings, 'email-verification-server')).toEqual({
      api_key: 'canary-77',
    });
  });

  test('has all faults of its input told at once', async () => {
    const ctx = await createTenant(root);
    const wrong = createVerificationServer(
      ctx,
      input({ name: '', perMinuteMax: 0, settings: { region: 'nowhere', apikey: 'x' } }),
    );
    await expect(wrong).rejects.toMatchObject({
      fields: {
        name: expect.anything(),
        perMinuteMax: expect.anything(),
        'settings.region': expect.anything(),
        'settings.apikey': [expect.stringMatching(/Known are: region, api_key/)],
      },
    });
    const unknown = createVerificationServer(ctx, input({ type: 'oracle' }));
    await expect(unknown).rejects.toMatchObject({
      fields: { type: [expect.stringMatching(/Installed: .*world-check/)] },
    });
    const { uid } = await createVerificationServer(ctx, input());
    await expect(updateVerificationServer(ctx, { uid, type: 'oracle' })).rejects.toMatchObject({
      code: 'VERIFICATION_SERVER_TYPE_FIXED',
    });
  });

  test("is its owner's alone", async () => {
    const ctx = await createTenant(root);
    const { uid } = await createVerificationServer(ctx, input());
    const other = await createTenant(root);
    const foreign = { name: 'ForeignResourceError', code: 'VERIFICATION_SERVER_NOT_FOUND' };
    await expect(updateVerificationServer(other, { uid, name: 'x' })).rejects.toMatchObject(foreign);
    await expect(deleteVerificationServer(other, { uid })).rejects.toMatchObject(foreign);
    await expect(testVerificationServer(other, { uid })).rejects.toMatchObject(foreign);
    await expect(deleteVerificationServer(other, { uid: '0000000000000' })).rejects.toMatchObject({
      name: 'NotFoundError',
    });
    expect(await deleteVerificationServer(ctx, { uid })).toEqual({ uid });
  });

  test('is tested a limited number of times, and a failed test is an answer', async () => {
    const ctx = await createTenant(root);
    const { uid } = await createVerificationServer(ctx, input());
    expect(await testVerificationServer(ctx, { uid })).toEqual({ uid, isPassed: true, fault: null });
    for (let no = 1; no < VERIFIER_TESTS_PER_HOUR_MAX; no++) await testVerificationServer(ctx, { uid });
    await expect(testVerificationServer(ctx, { uid })).rejects.toMatchObject({ code: 'TOO_MANY_TESTS' });
  });

  test.each<[string, (key: string) => string]>([
    ['as-it-is', (key) => key],
    ['percent-encoded', encodeURIComponent],
    ['in-a-form', (key) => new URLSearchParams({ key }).toString()],
    ['in-base64', (key) => Buffer.from(key).toString('base64')],
    ['as-user-name', (key) => Buffer.from(`${key}:`).toString('base64')],
    ['as-password', (key) => Buffer.from(`api:${key}`).toString('base64')],
    ['as-another-password', (key) => Buffer.from(`user:${key}`).toString('base64url')],
    ['in-json', (key) => JSON.stringify(key)],
  ])('never shows its key, %s, when its plugin throws before it gives a promise', async (how, form) => {
    const key = String.raw`k/9+cana"r\y=Zw7 k?`;
    const type = `failing-${how}`;
    const fail = () => {
      throw new Error(`No entry for <${form(key)}>`);
    };
    const connect = () => ({ verify: fail, test: fail, close: fail });
    withHooks(root.hooks, {
      register: (hooks) => hooks.add('register_email_verifier', { ...worldsVerifier, type, connect }),
    });
    const ctx = await createTenant(root);
    const settings = { api_key: key };
    const refused = await createVerificationServer(ctx, input({ type, settings })).catch((error) => error);
    const { uid } = await createVerificationServer(ctx, input({ settings }));
    const { verifier } = openStoredVerifier(ctx, { ...(await findOwnedVerificationServer(ctx, uid)), type });
    const { signal } = new AbortController();
    const asked = async () => verifier.verify(['a@b.example'], { signal });
    const failed = await asked().then(() => 'It did not fail.', String);
    for (const said of [String(refused.fields.connection), failed]) {
      expect(said).toMatch(/No entry for <.*\*\*\*.*>/);
      for (let at = 0; at + 8 <= form(key).length; at++) expect(said).not.toContain(form(key).slice(at, at + 8));
    }
  });

  test('runs as its plugin, whoever calls', async () => {
    const ctx = await createTenant(root);
    const server = await createVerificationServer(ctx, input());
    const { verifier } = openStoredVerifier(ctx, server);
    await verifier.verify(['a@b.example'], { signal: new AbortController().signal });
    expect(ran).toEqual([plugin]);
    expect(runningPlugin()).toBeUndefined();
  });
});

test('a plugin that registers something else is told what is wrong with it', () => {
  const entry = { ...worldsVerifier, type: 'Wrong Type', addressesMax: 5_000, connect: 'no' };
  const register = () =>
    withHooks(root.hooks, {
      register: (hooks) => hooks.add('register_email_verifier', entry as unknown as typeof worldsVerifier),
    });
  expect(register).toThrow(/"type": must be of small letters.*"addressesMax".*500.*"connect": must be a function/s);
});
