/**
 * A process of its own that runs one import, for tests that kill it: `node import-process.ts <url> <customer> <import>
 * [statements]`.
 */
import { limitsOf } from '../../src/app/installation.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { openDatabase } from '../../src/db/database.ts';
import { runListImport } from '../../src/domain/audience/imports/run-list-import.ts';
import type { Context } from '../../src/domain/context.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createHookBus } from '../../src/plugin-host/hook-bus.ts';
import { dieAfterStatements } from './die-after-statements.ts';

const [, , url = '', customerId = '', importId = '', statements = 'Infinity'] = process.argv;
dieAfterStatements(Number(statements));
const database = openDatabase({ url, poolSize: 3, log: silentLog });
const ctx: Context = {
  db: database,
  database,
  tx: undefined,
  hooks: createHookBus(silentLog),
  clock: systemClock,
  log: silentLog,
  viewer: null,
  ipAddress: null,
  // Small batches: many moments to be killed in.
  installation: { baseUrl: '', secret: '', limits: { ...limitsOf(loadConfig({})), importBatchSize: 150 } },
};
await runListImport(ctx, { customerId: BigInt(customerId), id: BigInt(importId) }, new AbortController().signal);
await database.close();
