/** What becomes of a customer that is disabled or deleted: in the running program, with its queue. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { join, raw, sql, type Sql } from '../../src/db/database.ts';
import { insertAuditEntries } from '../../src/domain/accounts/audit-store.ts';
import { sweepAccounts } from '../../src/domain/accounts/sweep-accounts.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { linkSignerOf } from '../../src/domain/tracking/link-signer.ts';
import { newUid } from '../../src/lib/ids.ts';
import { startRestApp } from '../support/rest-app.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { newWorld, type World } from '../support/rest-world.ts';

const app = await startRestApp({ ROLES: 'web,worker', OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const { db } = app.ctx;
const receiver = new SMTPServer({ authOptional: true, disabledCommands: ['STARTTLS'] });
let smtp: World['smtp'] = {};
beforeAll(async () => {
  const server = receiver.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  smtp = { host: '127.0.0.1', port: typeof address === 'object' ? address?.port : 0, encryption: 'none' };
});
afterAll(() => new Promise<void>((resolve) => receiver.close(() => resolve())));

/** Three slices, the last one not full. */
const MANY = 12_000;

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_200; tries++) {
    if (await isSo()) return;
    await sleep(100);
  }
  throw new Error(`In vain: ${what}`);
}

/** Every table with a customer, read from the catalogue: a new one is looked at by being there. */
async function tenantTables(): Promise<readonly string[]> {
  const rows = await queryRows<{ name: string }>(
    db,
    sql`
    SELECT n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'customer_id'
     WHERE n.nspname IN ('public', 'hot') AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

/** Rows of this customer by table, without those that have none. */
async function rowsOf(customerId: bigint): Promise<Readonly<Record<string, string>>> {
  const parts = (await tenantTables()).map(
    (
      name,
    ) => sql`SELECT ${name}::text AS name, count(*)::text || md5(coalesce(string_agg(t::text, ',' ORDER BY t::text), '')) AS state, count(*) AS count
                    FROM ${raw(name)} t WHERE customer_id = ${customerId}`,
  );
  const rows = await queryRows<{ name: string; state: string; count: bigint }>(db, join(parts, ' UNION ALL '));
  return Object.fromEntries(rows.filter(({ count }) => count > 0n).map(({ name, state }) => [name, state]));
}

/**
 * Their rows are taken out by whoever acts on them, whose customer's they ever are; those of campaigns that are not under way, each
 * half minute.
 */
const FOLLOWED = [
  ...['hot.flow_activity', 'hot.flow_trigger', 'hot.flow_trigger_person', 'hot.webhook_activity'],
  'hot.campaign_progress',
];

function withoutFollowed(rows: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(rows).filter(([name]) => !FOLLOWED.includes(name)));
}

/** A row in every hot table, with any value that fits. */
async function fillHotTables(customerId: bigint): Promise<void> {
  const columns = await queryRows<{ name: string; column: string; type: string }>(
    db,
    sql`
    SELECT table_schema || '.' || table_name AS name, column_name AS column, udt_name AS type
      FROM information_schema.columns c
      JOIN pg_class k ON k.relname = c.table_name AND k.relnamespace = 'hot'::regnamespace AND NOT k.relispartition
     WHERE table_schema = 'hot' AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'`,
  );
  for (const name of new Set(columns.map((one) => one.name))) {
    const own = columns.filter((one) => one.name === name);
    if (!own.some(({ column }) => column === 'customer_id')) continue;
    const values = own.map(({ column, type }) => (column === 'customer_id' ? sql`${customerId}` : anyOf(type)));
    await db.execute(sql`INSERT INTO ${raw(name)} (${raw(own.map(({ column }) => column).join(', '))})
                         VALUES (${join(values)}) ON CONFLICT DO NOTHING`);
  }
}

function anyOf(type: string): Sql {
  if (/^int|^float|^numeric/.test(type)) return sql`1`;
  if (type === 'date') return sql`current_date`;
  if (type.startsWith('timestamp')) return sql`now()`;
  if (type === 'bool') return sql`false`;
  if (type === 'json' || type === 'jsonb') return sql`'{}'`;
  if (type === 'flow_state') return sql`'due'`;
  if (type === 'bytea') return sql`'x'::bytea`;
  if (type === 'bit') return sql`0::bit(2048)`;
  if (type === 'uuid') return sql`gen_random_uuid()`;
  return type.startsWith('_') ? sql`'{}'` : sql`'x'`;
}

test('everything of a deleted customer is erased, in slices, and nothing of another one', async () => {
  const [gone, stays] = [await newWorld(app, smtp), await newWorld(app, smtp)];
  for (const { customerId } of [gone, stays]) {
    await fillHotTables(customerId);
    await db.execute(sql`
      INSERT INTO subscriber (customer_id, list_id, email, email_key, status)
      SELECT ${customerId}, l.id, 'e' || n || '@x.example', 'e' || n || '@x.example', 'subscribed'
        FROM generate_series(1, ${MANY}::int) n, mail_list l WHERE l.customer_id = ${customerId}`);
  }
  await app.rest(`/customers/${gone.customerUid}/disable`, { method: 'PATCH' });
  const before = await rowsOf(stays.customerId);
  expect(Object.keys(await rowsOf(gone.customerId)).length).toBeGreaterThan(25);
  const { status } = await app.rest(`/customers/${gone.customerUid}`, { method: 'DELETE' });
  expect(status).toBe(200);
  await until('the customer is erased', async () => {
    return (await queryRows(db, sql`SELECT 1 FROM customer WHERE id = ${gone.customerId}`)).length === 0;
  });
  const left = await rowsOf(gone.customerId);
  // What administrators did to it stays on record: it was disabled, it was deleted.
  expect(Object.keys(left)).toEqual(['hot.audit_event', 'hot.event']);
  expect(
    await queryRows(
      db,
      sql`SELECT operation, target_uid FROM hot.audit_event WHERE customer_id = ${gone.customerId} OR target_uid = ${gone.customerUid} ORDER BY id`,
    ),
  ).toMatchObject([{ operation: 'disableCustomer' }, { operation: 'deleteCustomer', target_uid: gone.customerUid }]);
  expect(withoutFollowed(await rowsOf(stays.customerId))).toEqual(withoutFollowed(before));
});

test('a disabled customer sends nothing more; what it had under way stays paused', async () => {
  const world = await newWorld(app, smtp);
  const { customerId } = world;
  const statuses = ['sending', 'queued', 'scheduled', 'done', 'ready', 'error'];
  const ids = new Map<string, bigint>();
  for (const status of statuses) {
    const [row] = await queryRows<{ id: bigint }>(
      db,
      sql`
      INSERT INTO campaign (customer_id, uid, list_id, name, subject, from_email, html, status, snapshot_on, delivery_at)
      SELECT ${customerId}, ${newUid()}, id, ${status}, 'S', 'a@b.example', '<p>x</p>', ${status}, current_date, now() + interval '1 day'
        FROM mail_list WHERE customer_id = ${customerId} ORDER BY id LIMIT 1 RETURNING id`,
    );
    ids.set(status, row?.id ?? 0n);
  }
  const sending = ids.get('sending') ?? 0n;
  const waits = newUid();
  await db.execute(sql`
    INSERT INTO campaign (customer_id, uid, list_id, name, status, wait_kind, wait_until)
    SELECT ${customerId}, ${waits}, id, 'waits', 'sending', 'credits', now() + interval '1 day' FROM mail_list WHERE customer_id = ${customerId} ORDER BY id LIMIT 1`);
  expect(await createActiveCampaigns().take(app.ctx, { customerId, campaignId: sending })).toBeDefined();
  await app.rest(`/customers/${world.customerUid}/disable`, { method: 'PATCH' });
  // Before any job ran: the sending loop asks for the customer as well.
  expect(await createActiveCampaigns().take(app.ctx, { customerId, campaignId: sending })).toBeUndefined();
  const now = async () => {
    const rows = await queryRows<{ name: string; status: string }>(
      db,
      sql`SELECT name, status FROM campaign WHERE customer_id = ${customerId} AND name = ANY(${statuses}::text[])`,
    );
    return Object.fromEntries(rows.map(({ name, status }) => [name, status]));
  };
  await until('the campaigns are paused', async () => (await now())['sending'] === 'paused');
  const paused = {
    sending: 'paused',
    queued: 'paused',
    scheduled: 'paused',
    done: 'done',
    ready: 'ready',
    error: 'error',
  };
  expect(await now()).toEqual(paused);
  await app.rest(`/customers/${world.customerUid}/enable`, { method: 'PATCH' });
  expect(await now()).toEqual(paused);
  // It waited for its plan before, and does no more.
  const { body } = await app.rest(`/campaigns/${waits}`, { token: world.token });
  expect(body).toMatchObject({
    campaign: { status: 'paused', status_reason: 'The account was disabled.', waits_until: null },
  });
});

test('people can leave the list of a disabled customer', async () => {
  const world = await newWorld(app, smtp);
  const { customerId } = world;
  const [row] = await queryRows<{ list: bigint; campaign: bigint; subscriber: bigint }>(
    db,
    sql`
    SELECT l.id AS list, c.id AS campaign, s.id AS subscriber FROM mail_list l
      JOIN campaign c ON c.customer_id = l.customer_id AND c.list_id = l.id
      JOIN subscriber s ON s.customer_id = l.customer_id AND s.list_id = l.id
     WHERE l.customer_id = ${customerId} LIMIT 1`,
  );
  if (!row) throw new Error('The world has no campaign.');
  await app.rest(`/customers/${world.customerUid}/disable`, { method: 'PATCH' });
  const ids = { customerId, listId: row.list, campaignId: row.campaign, subscriberId: row.subscriber };
  const link = linkSignerOf(app.ctx.installation).forRecipient(recipientOfCampaign(ids)).unsubscribe();
  const answer = await fetch(link, { method: 'POST', body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) });
  expect(answer.status).toBe(200);
  expect(await queryRows(db, sql`SELECT status FROM subscriber WHERE id = ${row.subscriber}`)).toEqual([
    { status: 'unsubscribed' },
  ]);
});

test('the clock sweeps ended logins, links and the oldest of the trail', async () => {
  const { customerId } = await newWorld(app, smtp);
  const [user] = await queryRows<{ id: bigint }>(db, sql`SELECT id FROM app_user WHERE customer_id = ${customerId}`);
  const token = (kind: string, changes: Sql) => sql`
    INSERT INTO api_token (customer_id, uid, user_id, kind, name, digest, scopes, expires_at, revoked_at)
    SELECT ${customerId}, ${newUid()}, ${user?.id}, ${kind}, ${kind}, sha256(random()::text::bytea), '{*}', ${changes}`;
  await db.execute(token('old session', sql`now() - interval '31 days', NULL`));
  await db.execute(token('old revoked', sql`NULL, now() - interval '31 days'`));
  await db.execute(token('late session', sql`now() - interval '1 day', NULL`));
  await db.execute(token('lasting', sql`NULL, NULL`));
  await db.execute(sql`INSERT INTO login_token (customer_id, digest, user_id, scopes, expires_at)
                       VALUES (${customerId}, 'x'::bytea, ${user?.id}, '{}', now() - interval '1 minute')`);
  const entry = {
    actor: null,
    operation: 'x',
    targetUid: null,
    fields: [],
    entryPoint: 'rest',
    ipAddress: null,
  } as const;
  await insertAuditEntries(db, [{ ...entry, customerId }]);
  await db.execute(sql`INSERT INTO hot.audit_event (customer_id, at, operation, entry_point) OVERRIDING SYSTEM VALUE
                       VALUES (${customerId}, now() - interval '401 days', 'old', 'rest')`);
  await db.execute(sql`INSERT INTO hot.audit_event (customer_id, id, at, operation, entry_point) OVERRIDING SYSTEM VALUE
                       VALUES (${customerId}, -1, now() - interval '401 days', 'oldest', 'rest')`);
  await sweepAccounts(app.ctx);
  const names = await queryRows<{ name: string }>(
    db,
    sql`SELECT name FROM api_token WHERE customer_id = ${customerId} ORDER BY name`,
  );
  // The world has the first two.
  expect(names.map(({ name }) => name).toSorted()).toEqual(['Primary', 'Shop', 'lasting', 'late session']);
  expect(await queryRows(db, sql`SELECT 1 FROM login_token WHERE customer_id = ${customerId}`)).toEqual([]);
  const trail = await queryRows<{ operation: string }>(
    db,
    sql`SELECT operation FROM hot.audit_event WHERE customer_id = ${customerId}`,
  );
  expect(trail).toEqual([{ operation: 'x' }]);
});
