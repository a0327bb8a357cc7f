/** `plugin -- test`: runs a plugin's tests on an installation that is started for them and removed afterwards. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, globSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { INSTALLATION_VARIABLE, type InstallationFacts } from '../../src/plugin-testing/test-installation.ts';
import { startOwnInstallation } from '../support/own-installation.ts';
import { NO_RIGHTS } from '../../src/plugin-api/index.ts';
import { activate } from './activate.ts';
import { grantsOf } from './grants.ts';
import { OBSERVER, writeObserver } from './observer.ts';
import { ToolError } from '../support/tool-error.ts';
import { readPlugin, type ReadPlugin } from './read-plugin.ts';

const RESOLVE_NAMES = path.resolve(import.meta.dirname, '../../src/plugin-testing/resolve-names.ts');
/** 60 letters and digits, like all tokens. */
const TOKEN_BYTES = 30;
/** A test that hangs must not hold the installation for ever. */
const TEST_MS_MAX = 300_000;

/** Runs the tests and returns their exit code. Leaves nothing running and no data. Throws ToolError when they cannot be run. */
export async function testPlugin(place: string): Promise<number> {
  const read = await readPlugin(place);
  const tests = globSync('tests/**/*.test.{ts,js,mjs}', { cwd: path.resolve(place) });
  if (tests.length === 0)
    throw new ToolError(`There are no tests: files named tests/*.test.ts in ${path.resolve(place)}.`);
  const temporary = await mkdtemp(path.join(os.tmpdir(), 'mailwright-plugin-test-'));
  // When run as root, the database has its own user, who must be able to enter.
  await chmod(temporary, 0o755);
  try {
    return await runTests(read, { place: path.resolve(place), tests: tests.toSorted(), temporary });
  } finally {
    await rm(temporary, { recursive: true, force: true, maxRetries: 5 });
  }
}

interface Run {
  readonly place: string;
  readonly tests: readonly string[];
  readonly temporary: string;
}

async function runTests(read: ReadPlugin, run: Run): Promise<number> {
  const dataDir = path.join(run.temporary, 'data');
  const installed = path.join(dataDir, 'plugins', read.fullName);
  await mkdir(path.dirname(installed), { recursive: true });
  // A copy: a test may delete the plugin, and its folder with it.
  await cp(read.folder.folder, installed, { recursive: true, filter: (file) => path.basename(file) !== '.git' });
  const firedFile = path.join(run.temporary, 'fired');
  await writeObserver(dataDir, firedFile, read);
  const logFile = path.join(run.temporary, 'log');
  const token = randomBytes(TOKEN_BYTES).toString('hex');
  console.log(`Starting a Mailwright for the tests of ${read.fullName} ...`);
  const own = await startOwnInstallation({
    ...{ dataDir, token, settings: { LOG_FORMAT: 'json', ADMIN_PASSWORD: randomBytes(20).toString('hex') } },
    onOutput: (chunk) => appendFileSync(logFile, chunk),
    onStart: (stop) => stopOnSignal(stop, run.temporary),
  }).catch((error: unknown) => {
    throw new ToolError(error instanceof Error ? error.message : String(error));
  });
  try {
    const grants = grantsOf(read.folder.manifest?.wants ?? NO_RIGHTS);
    await activate({ baseUrl: own.url, token }, OBSERVER);
    await activate({ baseUrl: own.url, token }, read.fullName, grants);
    const facts = { baseUrl: own.url, token, plugin: read.fullName, grants, dataDir, firedFile, logFile };
    return await runNodeTests(run, facts);
  } finally {
    await own.stop();
  }
}

async function runNodeTests({ place, tests }: Run, facts: InstallationFacts): Promise<number> {
  const options = ['--import', pathToFileURL(RESOLVE_NAMES).href, '--test', '--test-concurrency=1'];
  const child = spawn(process.execPath, [...options, `--test-timeout=${TEST_MS_MAX}`, ...tests], {
    cwd: place,
    env: { ...process.env, [INSTALLATION_VARIABLE]: JSON.stringify(facts) },
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  return code === 0 ? 0 : 1;
}

/** The tests get the signal of the terminal themselves; the installation must not stay. */
function stopOnSignal(stop: () => Promise<void>, temporary: string): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      void stop()
        .then(() => rm(temporary, { recursive: true, force: true, maxRetries: 5 }))
        .finally(() => process.exit(130));
    });
}
