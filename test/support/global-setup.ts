/**
 * Once per test run: a PostgreSQL (a scratch one, or the server of TEST_DATABASE_URL) with one migrated template
 * database that every test file clones.
 */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { runMigrations } from 'graphile-worker';
import type { TestProject } from 'vitest/node';
import { startScratchPostgres } from '../../scripts/scratch-postgres.ts';
import { migrate, readMigrations } from '../../src/db/migrate.ts';
import { createLog } from '../../src/lib/log.ts';
import { administer, databaseUrl } from './test-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A maintenance address: may create and drop databases. */
    testServerUrl: string;
    /** The migrated database to clone. */
    testTemplate: string;
  }
}

const MIGRATIONS = path.resolve(import.meta.dirname, '../../prisma/migrations');
const log = createLog({ level: 'warn', format: 'pretty' });

/** Called by vitest; what it answers runs after the last test. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await findServer();
  const template = `mailwright_template_${randomBytes(5).toString('hex')}`;
  try {
    await createTemplate(server.url, template);
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide('testServerUrl', server.url);
  project.provide('testTemplate', template);
  return async () => {
    await administer(server.url, `DROP DATABASE IF EXISTS ${template} WITH (FORCE)`);
    await server.stop();
  };
}

/** An ordinary server is used as it is: only databases of our own names are made and dropped on it. */
async function findServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const url = process.env['TEST_DATABASE_URL'];
  return url ? { url, stop: async () => undefined } : startScratchPostgres();
}

async function createTemplate(serverUrl: string, name: string): Promise<void> {
  await administer(serverUrl, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`);
  const url = databaseUrl(serverUrl, name);
  const afterwards = () => runMigrations({ connectionString: url });
  await migrate({ url, migrations: await readMigrations(MIGRATIONS), log, afterwards });
}
