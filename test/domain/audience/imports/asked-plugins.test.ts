/** The FILTER import_row: plugins change and refuse lines of an import, and what they do wrong changes nothing. */
import { afterEach, expect, test } from 'vitest';
import type { FilterCallback, ImportedRow } from '../../../../src/plugin-api/index.ts';
import { fc } from '../../../support/property.ts';
import { importFile, peopleOf, rejectionsOf } from '../../../support/import-file.ts';
import { createTenant, newList } from '../../../support/tenant.ts';
import { createTestContext } from '../../../support/test-context.ts';
import { withHooks } from '../../../support/with-hooks.ts';

const root = await createTestContext();
const ctx = await createTenant(root);

const live: string[] = [];
afterEach(() => live.splice(0).forEach((name) => root.hooks.remove(name)));

function plugin(name: string, callback: FilterCallback<'import_row'>): void {
  live.push(withHooks(root.hooks, { name, boot: (on) => on.modify('import_row', callback) }));
}

/** Returns what a plugin may not. */
const wrong = (make: (row: ImportedRow) => unknown) => make as FilterCallback<'import_row'>;

const FILE =
  'email,first_name,status\nANN@a.example,ann,\nbob@a.example,bob,subscribed\ncy@a.example,cy,unsubscribed\n';

test('changes values, also of fields that the file does not have, and refuses lines with a reason', async () => {
  const list = await newList(ctx);
  const seen: ImportedRow[] = [];
  plugin('acme/names', (row) => {
    seen.push(row);
    const { FIRST_NAME = '' } = row.values;
    return {
      ...row,
      values: { ...row.values, FIRST_NAME: FIRST_NAME.toUpperCase(), LAST_NAME: '=Smith', TAGS: 'acme' },
    };
  });
  plugin('acme/refuse', (row) =>
    row.values['EMAIL'] === 'bob@a.example' ? { ...row, refuse: { reason: 'Bob is a robot.' } } : row,
  );
  const done = await importFile(ctx, list, FILE);
  expect(done).toMatchObject({ status: 'done', processed: 3, added: 2, rejected: 1 });
  const people = await peopleOf(ctx, list);
  expect(people.get('ANN@a.example')).toMatchObject({
    ...{ status: 'subscribed', tags: ['acme'], fields: { FIRST_NAME: 'ANN', LAST_NAME: '=Smith' } },
  });
  expect(await rejectionsOf(ctx, done)).toEqual({ 3: 'the plugin acme/refuse refuses it: Bob is a robot.' });
  // An opt-out is obeyed, whatever a plugin would say: it is not asked.
  expect(people.get('cy@a.example')).toMatchObject({ status: 'unsubscribed', fields: { FIRST_NAME: 'cy' } });
  expect(seen.map(({ line }) => line)).toEqual([2, 3]);
  expect(seen[0]).toMatchObject({
    ...{ listUid: list.uid, importUid: done.uid, refuse: null },
    values: { EMAIL: 'ANN@a.example', FIRST_NAME: 'ann', STATUS: '' },
  });
  expect(Object.isFrozen(seen[0]?.values)).toBe(true);
});

test('the checks of the product come after the plugins', async () => {
  const list = await newList(ctx);
  plugin('acme/breaks', (row) => ({ ...row, values: { ...row.values, EMAIL: 'no address' } }));
  const done = await importFile(ctx, list, 'email\nann@a.example\n');
  expect(await rejectionsOf(ctx, done)).toEqual({ 2: '“no address” is not a valid email address' });
});

test('a faulty plugin is counted, and the line is imported as it was before it', async () => {
  const list = await newList(ctx);
  plugin('acme/a-last', (row) => ({ ...row, values: { ...row.values, LAST_NAME: 'Kept' } }));
  plugin('acme/b-throws', () => {
    throw new Error('Its own fault.');
  });
  plugin('acme/c-tag', (row) => ({ ...row, values: { ...row.values, NO_FIELD: 'x' } }));
  plugin(
    'acme/d-number',
    wrong((row) => ({ ...row, values: { EMAIL: 7 } })),
  );
  plugin('acme/e-reason', (row) => ({ ...row, refuse: { reason: 'x'.repeat(201) } }));
  plugin(
    'acme/f-nothing',
    wrong(() => null),
  );
  plugin('acme/g-writes', (row) => Object.assign(row, { values: {} }));
  root.hooks.faults.take();
  expect(await importFile(ctx, list, FILE)).toMatchObject({ added: 3, rejected: 0 });
  const faults = root.hooks.faults.take().map(({ plugin: name, failed }) => [name, failed]);
  const names = ['b-throws', 'c-tag', 'd-number', 'e-reason', 'f-nothing', 'g-writes'];
  expect(new Map(faults.map(([name, failed]) => [name, failed]))).toEqual(
    new Map(names.map((name) => [`acme/${name}`, 2])),
  );
  const people = await peopleOf(ctx, list);
  expect(people.get('bob@a.example')?.fields).toEqual({ FIRST_NAME: 'bob', LAST_NAME: 'Kept' });
});

test('a plugin that returns each line as new changes nothing of what a file says', async () => {
  const cell = fc.constantFrom('', "'", "'=1", '=1', '-', ' x ', 'é', 'a;b', "''+2", '\t');
  const imported = async (file: string) => {
    const list = await newList(ctx);
    const report = await rejectionsOf(ctx, await importFile(ctx, list, file));
    const people = [...(await peopleOf(ctx, list)).values()];
    return { report, people: people.map(({ email, status, fields, tags }) => ({ email, status, fields, tags })) };
  };
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 12 }), async (rows) => {
      const lines = rows.map(([first, tags], no) => `"p${no}@a.example","${first}","${tags}"`);
      const file = `email,first_name,tags\n${lines.join('\n')}\n`;
      const plain = await imported(file);
      plugin('acme/same', (row) => ({ ...row, values: { ...row.values } }));
      expect(await imported(file)).toEqual(plain);
      root.hooks.remove(live.pop() ?? '');
    }),
    { numRuns: 8 },
  );
});
