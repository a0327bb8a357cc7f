/**
 * A process of its own that runs one verification, for tests that kill it: `node verification-process.ts <url> <customer> <verification>
 * [statements]`. Each address that its verifier is asked about is written to the table `asked`.
 */
import { limitsOf } from '../../src/app/installation.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';
import { runVerification } from '../../src/domain/verification/run-verification.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createHookBus } from '../../src/plugin-host/hook-bus.ts';
import { dieAfterStatements } from './die-after-statements.ts';
import { worldsVerifier } from './insert-verification.ts';
import { withHooks } from './with-hooks.ts';

const [, , url = '', customerId = '', verificationId = '', statements = 'Infinity'] = process.argv;
// Its own: what the verifier has been asked is known whatever becomes of the run.
const notes = openDatabase({ url, poolSize: 1, log: silentLog });
const hooks = createHookBus(silentLog);
withHooks(hooks, {
  register: (registration) =>
    registration.add('register_email_verifier', {
      ...worldsVerifier,
      addressesMax: 20,
      callsMax: 2,
      connect: (settings, options) => ({
        ...worldsVerifier.connect(settings, options),
        async verify(addresses) {
          await notes.execute(sql`INSERT INTO asked SELECT unnest(${[...addresses]}::text[])`);
          return addresses.map((address) =>
            address.startsWith('info')
              ? { result: 'risky', reasons: ['role'] }
              : { result: 'deliverable', reasons: [] },
          );
        },
      }),
    }),
});
dieAfterStatements(Number(statements));
const database = openDatabase({ url, poolSize: 3, log: silentLog });
const ctx: Context = {
  ...{
    db: database,
    database,
    tx: undefined,
    hooks,
    clock: systemClock,
    log: silentLog,
    viewer: null,
    ipAddress: null,
  },
  installation: { baseUrl: '', secret: 'test-secret-'.repeat(4), limits: limitsOf(loadConfig({})) },
};
const key = { customerId: BigInt(customerId), id: BigInt(verificationId) };
await runVerification(ctx, key, { abortSignal: new AbortController().signal, isLastTry: false });
await database.close();
await notes.close();
