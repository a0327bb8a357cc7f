/**
 * A process of its own that installs one plugin from a file, for tests that kill it:
 * `node install-process.ts <url> <data dir> <archive> [statements]`.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { limitsOf } from '../../src/app/installation.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { openDatabase } from '../../src/db/database.ts';
import { appendToPluginUpload, finishPluginUpload, startPluginUpload } from '../../src/domain/plugins/upload-plugin.ts';
import type { Context } from '../../src/domain/context.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createHookBus } from '../../src/plugin-host/hook-bus.ts';
import { ProcessPlugins } from '../../src/plugin-host/plugin-host.ts';
import { dieAfterStatements } from './die-after-statements.ts';

const [, , url = '', dataDir = '', archive = '', statements = 'Infinity'] = process.argv;
/** About as long as it takes to write the files. */
const MOMENT_MS = 40;
dieAfterStatements(Number(statements), MOMENT_MS);
const database = openDatabase({ url, poolSize: 3, log: silentLog });
const hooks = createHookBus(silentLog);
const places = { bundled: '', installed: path.join(dataDir, 'plugins') };
const ctx: Context = {
  db: database,
  database,
  tx: undefined,
  hooks,
  plugins: new ProcessPlugins({ bus: hooks, places, isSafeMode: false, log: silentLog }),
  clock: systemClock,
  log: silentLog,
  viewer: {
    ...{ userId: 1n, userUid: 'u', customerId: 1n, isAdmin: true, scopes: ['*'] },
    ...{ tokenId: 1n, tokenUid: 't', tokenKind: 'primary' },
  },
  ipAddress: null,
  installation: { baseUrl: '', secret: '', limits: limitsOf(loadConfig({})) },
};
const { uid } = await startPluginUpload(ctx, {});
await appendToPluginUpload(ctx, { uid, no: 0, bytes: readFileSync(archive) });
await finishPluginUpload(ctx, { uid });
await database.close();
