/**
 * Fails when a package that an installation gets has a licence that does not allow free use and distribution. Reads the lock file
 * for what is installed without development tools, and the packages for their licences.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

const root = path.resolve(import.meta.dirname, '..');

/** SPDX identifiers of licences that only ask for a notice. */
const PERMISSIVE = new Set([
  ...['MIT', 'MIT-0', 'Apache-2.0', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0'],
  ...['Unlicense', 'CC0-1.0', 'Python-2.0', 'Zlib', 'PostgreSQL', 'Artistic-2.0', 'WTFPL'],
]);

/** Packages that may stay although their licence is not in the list, each with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  elkjs: 'EPL-2.0, unchanged and replaceable: comes with the studio of the Prisma command line, which we never start',
  nub: 'MIT, written MIT/X11; comes with the table of currencies',
  'seq-queue': 'MIT by its LICENSE file, which its manifest does not repeat; comes with the Prisma command line',
  '@visx/vendor': 'MIT and ISC, written as prose instead of as an expression; comes with the Prisma command line',
};

const lockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({ version: z.string().optional(), dev: z.boolean().optional(), license: z.string().optional() }),
  ),
});

const { packages } = lockFile.parse(JSON.parse(await readFile(path.join(root, 'package-lock.json'), 'utf8')));
const shipped = Object.entries(packages).filter(([folder, { dev }]) => folder !== '' && dev !== true);
const counts = new Map<string, number>();
const faults: string[] = [];
let exceptions = 0;
for (const [folder, { version, license }] of shipped) {
  const name = folder.split('node_modules/').at(-1) ?? folder;
  const stated = license ?? (await licenseOf(folder)) ?? 'none stated';
  counts.set(stated, (counts.get(stated) ?? 0) + 1);
  if (isPermissive(stated)) continue;
  const reason = EXCEPTIONS[name];
  if (reason !== undefined) {
    exceptions += 1;
    console.log(`Exception: ${name}. ${reason}.`);
  } else faults.push(`${name}@${version}: ${stated}`);
}
for (const [license, count] of [...counts].sort((a, b) => b[1] - a[1]))
  console.log(`${String(count).padStart(5)}  ${license}`);
if (faults.length > 0) {
  console.error(
    `\nNot permissive; replace the package, or add it to EXCEPTIONS in ${import.meta.filename} with the reason:`,
  );
  for (const fault of faults) console.error(`  ${fault}`);
  process.exitCode = 1;
} else {
  const permissive = shipped.length - exceptions;
  console.log(
    `\n${permissive} of ${shipped.length} packages of an installation have permissive licences, ${exceptions} are exceptions.`,
  );
}

/** An expression is permissive when one side of OR, or every side of AND, is. */
function isPermissive(expression: string): boolean {
  const choices = expression.replaceAll(/[()]/g, '').split(' OR ');
  return choices.some((choice) => choice.split(' AND ').every((part) => PERMISSIVE.has(part.trim())));
}

/** Older packages state it only in their own file, some as an object or a list. */
async function licenseOf(folder: string): Promise<string | undefined> {
  const text = await readFile(path.join(root, folder, 'package.json'), 'utf8').catch(() => '{}');
  const old = z.object({ type: z.string() });
  const manifest = z.object({ license: z.union([z.string(), old]).optional(), licenses: z.array(old).optional() });
  const { license, licenses } = manifest.parse(JSON.parse(text));
  if (typeof license === 'string') return license;
  return license?.type ?? licenses?.map(({ type }) => type).join(' OR ');
}
