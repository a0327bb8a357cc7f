/** Syncs of what a vendor keeps are killed between statements, and run at once in two processes: each period is paid once, and the books agree. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { serialize } from 'node:v8';
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { changePlan } from '../../../src/domain/billing/subscriptions/change-plan.ts';
import { creditOf, eventsOf, invoicesOf, openBillingWorld, subscriptionsOf } from '../../support/billing-world.ts';
import { remoteScene } from '../../support/remote-scene.ts';
import { RemoteVendor } from '../../support/remote-vendor.ts';

const PROGRAM = path.resolve(import.meta.dirname, '../../support/remote-sync-process.ts');
const NOW = '2026-04-01T11:00:00Z';
const LATER = '2026-05-01T12:00:00Z';
const KILLS = 6;
/** Of these a process has about a hundred when nothing is done yet. */
const STATEMENTS_STEP = 14;

const world = await openBillingWorld('2026-03-01T10:00:00Z');
const vendor = new RemoteVendor();
const { at, linkPlans, dueCustomer, begin, subscriber, runJobs, large } = await remoteScene(world, () => vendor);

const present = async (id: bigint) => (await subscriptionsOf(world, id)).at(-1);
const paidOf = async (id: bigint) =>
  (await invoicesOf(world, id)).filter(({ status }) => status === 'paid').map(({ kind }) => kind);

test('a beginning, a paid period, an end and another plan, killed six times; then the next periods, read by two processes at once', async () => {
  await linkPlans();
  const [renewed, ended, changed] = [await subscriber(), await subscriber(), await subscriber()];
  await changePlan(changed.ctx, { planUid: large.uid });
  await runJobs(changed.id);
  const begun = await dueCustomer();
  const checkout = await begin(begun);
  at(NOW);
  vendor.pay(checkout.id);
  vendor.renew(renewed.kept);
  vendor.renew(changed.kept);
  ended.kept.status = 'canceled';
  await world.rows(sql`UPDATE remote_subscription SET next_sync_at = ${new Date(NOW)}`);

  const folder = mkdtempSync(path.join(tmpdir(), 'remote-crash-'));
  const file = path.join(folder, 'vendor');
  const { plans, subscriptions, checkouts } = vendor;
  const sync = async (time: string, ...more: readonly string[]) => {
    writeFileSync(file, serialize({ plans, subscriptions, checkouts }));
    const args = [PROGRAM, world.admin.database.url, file, time, ...more];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    await once(child, 'exit');
    return child.signalCode ?? child.exitCode;
  };
  try {
    const exits: unknown[] = [];
    for (let kill = 1; kill <= KILLS; kill++) exits.push(await sync(NOW, String(kill * STATEMENTS_STEP)));
    expect(exits.filter((exit) => exit === 'SIGKILL').length).toBeGreaterThanOrEqual(KILLS / 2);
    expect(await sync(NOW)).toBe(0);
    expect(await paidOf(renewed.id)).toEqual(['start', 'renewal']);
    at(LATER);
    for (const kept of [vendor.get(checkout.subscriptionId ?? ''), renewed.kept, changed.kept]) vendor.renew(kept);
    expect(await Promise.all([sync(LATER), sync(LATER)])).toEqual([0, 0]);
  } finally {
    rmSync(folder, { recursive: true });
  }

  expect(await paidOf(begun.id)).toEqual(['start', 'renewal']);
  expect(await paidOf(renewed.id)).toEqual(['start', 'renewal', 'renewal']);
  expect(await paidOf(changed.id)).toEqual(['start', 'change', 'renewal']);
  expect(await paidOf(ended.id)).toEqual(['start']);
  expect(await present(begun.id)).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-06-01T11:00:00Z') });
  expect(await present(renewed.id)).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-06-01T10:00:00Z') });
  expect(await present(changed.id)).toMatchObject({ planId: large.id, periodEndsAt: new Date('2026-06-01T10:00:00Z') });
  expect(await eventsOf(world, renewed.id)).toEqual(['created', 'started', 'renewed', 'renewed']);
  expect(['cancelled', 'ended']).toContain((await present(ended.id))?.status);
  for (const { id } of [begun, renewed, changed, ended]) expect(await creditOf(world, id)).toBe(0n);
  const halves = await world.rows(sql`
    SELECT i.uid FROM invoice i
     WHERE (i.status = 'paid') <> EXISTS (SELECT 1 FROM payment_intent p
            WHERE p.customer_id = i.customer_id AND p.invoice_id = i.id AND p.status = 'SUCCEEDED' AND p.amount_minor = i.total_minor)`);
  expect(halves).toEqual([]);
});
