/**
 * `npm run test:changed [-- <commit>]`: runs the tests that a change can affect, nearest first, in about a minute. A change is
 * the difference to the given commit; without one, to the last commit; if there is none, the last commit itself. A test file is
 * nearer the fewer imports lie between it and a changed file; one in the test folder of the changed file comes before those two
 * imports away. Files that do not fit into the time are named at the end: the whole suite is `npm test`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { distancesFrom, readImporters } from './support/import-graph.ts';

const root = path.resolve(import.meta.dirname, '..');

/** Four files at a time, and some ten seconds for the database's start: together under a minute. */
const SECONDS_OF_TESTS = 100;
/** A slower file would take the whole time alone. */
const SECONDS_OF_A_FILE_MAX = 30;
/** The assumed time of a file that never ran here. */
const SECONDS_UNKNOWN = 5;
/** Fast, and checks every file. */
const ALWAYS = ['test/architecture'];
/** Files other than TypeScript that may affect any test. */
const CHANGES_ALL = /^(prisma\/|package(-lock)?\.json$|vitest\.config\.ts$|test\/support\/global-setup\.ts$)/;

const changed = findChanged(process.argv[2]);
const files = globSync(['src/**/*.ts', 'plugins/**/*.ts', 'scripts/**/*.ts', 'bench/**/*.ts', 'test/**/*.ts'], {
  cwd: root,
  exclude: (name) => name.endsWith('node_modules'),
}).map((file) => file.replaceAll(path.sep, '/'));
const distances = distancesFrom(readImporters(root, files), changed);
const folders = new Set(changed.map((file) => path.posix.dirname(file).replace(/^src\//, 'test/')));
const touched = [...distances.keys()].filter((file) => file.endsWith('.test.ts') && !file.startsWith(`${ALWAYS[0]}/`));
const byNearness = touched.toSorted((a, b) => nearness(a) - nearness(b));
const { taken, left } = fitting(byNearness, readSeconds());

console.log(`${count(changed.length, 'changed file')} can touch ${count(touched.length, 'test file')}.`);
const status = spawnSync('npx', ['vitest', 'run', ...ALWAYS, ...taken], { cwd: root, stdio: 'inherit' }).status ?? 1;
if (left.length > 0)
  console.log(
    `Not run for want of time, ${count(left.length, 'file')}, nearest first:\n  ${left.slice(0, 20).join('\n  ')}`,
  );
const broad = changed.filter((file) => CHANGES_ALL.test(file));
if (broad.length > 0) console.log(`${broad.join(', ')}: can touch every test. Run npm test.`);
process.exitCode = status;

/** Files that differ, new ones included; deleted ones cannot be imported. */
function findChanged(since: string | undefined): string[] {
  const lines = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);
  const diff = (...range: string[]) => lines('diff', '--name-only', '--no-renames', '--diff-filter=d', ...range);
  const found = [...diff(since ?? 'HEAD'), ...lines('ls-files', '--others', '--exclude-standard')];
  return found.length > 0 || since !== undefined ? found : diff('HEAD~1', 'HEAD');
}

function nearness(test: string): number {
  const distance = distances.get(test) ?? Number.POSITIVE_INFINITY;
  return folders.has(path.posix.dirname(test)) ? Math.min(distance, 1.5) : distance;
}

/** As many of them, in order, as the time allows. */
function fitting(tests: readonly string[], seconds: ReadonlyMap<string, number>): { taken: string[]; left: string[] } {
  const taken: string[] = [];
  const left: string[] = [];
  let rest = SECONDS_OF_TESTS;
  for (const test of tests) {
    const needed = seconds.get(test) ?? SECONDS_UNKNOWN;
    // A changed test file is always run.
    const isTaken = nearness(test) === 0 || (needed <= SECONDS_OF_A_FILE_MAX && needed <= rest);
    (isTaken ? taken : left).push(test);
    if (isTaken) rest -= needed;
  }
  return { taken, left };
}

/** The time of each test file when it last ran here, as vitest stores it; empty before the first run. */
function readSeconds(): ReadonlyMap<string, number> {
  const shape = z.object({
    projects: z.record(z.string(), z.object({ files: z.record(z.string(), z.object({ duration: z.number() })) })),
  });
  const kept = globSync('node_modules/.vite/vitest/*/results.json', { cwd: root }).flatMap((file) => {
    const parsed = shape.safeParse(JSON.parse(readFileSync(path.join(root, file), 'utf8')));
    return parsed.success ? Object.values(parsed.data.projects) : [];
  });
  return new Map(
    kept.flatMap((project) =>
      Object.entries(project.files).map(([file, { duration }]) => [file, duration / 1000] as const),
    ),
  );
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
