/** A start with a user that lacks rights names the statements that give them, and they suffice. */
import { randomBytes } from 'node:crypto';
import { expect, inject, it } from 'vitest';
import { openMigratedDatabase } from '../../src/app/open-database.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { messageOf } from '../../src/lib/errors.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { administer, databaseUrl } from '../support/test-server.ts';

const serverUrl = inject('testServerUrl');

/** A database and an ordinary user, which has no right there beyond those that everybody has. */
async function strangerTo(name: string): Promise<{ url: string; name: string }> {
  await administer(serverUrl, `CREATE DATABASE "${name}" TEMPLATE template0`);
  await administer(serverUrl, `CREATE ROLE "${name}" LOGIN PASSWORD 'word'`);
  afterFile(async () => {
    await administer(serverUrl, `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`);
    await administer(serverUrl, `DROP ROLE IF EXISTS "${name}"`);
  });
  const url = new URL(databaseUrl(serverUrl, name));
  [url.username, url.password] = [name, 'word'];
  return { url: url.href, name };
}

const newName = (): string => `Mailwright-rights ${randomBytes(5).toString('hex')}`;

async function start(url: string): Promise<string> {
  try {
    const { close } = await openMigratedDatabase(loadConfig({ DATABASE_URL: url, DATA_DIR: '/nowhere' }), silentLog);
    await close();
    return 'started';
  } catch (error) {
    return messageOf(error);
  }
}

it('names both grants that are missing, and starts after them', async () => {
  const { url, name } = await strangerTo(newName());
  const said = await start(url);
  expect(said).toContain('permission denied for schema public');
  const grants = said.match(/GRANT [^;]+;/g) ?? [];
  expect(grants).toEqual([
    `GRANT CREATE ON DATABASE "${name}" TO "${name}";`,
    `GRANT USAGE, CREATE ON SCHEMA public TO "${name}";`,
  ]);
  await administer(databaseUrl(serverUrl, name), String(grants[1]));
  expect((await start(url)).match(/GRANT [^;]+;/g)).toEqual([grants[0]]);
  await administer(databaseUrl(serverUrl, name), String(grants[0]));
  expect(await start(url)).toBe('started');
});

it('starts as well after the other statement, which makes the user the owner', async () => {
  const { url, name } = await strangerTo(newName());
  const [statement] = (await start(url)).match(/ALTER DATABASE [^;]+;/) ?? [];
  await administer(databaseUrl(serverUrl, name), String(statement));
  expect(await start(url)).toBe('started');
});

it('names the grant for a user that may not even connect', async () => {
  const { url, name } = await strangerTo(newName());
  await administer(serverUrl, `REVOKE CONNECT ON DATABASE "${name}" FROM PUBLIC`);
  const [grant] = (await start(url)).match(/GRANT [^;]+;/) ?? [];
  expect(grant).toBe(`GRANT CONNECT ON DATABASE "${name}" TO "${name}";`);
  await administer(serverUrl, String(grant));
  expect(await start(url)).toContain('GRANT CREATE ON DATABASE');
});

it('says whose tables a dump was loaded as', async () => {
  const { url, name } = await strangerTo(newName());
  const owner = new URL(databaseUrl(serverUrl, name)).href;
  expect(await start(owner)).toBe('started');
  expect(await start(url)).toContain(`belong to the user "${new URL(serverUrl).username}"`);
});
