/** Plugins whose code is in no backup: their folders were put there by hand. Installed packages are in the database. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { DatabaseClient } from '../../src/db/client.ts';

/** A sentence for each active plugin whose folder must be copied to this data directory. */
export async function foldersAdvice(client: DatabaseClient, dataDir: string): Promise<string[]> {
  const { rows } = await client.query<{ plugin: string }>(
    `SELECT vendor || '/' || name AS plugin FROM plugin p
      WHERE status = 'active' AND NOT is_bundled
        AND NOT EXISTS (SELECT FROM plugin_package k WHERE k.vendor = p.vendor AND k.name = p.name AND k.place = 'current')
      ORDER BY 1`,
  );
  return rows
    .map(({ plugin }) => ({ plugin, folder: path.join(dataDir, 'plugins', plugin) }))
    .filter(({ folder }) => !existsSync(folder))
    .map(
      ({ plugin, folder }) =>
        `The plugin ${plugin} is active, but its folder is in no backup. Before the first start, copy plugins/${plugin} of the old DATA_DIR to ${folder}.`,
    );
}
