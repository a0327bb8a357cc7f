/** Loading the rows of one table of a backup. */
import { from as copyFrom } from 'pg-copy-streams';
import type { DatabaseClient } from '../../src/db/client.ts';
import { linesIn, type BackupTable } from './backup-file.ts';
import { quoted, quotedColumns } from './catalog.ts';

export interface TableCopy {
  readonly name: string;
  rows(): number;
  write(bytes: Buffer): Promise<void>;
  end(): Promise<void>;
}

/** `tables` are those that are there. Throws a sentence when the backup's table is another. */
export function openCopy(client: DatabaseClient, table: BackupTable, tables: readonly BackupTable[]): TableCopy {
  requireTable(tables, table);
  const stream = client.query(copyFrom(`COPY ${quoted(table)} (${quotedColumns(table)}) FROM STDIN`));
  const ended = new Promise<void>((resolve, reject) => {
    stream.once('finish', resolve);
    stream.once('error', reject);
  });
  ended.catch(() => undefined);
  let rows = 0;
  return {
    name: `${table.schema}.${table.name}`,
    rows: () => rows,
    async write(bytes) {
      rows += linesIn(bytes);
      if (!stream.write(bytes)) await Promise.race([ended, new Promise((resolve) => stream.once('drain', resolve))]);
    },
    async end() {
      stream.end();
      await ended;
    },
  };
}

function requireTable(tables: readonly BackupTable[], table: BackupTable): void {
  const found = tables.find((it) => quoted(it) === quoted(table));
  const differing = table.columns.find((column) => !found?.columns.includes(column));
  if (found && differing === undefined) return;
  const missing = found ? `column ${String(differing)} in ${quoted(table)}` : `table ${quoted(table)}`;
  throw new Error(
    `The backup has a ${missing}, which this version does not have. Restore it with the version it names.`,
  );
}
