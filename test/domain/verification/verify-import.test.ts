/** The people that an import has added are verified when it ends, if its upload asks for it. */
import { beforeEach, describe, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { suppressionPage } from '../../../src/domain/audience/suppression-list.ts';
import { runListImport } from '../../../src/domain/audience/imports/run-list-import.ts';
import { findOwnedVerification } from '../../../src/domain/verification/find-owned-verification.ts';
import { startVerification, verifyImported } from '../../../src/domain/verification/start-verification.ts';
import { uploadFile } from '../../support/import-file.ts';
import { some, startVerificationWorld, usualAnswers } from '../../support/verification-world.ts';

const never = new AbortController().signal;
const { root, verifier, newOwner, addPeople, run, stateOf, jobsOf } = await startVerificationWorld();

beforeEach(() => {
  verifier.calls.length = 0;
  verifier.answer = usualAnswers;
});

describe('an import', () => {
  test('has the people verified that it has added, once, when it ends', async () => {
    const { ctx, list, server } = await newOwner();
    await addPeople(list, ['before@x.example', 'known@x.example']);
    const file = 'email\nada@x.example\nknown@x.example\ninfo@x.example\n';
    const queued = await uploadFile(ctx, list, file, { verify: true, verificationServer: server.uid });
    await addPeople(list, ['meanwhile@x.example']);
    await runListImport(ctx, queued, never);
    const jobs = await queryRows(
      root.db,
      sql`SELECT 1 FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id
           WHERE t.identifier = 'verifications.verify-import' AND j.payload ->> 'importId' = ${String(queued.id)}`,
    );
    expect(jobs).toHaveLength(1);
    await verifyImported(ctx, queued);
    await verifyImported(ctx, queued);
    const runs = await queryRows<{ uid: string }>(
      root.db,
      sql`SELECT uid FROM verification WHERE import_uid = ${queued.uid}`,
    );
    expect(runs).toHaveLength(1);
    const started = await findOwnedVerification(ctx, runs[0]?.uid ?? '');
    await run(ctx, started);
    expect(verifier.calls).toEqual([['ada@x.example', 'info@x.example']]);
    expect(await stateOf(started)).toMatchObject({ status: 'done', total: 2, processed: 2 });
  });

  test('has undeliverable addresses suppressed, if its upload asks for both', async () => {
    const { ctx, list } = await newOwner();
    const file = 'email\nada@x.example\ngone@x.example\n';
    const upload = uploadFile(ctx, list, file, { suppressUndeliverable: true });
    await expect(upload).rejects.toMatchObject({ fields: { undeliverable: [expect.stringContaining('verify')] } });
    const queued = await uploadFile(ctx, list, file, { verify: true, suppressUndeliverable: true });
    await runListImport(ctx, queued, never);
    await verifyImported(ctx, queued);
    const [row] = await queryRows<{ uid: string }>(
      root.db,
      sql`SELECT uid FROM verification WHERE import_uid = ${queued.uid}`,
    );
    const started = await findOwnedVerification(ctx, row?.uid ?? '');
    await run(ctx, started);
    expect(await stateOf(started)).toMatchObject({ status: 'done', processed: 2, suppressed: 1 });
    const { nodes } = await suppressionPage(ctx, {}, { offset: 0, limit: 10 });
    expect(nodes).toMatchObject([{ email: 'gone@x.example', reason: 'undeliverable' }]);
  });

  test('without the option verifies nobody', async () => {
    const { ctx, list } = await newOwner();
    const queued = await uploadFile(ctx, list, 'email\nada@x.example\n');
    await runListImport(ctx, queued, never);
    await verifyImported(ctx, queued);
    expect(await queryRows(root.db, sql`SELECT 1 FROM verification WHERE list_id = ${list.id}`)).toEqual([]);
  });

  test('waits until another verification of the list is done', async () => {
    const { ctx, list } = await newOwner();
    await addPeople(list, some(2));
    const first = await startVerification(ctx, { listUid: list.uid });
    const queued = await uploadFile(ctx, list, 'email\nada@x.example\n', { verify: true });
    await runListImport(ctx, queued, never);
    await verifyImported(ctx, queued);
    const [row] = await queryRows<{ uid: string }>(
      root.db,
      sql`SELECT uid FROM verification WHERE import_uid = ${queued.uid}`,
    );
    const second = await findOwnedVerification(ctx, row?.uid ?? '');
    await run(ctx, second);
    expect(verifier.calls).toEqual([]);
    expect((await jobsOf(second))[0]?.wait).toBeGreaterThan(20);
    await run(ctx, first);
    await run(ctx, second);
    // The first has verified everybody.
    expect(verifier.calls.flat()).toHaveLength(3);
    expect(await stateOf(second)).toMatchObject({ status: 'done', processed: 0 });
  });
});
