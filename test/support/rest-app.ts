/** The whole product in this process on a real database, asked over HTTP: for tests of the REST interface. */
import { afterFile } from './after-file.ts';
import { openRestApp, type RestApp } from './open-rest-app.ts';
import { createTestDatabase } from './test-database.ts';

export type { RestAnswer, RestApp, RestRequest, RestTenant } from './open-rest-app.ts';

/** Starts it with the settings given; it ends after the file's last test. */
export async function startRestApp(settings: Readonly<Record<string, string>> = {}): Promise<RestApp> {
  const { url } = await createTestDatabase();
  const app = await openRestApp(url, settings);
  afterFile(() => app.stop());
  return app;
}
