/** A copy of the database, made while renewals were due: after its hold it charges nobody for what the original has charged. */
import { randomBytes } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { openDatabase, sql } from '../../../src/db/database.ts';
import { chargeIntent } from '../../../src/domain/billing/saved-methods/charge-intent.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { retryCharges } from '../../../src/domain/billing/saved-methods/retry-charges.ts';
import { refreshInvoice, syncPayments } from '../../../src/domain/billing/payments/sync-payments.ts';
import type { Context } from '../../../src/domain/context.ts';
import { endHold, guardRestoredBackup, type AfterHold } from '../../../src/domain/installation/restore-guard.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { afterFile } from '../../support/after-file.ts';
import { openBillingWorld } from '../../support/billing-world.ts';
import { gatewayScene } from '../../support/gateway-scene.ts';
import { PayVendor } from '../../support/pay-gateway.ts';
import { administer, databaseUrl } from '../../support/test-server.ts';

const COPY_TRIES_MAX = 20;
const HERE = { place: { address: 'db:5432/mailwright', file: null }, seenAt: null };
const world = await openBillingWorld('2026-03-01T10:00:00Z');
const { admin, setClock: at } = world;
let vendor = new PayVendor();
const { system, begin, ...scene } = await gatewayScene(world, () => vendor);
type Customer = Awaited<ReturnType<typeof scene.customerWithCard>>;

/** The same rows at another place, as the dump of a night that is loaded elsewhere. */
async function copied(): Promise<Context> {
  const name = `mailwright_test_${randomBytes(6).toString('hex')}`;
  const server = inject('testServerUrl');
  const from = new URL(admin.database.url).pathname.slice(1);
  // PostgreSQL copies a database only while nobody is connected; the followers of this world connect again at once.
  for (let tries = 1; ; tries += 1) {
    await administer(
      server,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${from}' AND pid <> pg_backend_pid()`,
    );
    try {
      await administer(server, `CREATE DATABASE ${name} TEMPLATE ${from} STRATEGY file_copy`);
      break;
    } catch (error) {
      if (tries === COPY_TRIES_MAX) throw error;
    }
  }
  afterFile(() => administer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  const url = databaseUrl(server, name);
  const database = openDatabase({ url, poolSize: 3, log: silentLog, applicationName: 'mailwright-test-copy' });
  afterFile(() => database.close());
  return { ...system, db: database, database };
}

/** Charges what waits for it, as the workers of this installation. */
async function work(ctx: Context, { id }: Pick<Customer, 'id'>): Promise<void> {
  await renewSubscriptions(ctx);
  await retryCharges(ctx);
  const open = await queryRows<{ uid: string }>(
    ctx.db,
    sql`SELECT uid FROM payment_intent WHERE customer_id = ${id} AND method_id IS NOT NULL AND status IN ('PENDING', 'REQUIRES_ACTION')`,
  );
  for (const { uid } of open) await chargeIntent(ctx, { intentUid: uid });
  await syncPayments(ctx);
}

async function renewalIn(ctx: Context, { id }: Pick<Customer, 'id'>) {
  const [row] = await queryRows<{ uid: string; status: string; tries: string[] | null }>(
    ctx.db,
    sql`SELECT i.uid, i.status, (SELECT array_agg(p.status ORDER BY p.id) FROM payment_intent p
                                  WHERE p.customer_id = i.customer_id AND p.invoice_id = i.id) AS tries
          FROM invoice i WHERE i.customer_id = ${id} AND i.kind = 'renewal' ORDER BY i.id DESC LIMIT 1`,
  );
  return row;
}

const charges = () => [...vendor.objects.values()].reduce((sum, object) => sum + object.charges, 0);

const DUE = '2026-04-01T10:00:00Z';
const whenCopied: Record<string, () => Promise<void>> = {
  'nothing was written yet': async () => at('2026-03-31T10:00:00Z'),
  'the charge was enqueued': async () => {
    at(DUE);
    await renewSubscriptions(system);
  },
  'the charge had begun, and was declined later': async () => {
    at(DUE);
    await renewSubscriptions(system);
    vendor.failures.set('charge', new GatewayError('unavailable', 'The connection was cut.'));
    await expect(work(system, customer)).rejects.toThrow('cut');
    vendor.failures.clear();
    vendor.chargeResult = 'FAILED';
  },
  'the next try after a decline was planned': async () => {
    at(DUE);
    vendor.chargeResult = 'FAILED';
    await work(system, customer);
    expect(await renewalIn(system, customer)).toMatchObject({ tries: ['FAILED'] });
  },
};
let customer: Customer;

test.each(
  Object.keys(whenCopied).flatMap((name): [string, AfterHold][] => [
    [name, 'pause'],
    [name, 'continue'],
  ]),
)('copied when %s, and released with %s: the original alone charges the card', async (name, underWay) => {
  vendor = new PayVendor();
  at('2026-03-01T10:00:00Z');
  await scene.nothingDue();
  await admin.db.execute(sql`DELETE FROM setting WHERE key LIKE 'installation.%'`);
  customer = await scene.customerWithCard();
  expect(await guardRestoredBackup(system, HERE)).toBeNull();
  await whenCopied[name]?.();
  const copy = await copied();
  expect((await guardRestoredBackup(copy, HERE))?.reason).toContain('dump');

  // The original goes on, and gets the money at the latest with its second try.
  at('2026-04-01T10:05:00Z');
  await work(system, customer);
  vendor.chargeResult = 'SUCCEEDED';
  at('2026-04-02T10:05:00Z');
  await work(system, customer);
  expect(await renewalIn(system, customer)).toMatchObject({ status: 'paid' });
  const before = charges();

  at('2026-04-02T12:00:00Z');
  await endHold(copy, underWay);
  for (const later of [
    '2026-04-02T12:05:00Z',
    '2026-04-03T13:00:00Z',
    '2026-04-04T11:00:00Z',
    '2026-04-06T11:00:00Z',
  ]) {
    at(later);
    await work(copy, customer);
  }
  expect(charges()).toBe(before);
  expect(vendor.calls.filter((call) => call === 'charge')).toHaveLength(
    name.startsWith('the charge had begun') ? before + 1 : before,
  );
  const renewal = await renewalIn(copy, customer);
  expect(renewal).toMatchObject({ status: 'pending' });

  // It is paid on the page, and the next period is charged: that is the copy's own.
  const inCopy = { ctx: { ...customer.ctx, db: copy.db, database: copy.database }, due: { uid: renewal?.uid ?? '' } };
  (await begin(inCopy)).object.status = 'SUCCEEDED';
  await refreshInvoice(inCopy.ctx, { uid: inCopy.due.uid });
  expect(await renewalIn(copy, customer)).toMatchObject({ status: 'paid' });
  at('2026-05-01T10:00:01Z');
  await work(copy, customer);
  expect(charges()).toBe(before + 1);
  expect(await renewalIn(copy, customer)).toMatchObject({ status: 'paid', tries: ['SUCCEEDED'] });
});
