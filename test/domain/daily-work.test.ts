/** What jobs do now and then, and no request ever: deleting expired rows, and picking what is due. */
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { leaseCalls, renewLease } from '../../src/domain/accounts/idempotent-call-store.ts';
import { deleteOldConfirmationMails } from '../../src/domain/audience/confirmation-store.ts';
import { deleteOldSignUps } from '../../src/domain/audience/sign-up-store.ts';
import { enqueuePolls } from '../../src/domain/bounces/enqueue-polls.ts';
import { dropOldVendorRequests } from '../../src/domain/bounces/vendor-request-store.ts';
import { dropOldWebhookEvents } from '../../src/domain/bounces/webhook-event-store.ts';
import { dropAbandonedUploads } from '../../src/domain/files/drop-abandoned-uploads.ts';
import { UPLOAD_HOURS_MAX } from '../../src/domain/files/file.ts';
import { startFileUpload } from '../../src/domain/files/upload-file.ts';
import { SOFT_BOUNCE_DAYS_MAX } from '../../src/domain/limits.ts';
import { domainMail } from '../../src/domain/sending/domains/domain-mail.ts';
import { setPlanRoutes } from '../../src/domain/sending/set-routes.ts';
import { dropOldSoftBounces } from '../../src/domain/tracking/bounce-policy-store.ts';
import { openBillingWorld } from '../support/billing-world.ts';
import { createTenant } from '../support/tenant.ts';
import { createTestContext } from '../support/test-context.ts';

const root = await createTestContext();
const ctx = await createTenant(root);
const { db } = ctx;
const customerId = ctx.viewer?.customerId ?? 0n;
const ago = (days: number) => sql`now() - make_interval(days => ${days}::int)`;
const idsOf = async (statement: ReturnType<typeof sql>) =>
  (await queryRows<{ id: string }>(db, statement)).map(({ id }) => id);

describe('expired rows are deleted, and only those', () => {
  test('confirmation mails, after a day', async () => {
    for (const [name, days] of [
      ['old', 2],
      ['new', 0],
    ] as const)
      await db.execute(
        sql`INSERT INTO hot.confirmation_mail (address_digest, event_id, at) VALUES (${Buffer.from(name)}, 1, ${ago(days)})`,
      );
    await deleteOldConfirmationMails(db);
    expect(await idsOf(sql`SELECT convert_from(address_digest, 'utf8') AS id FROM hot.confirmation_mail`)).toEqual([
      'new',
    ]);
  });

  test('buckets of sign-ups, after a day; those of others stay', async () => {
    for (const [key, days] of [
      ['sign-up:old', 2],
      ['sign-up:new', 0],
      ['other:old', 2],
    ] as const)
      await db.execute(sql`INSERT INTO hot.rate_bucket (key, tokens, refilled_at) VALUES (${key}, 1, ${ago(days)})`);
    await deleteOldSignUps(db);
    expect(await idsOf(sql`SELECT key AS id FROM hot.rate_bucket ORDER BY 1`)).toEqual(['other:old', 'sign-up:new']);
  });

  test('ids of webhook events, after 31 days', async () => {
    for (const [name, days] of [
      ['old', 32],
      ['new', 30],
    ] as const)
      await db.execute(
        sql`INSERT INTO hot.webhook_event (customer_id, server_id, event_key, at) VALUES (1, 1, ${Buffer.from(name)}, ${ago(days)})`,
      );
    await dropOldWebhookEvents(ctx);
    expect(await idsOf(sql`SELECT convert_from(event_key, 'utf8') AS id FROM hot.webhook_event`)).toEqual(['new']);
  });

  test('requests of vendors, after a week, and the oldest of a server that sends too much', async () => {
    const insert = async (name: string, days: number) => {
      const inHeader = name === 'newest';
      await db.execute(
        sql`INSERT INTO hot.vendor_request (customer_id, server_id, type, server_uid, is_system, received_at, method, query, headers, payload, address_hashes)
            VALUES (1, ${name === 'other' ? 2 : 1}, ${name}, 'x', false, ${ago(days)}, 'POST', '{}', ${JSON.stringify({ long: inHeader ? randomBytes(1_000).toString('base64') : '' })},
                    ${Buffer.from(inHeader ? '' : randomBytes(1_000))}, '{}')`,
      );
    };
    for (const [name, days] of [
      ['old', 8],
      ['kept', 6],
      ['newer', 5],
      ['newest', 1],
      ['other', 6],
    ] as const)
      await insert(name, days);
    await dropOldVendorRequests(ctx);
    const left = sql`SELECT type AS id FROM hot.vendor_request ORDER BY received_at, server_id`;
    expect(await idsOf(left)).toEqual(['kept', 'other', 'newer', 'newest']);
    await dropOldVendorRequests(ctx, 2_500);
    expect(await idsOf(left)).toEqual(['other', 'newer', 'newest']);
  });

  test('soft bounces that no policy counts any more', async () => {
    for (const [name, days] of [
      ['old', SOFT_BOUNCE_DAYS_MAX + 1],
      ['new', SOFT_BOUNCE_DAYS_MAX - 1],
    ] as const)
      await db.execute(
        sql`INSERT INTO hot.soft_bounce (customer_id, email_key, times) VALUES (${customerId}, ${name}, ARRAY[${ago(days)}])`,
      );
    await dropOldSoftBounces(db);
    expect(await idsOf(sql`SELECT email_key AS id FROM hot.soft_bounce`)).toEqual(['new']);
  });

  test('uploads that were not finished', async () => {
    const [old, fresh] = [
      await startFileUpload(ctx, { name: 'old.txt' }),
      await startFileUpload(ctx, { name: 'new.txt' }),
    ];
    await db.execute(
      sql`UPDATE uploaded_file SET created_at = now() - make_interval(hours => ${UPLOAD_HOURS_MAX + 1}) WHERE uid = ${old.uid}`,
    );
    expect(await dropAbandonedUploads(ctx)).toBe(1);
    expect(await idsOf(sql`SELECT uid AS id FROM uploaded_file`)).toEqual([fresh.uid]);
  });
});

test('a bounce mailbox that is due gets one job, one that is disabled or being read none', async () => {
  const insert = (name: string, status: string, held: ReturnType<typeof sql>) =>
    db.execute(sql`
      INSERT INTO bounce_handler (customer_id, uid, name, protocol, host, port, encryption, username, sealed_password, status, held_until)
      VALUES (${customerId}, ${name}, ${name}, 'imap', 'h', 1, 'none', 'u', '', ${status}, ${held})`);
  await insert('due', 'active', sql`NULL`);
  await insert('disabled', 'inactive', sql`NULL`);
  await insert('held', 'active', sql`now() + interval '1 minute'`);
  await enqueuePolls(ctx);
  await enqueuePolls(ctx);
  const jobs = await idsOf(sql`SELECT key AS id FROM graphile_worker.jobs WHERE key LIKE 'bounces.poll:%'`);
  const [due] = await idsOf(sql`SELECT id::text AS id FROM bounce_handler WHERE uid = 'due'`);
  expect(jobs).toEqual([`bounces.poll:${due}`]);
});

test('only the runner of a call renews its lease', async () => {
  const key = { customerId, id: randomBytes(32), fingerprint: randomBytes(32) };
  const runner = randomUUID();
  expect([...(await leaseCalls(db, [{ key, runner }]))]).toEqual([runner]);
  const left = async () =>
    Number(
      (
        await idsOf(sql`SELECT extract(epoch FROM lease_expires_at - now())::int::text AS id FROM hot.idempotent_call`)
      )[0],
    );
  await db.execute(sql`UPDATE hot.idempotent_call SET lease_expires_at = now() + interval '5 seconds'`);
  await renewLease(db, key, randomUUID());
  expect(await left()).toBeLessThanOrEqual(5);
  await renewLease(db, key, runner);
  expect(await left()).toBeGreaterThan(20);
});

test('the users of a customer are told of a domain, unless it changed again meanwhile', async () => {
  await db.execute(sql`
    INSERT INTO sending_domain (customer_id, uid, name, token, status, return_path_host, tracking_host)
    VALUES (${customerId}, 'd1', 'shop.example', 't', 'failing', 'b.shop.example', 't.shop.example')`);
  const [id] = await idsOf(sql`SELECT id::text AS id FROM sending_domain WHERE uid = 'd1'`);
  const mailOf = (notification: 'failing' | 'back') =>
    domainMail(ctx, { customerId, domainId: BigInt(id ?? 0), notification });
  const users = await idsOf(sql`SELECT email AS id FROM app_user WHERE customer_id = ${customerId}`);
  expect((await mailOf('failing')).map(({ to, subject }) => [to, subject])).toEqual(
    users.map((email) => [email, 'shop.example: a DNS record is missing']),
  );
  expect(await mailOf('back')).toEqual([]);
});

test('an administrator chooses the servers of a plan, and takes the choice back', async () => {
  const { admin, newPlan } = await openBillingWorld('2026-01-01T00:00:00.000Z');
  const plan = await newPlan('10');
  const stored = async () =>
    (
      await queryRows<{ servers: unknown }>(
        admin.db,
        sql`SELECT sending_servers AS servers FROM plan WHERE uid = ${plan.uid}`,
      )
    )[0];
  await admin.db.execute(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings, is_system)
    VALUES (${admin.viewer?.customerId ?? 0n}, 's1', 'System', 'smtp', '{}', true)`);
  await setPlanRoutes(admin, { planUid: plan.uid, servers: [{ uid: 's1', weight: 3 }] });
  expect(JSON.stringify(await stored())).toContain('"weight":3');
  await setPlanRoutes(admin, { planUid: plan.uid, servers: null });
  expect(await stored()).toEqual({ servers: null });
});
