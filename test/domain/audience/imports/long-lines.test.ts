/** F12: an import of lines that are made to hurt. */
import { expect, test } from 'vitest';
import { runListImport } from '../../../../src/domain/audience/imports/run-list-import.ts';
import { findOwnedImport } from '../../../../src/domain/audience/imports/find-owned-import.ts';
import { rejectionsOf, uploadFile } from '../../../support/import-file.ts';
import { createTenant, newList } from '../../../support/tenant.ts';
import { createTestContext } from '../../../support/test-context.ts';
test('a line far too long is rejected once, whatever stands in it, and the lines beside it are taken', async () => {
  const ctx = await createTenant(await createTestContext());
  const list = await newList(ctx);
  const bomb = `c@example.com,C,${'x'.repeat(1_200_000)}\x20`.repeat(3);
  const lines = [
    'email,first name',
    'a@example.com,A',
    bomb,
    'b@example.com,B',
    'x'.repeat(1_200_000),
    'd@example.com,D',
  ];
  const queued = await uploadFile(ctx, list, `${lines.join('\n')}\n`);
  expect(await runListImport(ctx, queued, new AbortController().signal)).toBe('done');
  expect(await findOwnedImport(ctx, queued.uid)).toMatchObject({ status: 'done', processed: 5, added: 3, rejected: 2 });
  expect(Object.keys(await rejectionsOf(ctx, queued))).toEqual(['3', '5']);
});
