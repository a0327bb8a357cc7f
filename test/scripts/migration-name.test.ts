/** A new migration is named behind all others, whatever the clock says. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { migrationName } from '../../scripts/support/migration-name.ts';

const now = new Date('2026-11-23T08:30:05Z');

test.each([
  [['20261122000000_a', '20261123083004_b'], '20261123083005_next'],
  [['20261216000001_later', '20261122000000_a', 'migration_lock.toml'], '20261216000002_next'],
  [['20261123083005_same'], '20261123083006_next'],
  [[], '20261123083005_next'],
])('behind %j it is %s', (existing, name) => {
  expect(migrationName('next', { existing, now })).toBe(name);
});

test('behind those of this project', async () => {
  const existing = (await readdir(path.resolve(import.meta.dirname, '../../prisma/migrations'))).filter((name) =>
    /^\d/.test(name),
  );
  const next = migrationName('zzz', { existing, now: new Date('2020-01-01T00:00:00Z') });
  expect([...existing, next].toSorted().at(-1)).toBe(next);
});
