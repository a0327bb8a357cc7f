/** What `plugin -- new` says about a vendor's prefix is what an activation says: compared with the catalog of a migrated database. */
import { expect, test } from 'vitest';
import { takenPrefix } from '../../scripts/plugin/taken-prefix.ts';
import { readCatalog } from '../../src/domain/plugins/catalog-read-model.ts';
import { createTestContext } from '../support/test-context.ts';

test('each beginning of a name of the product is taken, and others are free', async () => {
  const { db } = await createTestContext();
  const names = (await readCatalog(db)).flatMap(({ name, ownerKey }) => (name && ownerKey === null ? [name] : []));
  const beginnings = new Set(names.flatMap((name) => /^([a-z][a-z0-9]*)_/.exec(name)?.[1] ?? []));
  expect(beginnings.size).toBeGreaterThan(30);
  const free: string[] = [];
  for (const vendor of beginnings) if ((await takenPrefix(vendor)) === undefined) free.push(vendor);
  expect(free).toEqual([]);
  for (const vendor of ['acme', 'example', 'garden', 'mai']) expect(await takenPrefix(vendor)).toBeUndefined();
});
