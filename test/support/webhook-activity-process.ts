/**
 * A process of its own that makes deliveries of what webhooks of customers ask for, for tests that kill it:
 * `node webhook-activity-process.ts <url> [statements]`.
 */
import { openDatabase } from '../../src/db/database.ts';
import { followActivity } from '../../src/domain/webhooks/webhook-activity-follower.ts';
import { silentLog } from '../../src/lib/log.ts';
import { dieAfterStatements } from './die-after-statements.ts';

const [, , url = '', statements = 'Infinity'] = process.argv;
dieAfterStatements(Number(statements));
const database = openDatabase({ url, poolSize: 2, log: silentLog });
while ((await followActivity({ database, log: silentLog })) > 0);
await database.close();
