/** The whole product in this process on a real database, asked over HTTP: for tests of the REST interface. */
import { afterFile } from './after-file.ts';
import { openDatabase } from '../../src/db/database.ts';
import { writeSettings, type SettingsChange } from '../../src/domain/installation/change-settings.ts';
import { silentLog } from '../../src/lib/log.ts';
import { openRestApp, type RestApp } from './open-rest-app.ts';
import { createTestDatabase } from './test-database.ts';

export type { RestAnswer, RestApp, RestRequest, RestTenant } from './open-rest-app.ts';

/** Starts it with the settings given, of the environment and in the database; it ends after the file's last test. */
export async function startRestApp(
  settings: Readonly<Record<string, string>> = {},
  inDatabase: SettingsChange = {},
): Promise<RestApp> {
  const { url } = await createTestDatabase();
  if (Object.keys(inDatabase).length > 0) await presetSettings(url, inDatabase);
  const app = await openRestApp(url, settings);
  afterFile(() => app.stop());
  return app;
}

/** Before the start: what runs from its first moment with them. */
async function presetSettings(url: string, settings: SettingsChange): Promise<void> {
  const database = openDatabase({ url, poolSize: 1, log: silentLog, applicationName: 'mailwright-test' });
  await database.transaction((tx) => writeSettings(tx, settings));
  await database.close();
}
