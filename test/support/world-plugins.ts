/** The plugins of the worlds in which rows and mutations are played. */
import { existsSync } from 'node:fs';
import { sql } from '../../src/db/database.ts';
import { activatePlugin } from '../../src/domain/plugins/activate-plugin.ts';
import { discoverPlugins } from '../../src/domain/plugins/discover-plugins.ts';
import { NO_RIGHTS } from '../../src/plugin-api/index.ts';
import { newUid } from '../../src/lib/ids.ts';
import { pluginArchive, sha256Of } from './plugin-archive.ts';
import { folderOf, writePlugin } from './plugin-folder.ts';
import type { RestApp } from './rest-app.ts';

export const WORLDS_PLUGIN = 'acme/hello';
export const PLUGIN_WITH_SETTINGS = 'world/greeter';
/** Customers may switch it on. It has no folder, so nothing of it runs. */
export const OFFERED_PLUGIN = 'world/helper';
const OFFERED_RIGHTS = { ...NO_RIGHTS, scopes: ['lists:read'] };

/** The plugin of an installation's worlds: found again if it was deleted, and inactive. */
export async function addPlugin(app: RestApp): Promise<void> {
  const dataDir = app.ctx.installation.machine?.dataDir ?? '';
  if (!existsSync(folderOf(dataDir, WORLDS_PLUGIN))) {
    writePlugin(dataDir, WORLDS_PLUGIN);
    await discoverPlugins(app.ctx);
  }
  await addPluginWithSettings(app, dataDir);
  const [vendor, name] = OFFERED_PLUGIN.split('/');
  await app.ctx.db.execute(sql`
    INSERT INTO plugin (vendor, name, version, title, status, is_bundled, granted)
    VALUES (${vendor}, ${name}, '1.0.0', 'Helper', 'active', false, ${JSON.stringify(OFFERED_RIGHTS)}::jsonb)
    ON CONFLICT DO NOTHING`);
  await app.ctx.db.execute(
    sql`UPDATE plugin SET status = 'inactive', first_activated_at = NULL WHERE vendor = 'acme' AND first_activated_at IS NOT NULL`,
  );
}

/** A former version of that plugin, and an upload. */
export async function addPackages({ ctx: { db } }: RestApp): Promise<string> {
  const [vendor, name] = WORLDS_PLUGIN.split('/');
  const archive = pluginArchive(WORLDS_PLUGIN, { version: '0.9.0' });
  await db.execute(
    sql`DELETE FROM plugin_package WHERE vendor = ${vendor} OR (state = 'uploading' AND id < (SELECT max(id) FROM plugin_package WHERE state = 'uploading'))`,
  );
  await db.execute(sql`DELETE FROM plugin WHERE vendor = ${vendor} AND name = 'installed'`);
  await db.execute(sql`
    WITH k AS (INSERT INTO plugin_package (uid, state, vendor, name, version, digest, place)
               VALUES (${newUid()}, 'ready', ${vendor}, ${name}, '0.9.0', ${sha256Of(archive)}, 'former') RETURNING id)
    INSERT INTO plugin_package_piece (package_id, no, bytes) SELECT id, 0, ${archive} FROM k`);
  const uid = newUid();
  await db.execute(sql`INSERT INTO plugin_package (uid, state) VALUES (${uid}, 'uploading')`);
  return uid;
}

/** One that is active, with a form for settings. */
async function addPluginWithSettings(app: RestApp, dataDir: string): Promise<void> {
  if (existsSync(folderOf(dataDir, PLUGIN_WITH_SETTINGS))) return;
  const settings = `[{ key: 'greeting', type: 'text', label: 'Greeting', default: 'Hello' }]`;
  writePlugin(dataDir, PLUGIN_WITH_SETTINGS, {
    rights: { customers: 'all', hooks: ['settings_form'] },
    code: `export const plugin = {
      name: '${PLUGIN_WITH_SETTINGS}',
      boot: (hooks) => hooks.add('settings_form', { for: 'customer', settings: ${settings} }),
    };`,
  });
  await discoverPlugins(app.ctx);
  const [vendor = '', name = ''] = PLUGIN_WITH_SETTINGS.split('/');
  await activatePlugin(app.ctx, { vendor, name, forAllCustomers: true });
}
