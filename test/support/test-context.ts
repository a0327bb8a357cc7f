/** A context for tests of domain verbs: a real database, a clock that a test may hold still, nobody logged in. */
import { openDatabase } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createHookBus, type HookBus } from '../../src/plugin-host/hook-bus.ts';
import { afterFile } from './after-file.ts';
import { createTestDatabase } from './test-database.ts';

/**
 * Tests let a hundred callers share five connections: the last of them waits for all the others, on a busy machine for
 * longer than the ten seconds that the product waits.
 */
const CONNECTION_WAIT_MS = 120_000;

const limits: Context['installation']['limits'] = {
  sendBatchSize: 500,
  sendLeaseSeconds: 45,
  snapshotBatchSize: 10_000,
  importBatchSize: 20_000,
  sendAttemptsMax: 12,
  sendRetryDelaySeconds: 60,
  bouncePause: { percent: 95, recipients: 1_000 },
  importBytesMax: 10_000_000,
  fileBytesMax: 10_485_760,
  billingGraceDays: 7,
  sessionDays: { idle: 30, inAll: 90 },
};

export const testInstallation: Context['installation'] = {
  baseUrl: 'http://mail.test',
  secret: 'test-secret-'.repeat(4),
  limits,
};

/** Its hook bus takes plugins (`withHooks`, `loadPlugins`). */
export type TestContext = Context & { readonly hooks: HookBus };

/** A context on a database of its own, closed after the file's last test. */
export async function createTestContext(overrides: Partial<TestContext> = {}): Promise<TestContext> {
  const { url } = await createTestDatabase();
  const database = openDatabase({ url, poolSize: 5, log: silentLog, applicationName: 'mailwright-test' });
  database.pool.options.connectionTimeoutMillis = CONNECTION_WAIT_MS;
  afterFile(() => database.close());
  return {
    db: database,
    database,
    tx: undefined,
    hooks: createHookBus(silentLog),
    clock: systemClock,
    log: silentLog,
    viewer: null,
    ipAddress: null,
    installation: testInstallation,
    ...overrides,
  };
}
