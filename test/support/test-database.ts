/**
 * A database of its own for a test file: a clone of the migrated template, in about 25 ms. Use at the top of a file:
 * `const { url } = await createTestDatabase();`
 */
import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { afterFile } from './after-file.ts';
import { administer, databaseUrl } from './test-server.ts';

export interface TestDatabase {
  readonly name: string;
  readonly url: string;
}

/**
 * Clones the template and drops the clone after the file's last test: pools that a test file closes in hooks of its
 * own are closed before the database goes.
 */
export function createTestDatabase(): Promise<TestDatabase> {
  // Copying files beats the log-based copy, which writes every page through the write-ahead log.
  return create(`TEMPLATE ${inject('testTemplate')} STRATEGY file_copy`);
}

/** The same without any table: for tests of the migrations and of a first start. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return create(`TEMPLATE template0 ENCODING 'UTF8'`);
}

async function create(source: string): Promise<TestDatabase> {
  const serverUrl = inject('testServerUrl');
  const name = `mailwright_test_${randomBytes(6).toString('hex')}`;
  await administer(serverUrl, `CREATE DATABASE ${name} ${source}`);
  afterFile(() => administer(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  return { name, url: databaseUrl(serverUrl, name) };
}
