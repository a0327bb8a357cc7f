/** The migrations of a plugin: `database/migrations/<no>_<name>.sql`, each with `<no>_<name>.down.sql` to take it back, if it has one. */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { PluginFolder } from './find-plugins.ts';

export interface MigrationFile {
  readonly no: number;
  readonly name: string;
  readonly upSql: string;
  readonly downSql: string | null;
}

const FOLDER = path.join('database', 'migrations');
const FILE = /^(\d{1,9})_([a-z0-9_]+?)(\.down)?\.sql$/;
const FILES_MAX = 1_000;
const BYTES_MAX = 1_000_000;

/** Those of the folder, by number. Throws an Error with a sentence. */
export async function readMigrations({ folder }: Pick<PluginFolder, 'folder'>): Promise<readonly MigrationFile[]> {
  const place = path.join(folder, FOLDER);
  const files = (await readdir(place).catch(() => [])).filter((file) => !file.startsWith('.')).sort();
  if (files.length > FILES_MAX) throw new Error(`It has more than ${FILES_MAX} migrations.`);
  for (const file of files) {
    if (!FILE.test(file))
      throw new Error(
        `${FOLDER}/${file} is no migration: they are named 0001_name.sql, or 0001_name.down.sql to take it back.`,
      );
  }
  const ups = files.filter((file) => !file.endsWith('.down.sql'));
  const alone = files.find((file) => file.endsWith('.down.sql') && !ups.includes(upOf(file)));
  if (alone !== undefined) throw new Error(`${FOLDER}/${alone} takes back a migration that is not there.`);
  const migrations: MigrationFile[] = [];
  for (const file of ups) {
    const down = file.replace(/\.sql$/, '.down.sql');
    migrations.push({
      ...{ no: Number.parseInt(file, 10), name: file, upSql: await readScript(place, file) },
      downSql: files.includes(down) ? await readScript(place, down) : null,
    });
  }
  migrations.sort((one, other) => one.no - other.no);
  const twice = migrations.find(({ no }, place_) => migrations[place_ + 1]?.no === no);
  if (twice) throw new Error(`Two of its migrations have the number ${twice.no}.`);
  return migrations;
}

function upOf(down: string): string {
  return down.replace(/\.down\.sql$/, '.sql');
}

async function readScript(folder: string, file: string): Promise<string> {
  const { size } = await stat(path.join(folder, file));
  if (size > BYTES_MAX) throw new Error(`The migration ${file} is over ${BYTES_MAX} bytes.`);
  return readFile(path.join(folder, file), 'utf8');
}
