/** `npm run backup` and `npm run restore` of an installation with plugins: their tables, logins, packages and folders. */
import { cpSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql, type Database } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { folderOf, newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startProgram, type Program } from '../support/program.ts';
import { runScript, type RanScript } from '../support/run-script.ts';
import { createEmptyDatabase } from '../support/test-database.ts';
import { testInstallation } from '../support/test-context.ts';

const ROLES = { ROLES: 'web,worker', DB_POOL_SIZE: '8' };

/** All that a plugin can make: keys, sequences, triggers, a view with contents, parts of a table. Its script also writes a row. */
const MIGRATIONS = {
  '1_a.sql': `
    CREATE TABLE acme_group (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL);
    INSERT INTO acme_group (name) VALUES ('of the script');
    CREATE TABLE acme_note (id serial PRIMARY KEY, group_id bigint NOT NULL REFERENCES acme_group, text text, changes int NOT NULL DEFAULT 0);
    CREATE SEQUENCE acme_ticket;
    CREATE FUNCTION acme_count() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.changes := NEW.changes + 1; RETURN NEW; END $$;
    CREATE TRIGGER acme_counted BEFORE INSERT OR UPDATE ON acme_note FOR EACH ROW EXECUTE FUNCTION acme_count();`,
  '2_b.sql': `
    CREATE TABLE acme_day (day date NOT NULL, number int) PARTITION BY RANGE (day);
    CREATE TABLE acme_day_2026 PARTITION OF acme_day FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
    CREATE MATERIALIZED VIEW acme_sum AS SELECT coalesce(sum(number), 0) AS total FROM acme_day;`,
};

/** A route that runs what the test asks for by the plugin's own login. */
const code = (name: string): string => `
  export const plugin = {
    name: 'acme/${name}',
    boot(hooks, { database }) {
      hooks.add('route', { method: 'POST', path: '/sql', auth: 'public', async handle({ body }) {
        return { json: await database.query(Buffer.from(body).toString()).then(({ rows }) => rows, (error) => error.message) };
      } });
    },
  };`;

async function sqlOf(program: Program, plugin: string, statement: string): Promise<unknown> {
  const answer = await fetch(`${program.baseUrl}/plugins/${plugin}/sql`, { method: 'POST', body: statement });
  return answer.json();
}

async function onDatabase<T>(url: string, act: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase({ url, poolSize: 1, log: silentLog, applicationName: 'of-the-test' });
  return act(database).finally(() => database.close());
}

const rowsOf = (url: string) =>
  onDatabase(url, async (database) => ({
    groups: await queryRows(database, sql`SELECT id, name FROM acme_group ORDER BY id`),
    notes: await queryRows(database, sql`SELECT id, group_id, text, changes FROM acme_note ORDER BY id`),
    days: await queryRows(database, sql`SELECT day, number FROM acme_day ORDER BY day`),
    total: await queryRows(database, sql`SELECT total FROM acme_sum`),
  }));

const scripts = (dataDir: string, url: string): Record<string, string> => ({
  DATA_DIR: dataDir,
  APP_SECRET: testInstallation.secret,
  DATABASE_URL: url,
});

async function ran(script: string, words: readonly string[], settings: Record<string, string>): Promise<RanScript> {
  const done = await runScript(script, words, settings);
  expect(done, done.text).toMatchObject({ code: 0 });
  return done;
}

test('tables of plugins are in a backup, and belong to their logins again after the next start', async () => {
  const dataDir = newDataDir();
  const { url } = await createEmptyDatabase();
  writePlugin(dataDir, 'acme/kept', { migrations: MIGRATIONS, code: code('kept') });
  writePlugin(dataDir, 'acme/left', {
    migrations: { '1_a.sql': 'CREATE TABLE acme_left (id int);' },
    code: code('left'),
  });
  const program = await startProgram({ ...ROLES, DATABASE_URL: url, DATA_DIR: dataDir });
  for (const plugin of ['acme/kept', 'acme/left'])
    expect(await pluginClient(program).activate(plugin)).toMatchObject({ status: 'ACTIVE', isLive: true });
  await sqlOf(program, 'acme/kept', `INSERT INTO acme_note (group_id, text) VALUES (1, 'a\tb\\'), (1, NULL)`);
  await sqlOf(program, 'acme/kept', `INSERT INTO acme_day VALUES ('2026-03-01', 40), ('2026-04-01', 2)`);
  await sqlOf(program, 'acme/kept', `SELECT nextval('acme_ticket'), nextval('acme_ticket')`);
  await sqlOf(program, 'acme/kept', `DELETE FROM acme_group WHERE name = 'nobody'`);
  // Its script makes another table than this one now, so its rows do not fit.
  await sqlOf(program, 'acme/left', 'ALTER TABLE acme_left ADD COLUMN later int');
  await onDatabase(url, (database) => database.execute(sql`REFRESH MATERIALIZED VIEW acme_sum`));
  const before = await rowsOf(url);
  expect(before).toMatchObject({
    notes: [
      { id: 1, text: 'a\tb\\', changes: 1 },
      { id: 2, text: null },
    ],
  });
  const file = path.join(dataDir, 'copy.backup');
  await ran('backup', [file], scripts(dataDir, url));
  await program.stop();

  const elsewhere = newDataDir();
  const { url: target } = await createEmptyDatabase();
  const restored = await ran('restore', [file], scripts(elsewhere, target));
  expect(restored.text).toContain('The tables of the plugin acme/left were not restored, and it is inactive');
  expect(restored.text).toContain(`column later in "public"."acme_left"`);
  expect(restored.text).toContain(`copy plugins/acme/kept of the old DATA_DIR to ${folderOf(elsewhere, 'acme/kept')}`);
  expect(restored.text).not.toContain('copy plugins/acme/left');
  expect(await rowsOf(target)).toEqual(before);

  cpSync(path.join(dataDir, 'plugins'), path.join(elsewhere, 'plugins'), { recursive: true });
  // Two processes at once: both find that the login is missing.
  const settings = { ...ROLES, DATABASE_URL: target, DATA_DIR: elsewhere };
  const [next, other] = await Promise.all([startProgram(settings), startProgram(settings)]);
  expect(await pluginClient(next).plugin('acme/kept')).toMatchObject({ status: 'ACTIVE', isLive: true, fault: null });
  expect(await pluginClient(next).plugin('acme/left')).toMatchObject({
    status: 'INACTIVE',
    error: expect.stringContaining('Its tables were not restored'),
  });
  expect(
    await sqlOf(next, 'acme/kept', `INSERT INTO acme_note (group_id, text) VALUES (1, 'new') RETURNING id, changes`),
  ).toEqual([{ id: 3, changes: 1 }]);
  expect(await sqlOf(other, 'acme/kept', `SELECT nextval('acme_ticket')::int AS ticket`)).toEqual([{ ticket: 3 }]);
  expect(await sqlOf(next, 'acme/kept', `INSERT INTO acme_note (group_id) VALUES (77)`)).toContain('foreign key');
  // What was left out is made again, and a second version of the tables has no trace of the first.
  expect(await pluginClient(next).activate('acme/left')).toMatchObject({ status: 'ACTIVE', isLive: true });
  expect(await sqlOf(next, 'acme/left', 'SELECT count(*)::int AS count FROM acme_left')).toEqual([{ count: 0 }]);
  expect(await pluginClient(next).deactivate('acme/kept')).toMatchObject({ status: 'INACTIVE' });
  await pluginClient(next).remove('acme/kept', { keepData: false });
  await Promise.all([next.stop(), other.stop()]);
  await onDatabase(target, async (database) =>
    expect(
      await queryRows(database, sql`SELECT relname FROM pg_class WHERE relname LIKE 'acme\\_%' ORDER BY 1`),
    ).toEqual([{ relname: 'acme_left' }]),
  );

  // Over the installation of now, whose tables have rows of another time.
  await ran('restore', [file, '--yes'], scripts(elsewhere, target));
  expect(await rowsOf(target)).toEqual(before);
});
