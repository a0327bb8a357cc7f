/** Making and changing webhooks: the limit under parallel calls, plans, secrets that nobody needs, and values that are not shown. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { createWebhook, rotateWebhookSecret, updateWebhook } from '../../../src/domain/webhooks/save-webhook.ts';
import { WEBHOOKS_PER_CUSTOMER_MAX } from '../../../src/domain/webhooks/webhook.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const root = await createTestContext();
const INPUT = { name: 'Books', event: 'open', url: 'https://receiver.example/' };
const AUTH = { Authorization: 'Bearer of the receiver', 'Content-Type': 'text/plain' };

test('parallel calls do not pass the limit', async () => {
  const ctx = await createTenant(root);
  const customerId = ctx.viewer?.customerId ?? 0n;
  await ctx.db.execute(
    sql`INSERT INTO webhook (customer_id, uid, name, kind, event, url, receiver, sealed_secret)
        SELECT ${customerId}, ${String(customerId)} || '-' || n, 'x', 'tracking', 'open', 'https://receiver.example/', 'https://receiver.example', 'x'::bytea
          FROM generate_series(1, ${WEBHOOKS_PER_CUSTOMER_MAX - 2}) n`,
  );
  const made = await Promise.allSettled(Array.from({ length: 8 }, () => createWebhook(ctx, INPUT)));
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  for (const one of made)
    if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'TOO_MANY_WEBHOOKS' });
});

test('without a plan nothing new is made', async () => {
  const ctx = await createTenant(root, { hasPlan: false });
  await expect(createWebhook(ctx, INPUT)).rejects.toMatchObject({ code: 'SUBSCRIPTION_REQUIRED' });
});

test('a secret that signs no longer is not kept', async () => {
  const ctx = await createTenant(root);
  const { webhook } = await createWebhook(ctx, INPUT);
  const { uid } = webhook;
  const stored = () =>
    queryRows(
      ctx.db,
      sql`SELECT sealed_previous_secret IS NULL AS "isNone", previous_secret_ends_at IS NULL AS "hasNoEnd" FROM webhook WHERE uid = ${uid}`,
    );
  await rotateWebhookSecret(ctx, { uid });
  expect(await stored()).toEqual([{ isNone: false, hasNoEnd: false }]);
  await rotateWebhookSecret(ctx, { uid, previousSecretHours: 0 });
  expect(await stored()).toEqual([{ isNone: true, hasNoEnd: true }]);
});

test('values that are not shown do not go along to another server', async () => {
  const ctx = await createTenant(root);
  const { webhook } = await createWebhook(ctx, { ...INPUT, headers: AUTH });
  const { uid } = webhook;
  const lead = (url: string, headers?: Readonly<Record<string, string>>) => updateWebhook(ctx, { uid, url, headers });
  expect(await lead('https://receiver.example/other')).toMatchObject({ headers: AUTH });
  const refusal = { fields: { headers: [expect.stringContaining('give the values of Authorization again')] } };
  const other = 'https://other.example/';
  await expect(lead(other)).rejects.toMatchObject(refusal);
  await expect(lead(other, { Authorization: '(hidden)' })).rejects.toMatchObject(refusal);
  await expect(lead('http://receiver.example/')).rejects.toMatchObject(refusal);
  const given = { Authorization: 'Bearer of the other' };
  expect(await lead(other, given)).toMatchObject({ url: other, headers: given });
  expect(await lead(INPUT.url, {})).toMatchObject({ headers: {} });
  expect(await lead(other)).toMatchObject({ headers: {} });
});
