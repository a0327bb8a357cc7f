/** Drift between the migrations and the schema is seen, and what Prisma does not model is not taken for drift. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, inject, test } from 'vitest';
import { findMissingSql } from '../../scripts/schema-engine.ts';
import { readMigrations, type Migration } from '../../src/db/migrate.ts';
import { administer } from '../support/test-server.ts';

const prisma = path.resolve(import.meta.dirname, '../../prisma');
const url = inject('testServerUrl');

function difference(content: string, scripts: readonly string[]): Promise<string> {
  const migrations = scripts.map((script, index): Migration => ({ name: `2026010100000${index}_sample`, script }));
  const schema = { path: 'prisma/schema.prisma', content: `datasource db {\n  provider = "postgresql"\n}\n${content}` };
  return findMissingSql({ url, schema, migrations });
}

const table = 'CREATE TABLE "Person" ("id" SERIAL NOT NULL, CONSTRAINT "Person_pkey" PRIMARY KEY ("id"));';
const model = 'model Person {\n  id Int @id @default(autoincrement())\n}';

test('the migrations of the project lead to its schema', async () => {
  const schema = { path: 'prisma/schema.prisma', content: await readFile(path.join(prisma, 'schema.prisma'), 'utf8') };
  const migrations = await readMigrations(path.join(prisma, 'migrations'));
  expect(await findMissingSql({ url, schema, migrations })).toBe('');
});

test('a field without a migration is told as the SQL that would make it', async () => {
  expect(await difference(model.replace('\n}', '\n  name String?\n}'), [table])).toContain(
    'ALTER TABLE "Person" ADD COLUMN',
  );
});

test('a column that the schema does not know is drift too', async () => {
  expect(await difference(model, [table, 'ALTER TABLE "Person" ADD COLUMN "age" int;'])).toContain('DROP COLUMN "age"');
});

test('another schema, its functions and partitions are no drift', async () => {
  const hot = `CREATE SCHEMA hot; CREATE TABLE hot.event (at date) PARTITION BY RANGE (at);
    CREATE FUNCTION hot.nothing() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; PERFORM 2; END $$;`;
  expect(await difference(model, [table, hot])).toBe('');
});

test('a migration that fails is an error, and no shadow database stays behind', async () => {
  await expect(difference(model, ['CREATE TABLE broken (;'])).rejects.toThrow(/syntax error/);
  await expect(
    administer(url, `DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM pg_database WHERE datname LIKE 'shadow_%'); END $$`),
  ).resolves.toBeUndefined();
});
