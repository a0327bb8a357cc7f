/** The tree of this program as a release, made as `npm run release` makes it: with a version of its own, and further migrations. */
import path from 'node:path';
import { releaseFiles } from '../../scripts/release/release-files.ts';
import { tarGz, type TarFile } from '../../scripts/support/tar-gz.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

interface Release {
  readonly version: string;
  readonly migrations: Readonly<Record<string, string>>;
  /** In place of files of the tree. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Packed fast, and not small. */
export function packRelease({ version, migrations, files = {} }: Release): Buffer {
  const added = Object.entries(migrations).map(([name, sql]) => ({
    name: `prisma/migrations/${name}/migration.sql`,
    content: Buffer.from(sql),
  }));
  const tree = releaseFiles(ROOT).map(({ name, content }) => ({ name, content: contentOf(name, content) }));
  return tarGz([...tree, ...added], { level: 1 });

  function contentOf(name: string, content: Uint8Array): Uint8Array {
    const text = files[name];
    if (text !== undefined) return Buffer.from(text);
    return name === 'package.json' || name === 'package-lock.json' ? withVersion(content, version) : content;
  }
}

function withVersion(content: Uint8Array, version: string): TarFile['content'] {
  const text = Buffer.from(content).toString('utf8');
  return Buffer.from(text.replaceAll(/("name": "mailwright",\s*"version": ")[^"]*/g, `$1${version}`));
}
