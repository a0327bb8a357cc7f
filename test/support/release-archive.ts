/** The tree of this program as a release: with a version of its own, and further migrations. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { tarOf, type Packed } from './archives.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

interface Release {
  readonly version: string;
  readonly migrations: Readonly<Record<string, string>>;
  /** In place of files of the tree. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Packs what a program needs to run. */
export function packRelease({ version, migrations, files = {} }: Release): Buffer {
  const listed = execFileSync(
    'git',
    ['ls-files', '-co', '--exclude-standard', 'src', 'scripts', 'prisma', 'plugins', '*.json'],
    {
      ...{ cwd: ROOT, encoding: 'utf8', maxBuffer: 10_000_000 },
    },
  );
  const names = listed
    .trim()
    .split('\n')
    .filter((name) => !name.startsWith('test/'));
  const entries: Packed[] = names.map((name) => ({ name, content: files[name] ?? contentOf(name, version) }));
  for (const [name, sql] of Object.entries(migrations))
    entries.push({ name: `prisma/migrations/${name}/migration.sql`, content: sql });
  return zlib.gzipSync(tarOf(entries), { level: 1 });
}

function contentOf(name: string, version: string): Buffer | string {
  const content = readFileSync(path.join(ROOT, name));
  if (name !== 'package.json' && name !== 'package-lock.json') return content;
  return content.toString('utf8').replaceAll(/("name": "mailwright",\s*"version": ")[^"]*/g, `$1${version}`);
}
