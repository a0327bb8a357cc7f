/**
 * A process of its own that moves people through flows: `node flow-process.ts <url> <time> [statements]`. With a time it does all that is due
 * then and ends; with `clock` it runs by the database's clock until it is killed. It dies before the statement of that number.
 */
import { limitsOf } from '../../src/app/installation.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { openDatabase } from '../../src/db/database.ts';
import { advanceDue } from '../../src/domain/automations/engine/advance-due.ts';
import { startFlowWaker } from '../../src/domain/automations/engine/flow-waker.ts';
import type { Context } from '../../src/domain/context.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { createHookBus } from '../../src/plugin-host/hook-bus.ts';
import { dieAfterStatements } from './die-after-statements.ts';

const [, , url = '', time = '', statements = 'Infinity'] = process.argv;
dieAfterStatements(Number(statements));
const log = createLog({ level: 'warn', format: 'json' });
const database = openDatabase({ url, poolSize: 3, log });
const ctx: Context = {
  ...{ db: database, database, tx: undefined, hooks: createHookBus(log), log },
  ...{ clock: systemClock, viewer: null, ipAddress: null },
  installation: { baseUrl: '', secret: 'test-secret-'.repeat(4), limits: limitsOf(loadConfig({})) },
};
if (time === 'clock') startFlowWaker(ctx);
else {
  await advanceDue(ctx, { now: () => new Date(time), isStopping: () => false });
  await database.close();
}
