/**
 * A process of its own that reads what a vendor keeps, for tests that kill it: `node remote-sync-process.ts <url> <file> <time> [statements]`. The
 * file has the vendor's plans, subscriptions and checkouts.
 */
import { readFileSync } from 'node:fs';
import { deserialize } from 'node:v8';
import { limitsOf } from '../../src/app/installation.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { openDatabase } from '../../src/db/database.ts';
import { syncPayments } from '../../src/domain/billing/payments/sync-payments.ts';
import type { Context } from '../../src/domain/context.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createHookBus } from '../../src/plugin-host/hook-bus.ts';
import { dieAfterStatements } from './die-after-statements.ts';
import { RemoteVendor, useRemoteVendor } from './remote-vendor.ts';

const [, , url = '', file = '', time = '', statements = 'Infinity'] = process.argv;
const vendor = new RemoteVendor();
const kept: Pick<RemoteVendor, 'plans' | 'subscriptions' | 'checkouts'> = deserialize(readFileSync(file));
vendor.plans.push(...kept.plans);
vendor.subscriptions.push(...kept.subscriptions);
for (const [id, checkout] of kept.checkouts) vendor.checkouts.set(id, checkout);
const hooks = createHookBus(silentLog);
useRemoteVendor(hooks, () => vendor);
dieAfterStatements(Number(statements));
const database = openDatabase({ url, poolSize: 3, log: silentLog });
const ctx: Context = {
  ...{ db: database, database, tx: undefined, hooks, log: silentLog, viewer: null, ipAddress: null },
  clock: { now: () => new Date(time) },
  installation: { baseUrl: '', secret: 'test-secret-'.repeat(4), limits: limitsOf(loadConfig({})) },
};
await syncPayments(ctx);
await database.close();
