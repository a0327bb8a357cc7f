/**
 * `npm run doctor`: checks the installation and says what to do. `--json` for programs; `--connect <host>[:port]` also tries whether
 * a connection to this mail server is possible (25 unless given). The exit code is 1 when something does not work. It changes nothing.
 */
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { baseUrlOf, machineOf } from '../src/app/installation.ts';
import { missingRights } from '../src/app/missing-rights.ts';
import { loadConfig } from '../src/config/load-config.ts';
import type { Settings } from '../src/config/settings.ts';
import { checkServer } from '../src/db/check-server.ts';
import { openDatabase } from '../src/db/database.ts';
import { startEmbeddedDatabase } from '../src/db/embedded.ts';
import { diagnose, worstOf, type Diagnosis } from '../src/domain/installation/diagnostics.ts';
import { fault, ok, warning } from '../src/domain/installation/check-result.ts';
import { systemClock } from '../src/lib/clock.ts';
import { messageOf } from '../src/lib/errors.ts';
import { silentLog } from '../src/lib/log.ts';

const USAGE = `npm run doctor                            checks the installation and says what to do
npm run doctor -- --json                  the same as JSON
npm run doctor -- --connect <host>[:25]   also tries to connect to this mail server`;
/** A firewall that drops packets answers nothing. */
const CONNECT_MS_MAX = 10_000;

const given = process.argv.slice(2);
const isJson = given.includes('--json');
const at = given.indexOf('--connect');
const target = at < 0 ? undefined : given[at + 1];
const known = new Set(['--json', '--connect', target]);
if (given.includes('--help') || given.some((word) => !known.has(word)) || (at >= 0 && target === undefined)) {
  console.error(USAGE);
  process.exitCode = given.includes('--help') ? 0 : 1;
} else {
  const results = await examine();
  if (isJson) console.log(JSON.stringify({ status: worstOf(results), diagnostics: results }, null, 2));
  else print(results);
  process.exitCode = worstOf(results) === 'error' ? 1 : 0;
}

async function examine(): Promise<Diagnosis[]> {
  const connection = target === undefined ? [] : [await tryConnection(target)];
  try {
    const settings = loadConfig(process.env);
    return [...(await examineDatabase(settings)), ...connection];
  } catch (error) {
    const advice = 'Correct the settings; docs/manual/settings.md has them all.';
    return [{ name: 'settings', ...fault(messageOf(error), advice) }, ...connection];
  }
}

async function examineDatabase(settings: Settings): Promise<Diagnosis[]> {
  const folder = path.resolve(settings.DATA_DIR, 'postgres');
  const isEmbedded = settings.DATABASE_URL === '';
  const notThere = (message: string): Diagnosis[] => [
    {
      name: 'database',
      ...fault(message, 'Set DATA_DIR or DATABASE_URL as for npm start, and start the program once.'),
    },
  ];
  if (isEmbedded && !existsSync(path.join(folder, 'data', 'PG_VERSION')))
    return notThere(`There is no installation in ${path.resolve(settings.DATA_DIR)}.`);
  try {
    if (!isEmbedded) await checkServer(settings.DATABASE_URL);
    const embedded = isEmbedded ? await startEmbeddedDatabase({ folder }) : undefined;
    const url = embedded?.url ?? settings.DATABASE_URL;
    const database = openDatabase({ url, poolSize: 4, log: silentLog, applicationName: 'mailwright-script' });
    try {
      const installation = {
        baseUrl: baseUrlOf(settings, settings.PORT),
        bounceDomain: settings.BOUNCE_DOMAIN,
        dnsServers: settings.DNS_SERVERS,
        machine: machineOf(settings),
      };
      const rights = isEmbedded ? undefined : await missingRights(url);
      return [
        ...(await diagnose({ db: database, clock: systemClock, installation })),
        {
          name: 'rights',
          ...(rights === undefined
            ? ok('The database user has all rights it needs.')
            : fault(rights, 'Run these statements.')),
        },
      ];
    } finally {
      await database.close();
      await embedded?.stop();
    }
  } catch (error) {
    return notThere(messageOf(error));
  }
}

async function tryConnection(name: string): Promise<Diagnosis> {
  const [host = '', port = '25'] = name.split(':');
  const failure = await new Promise<string | undefined>((resolve) => {
    const socket = connect({ host, port: Number(port) });
    socket.setTimeout(CONNECT_MS_MAX, () => resolve('no answer'));
    socket.once('connect', () => resolve(undefined)).once('error', (error) => resolve(error.message));
    socket.once('close', () => resolve('closed'));
  });
  const result =
    failure === undefined
      ? ok(`A connection to ${host}, port ${port}, is possible.`)
      : warning(
          `No connection to ${host}, port ${port}: ${failure}.`,
          'Many networks block port 25: ask yours to open it, or send through a provider on port 587 or 465.',
        );
  return { name: 'connect', ...result };
}

function print(results: readonly Diagnosis[]): void {
  const signs = { ok: ' ok    ', warning: 'WARNING', error: 'ERROR  ' };
  for (const { name, status, message, advice } of results) {
    console.log(`${signs[status]}  ${name}: ${message}`);
    if (advice !== null) console.log(`         ${advice}`);
  }
}
