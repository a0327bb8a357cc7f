/** Limits of a plan on what a customer has: never beyond by one, however many ask at once; what is there stays (D37, E20). */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { addSubscriber } from '../../../src/domain/audience/add-subscriber.ts';
import { createList } from '../../../src/domain/audience/create-list.ts';
import { startListImport } from '../../../src/domain/audience/imports/start-list-import.ts';
import { findOwnedImport } from '../../../src/domain/audience/imports/find-owned-import.ts';
import { reportText } from '../../../src/domain/audience/imports/import-report.ts';
import { runListImport } from '../../../src/domain/audience/imports/run-list-import.ts';
import type { MailList } from '../../../src/domain/audience/list-fields.ts';
import { signUp } from '../../../src/domain/audience/sign-up.ts';
import { unsubscribeSubscriber } from '../../../src/domain/audience/unsubscribe-subscriber.ts';
import { deleteSubscriber } from '../../../src/domain/audience/delete-subscriber.ts';
import { requireAllowed } from '../../../src/domain/billing/plans/require-allowed.ts';
import { requireUploadSpace } from '../../../src/domain/billing/plans/require-within-limit.ts';
import { copyAutomation } from '../../../src/domain/automations/copy-automation.ts';
import { createAutomation } from '../../../src/domain/automations/create-automation.ts';
import { exportAutomation } from '../../../src/domain/automations/documents/export-automation.ts';
import { importAutomation } from '../../../src/domain/automations/documents/import-automation.ts';
import { makeReadyMade } from '../../../src/domain/automations/ready-made/make-ready-made.ts';
import { createCampaign } from '../../../src/domain/campaigns/create-campaign.ts';
import { inTransaction, viewerOf, type Context } from '../../../src/domain/context.ts';
import { sql } from '../../../src/db/database.ts';
import { importFile, rejectionsOf, uploadFile } from '../../support/import-file.ts';
import { changeOptions, endPlan, givePlan } from '../../support/plans.ts';
import { createTenant, newList, rightListInput } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const root = await createTestContext();

async function tenantWith(options: Record<string, string>): Promise<{ ctx: Context; customerId: bigint }> {
  const ctx = await createTenant(root);
  const { customerId } = viewerOf(ctx);
  await givePlan(ctx.db, customerId, options);
  return { ctx, customerId };
}

/** How many of 100 callers at once were let through; every other one must hear of the limit. */
async function throughOf100(act: (n: number) => Promise<unknown>): Promise<number> {
  const results = await Promise.allSettled(Array.from({ length: 100 }, (_, n) => act(n)));
  const refused = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as { code?: string }] : [],
  );
  expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['PLAN_LIMIT_REACHED']));
  return results.length - refused.length;
}

const campaignInput = (list: MailList, n: number) => ({
  ...{ listUid: list.uid, name: `News ${n}`, subject: 'Hi', html: '<p>Hi</p>' },
  ...{ fromEmail: 'news@sender.example', fromName: 'Sender' },
});
const people = (from: number, to: number): string =>
  ['Email', ...Array.from({ length: to - from + 1 }, (_, n) => `p${from + n}@example.org`)].join('\r\n');

describe('of 100 callers at once, exactly as many get', () => {
  test('lists', async () => {
    const { ctx } = await tenantWith({ list_max: '7' });
    expect(await throughOf100((n) => createList(ctx, rightListInput({ name: `L${n}` })))).toBe(7);
  });

  test('campaigns', async () => {
    const { ctx } = await tenantWith({ campaign_max: '5' });
    const list = await newList(ctx);
    expect(await throughOf100((n) => createCampaign(ctx, campaignInput(list, n)))).toBe(5);
  });

  test('subscribers of a list, and of all lists', async () => {
    const { ctx } = await tenantWith({ subscriber_per_list_max: '30', subscriber_max: '50' });
    const lists = await Promise.all([1, 2, 3].map((n) => newList(ctx, { name: `L${n}` })));
    const first = lists[0]?.uid ?? '';
    expect(await throughOf100((n) => addSubscriber(ctx, { listUid: first, email: `a${n}@example.org` }))).toBe(30);
    const others = (n: number) => lists[1 + (n % 2)]?.uid ?? '';
    expect(await throughOf100((n) => addSubscriber(ctx, { listUid: others(n), email: `b${n}@example.org` }))).toBe(20);
  });

  test('automations, however they are made', async () => {
    const { ctx, customerId } = await tenantWith({ automation_max: '7' });
    const lists = [await newList(ctx, { name: 'One' }), await newList(ctx, { name: 'Two' })];
    const on = (n: number) => ({ listUid: lists[n % 2]?.uid ?? '', name: `A${n}` });
    const { uid } = await createAutomation(ctx, on(0));
    const document = await exportAutomation(ctx, uid);
    const ways: readonly ((n: number) => Promise<unknown>)[] = [
      (n) => createAutomation(ctx, on(n)),
      (n) => copyAutomation(ctx, uid, on(n)),
      (n) => importAutomation(ctx, { ...on(n), document }),
      (n) => makeReadyMade(ctx, { ...on(n), readyMade: 'welcome_series' }),
    ];
    expect(await throughOf100((n) => ways[n % ways.length]?.(n) ?? Promise.resolve())).toBe(6);
    // Of who is refused no mails stay, either: each of these flows has four.
    const [row] = await queryRows<{ mails: number; flows: number }>(
      ctx.db,
      sql`SELECT (SELECT count(*)::int FROM template WHERE customer_id = ${customerId}) AS mails, count(*)::int AS flows
            FROM automation WHERE customer_id = ${customerId} AND draft #>> '{triggers,0,type}' = 'subscribed'`,
    );
    expect(row?.mails).toBe(4 * (row?.flows ?? 0));
  });

  test('bytes of uploads', async () => {
    const { ctx, customerId } = await tenantWith({ max_size_upload_total: '10', max_file_size_upload: '1' });
    const upload = (n: number) =>
      inTransaction(ctx, async ({ tx }) => {
        await requireUploadSpace(tx, { customerId, bytes: 1_048_576, field: 'file' });
        await tx.execute(sql`INSERT INTO uploaded_file (customer_id, uid, token, name, path, size_bytes)
                             VALUES (${customerId}, ${`f${n}`}, ${`t${n}`}, 'x', 'x', 1048576)`);
      });
    expect(await throughOf100(upload)).toBe(10);
    await expect(
      inTransaction(ctx, ({ tx }) => requireUploadSpace(tx, { customerId, bytes: 1_048_577, field: 'file' })),
    ).rejects.toMatchObject({
      code: 'PLAN_FILE_TOO_LARGE',
      fields: { file: ['The plan allows files of at most 1 MB.'] },
    });
  });
});

describe('a limit', () => {
  test('names the field and the number, and lets go when something is deleted', async () => {
    const { ctx } = await tenantWith({ subscriber_per_list_max: '1' });
    const list = await newList(ctx);
    const one = await addSubscriber(ctx, { listUid: list.uid, email: 'one@example.org' });
    const second = () => addSubscriber(ctx, { listUid: list.uid, email: 'two@example.org' });
    await expect(second()).rejects.toMatchObject({
      fields: { EMAIL: ['The plan allows at most 1 subscriber in a list: this limit is reached.'] },
    });
    await deleteSubscriber(ctx, { subscriber: String(one.id) });
    await second();
  });

  test('that a public list has reached says the same to its members and to strangers', async () => {
    const { ctx } = await tenantWith({ subscriber_per_list_max: '1' });
    const list = await newList(ctx, { publicSignup: true });
    await addSubscriber(ctx, { listUid: list.uid, email: 'one@example.org' });
    const asPublic = { ...ctx, viewer: null };
    for (const email of ['one@example.org', 'two@example.org'])
      await expect(signUp(asPublic, { listUid: list.uid, email })).rejects.toMatchObject({ code: 'LIST_FULL' });
  });

  test('below what is there deletes nothing and lets nothing be added', async () => {
    const { ctx, customerId } = await tenantWith({ list_max: '3' });
    for (const name of ['A', 'B', 'C']) await newList(ctx, { name });
    await changeOptions(ctx.db, customerId, { list_max: '1' });
    await expect(newList(ctx)).rejects.toMatchObject({ code: 'PLAN_LIMIT_REACHED' });
    const [row] = await queryRows<{ n: number }>(
      ctx.db,
      sql`SELECT count(*)::int AS n FROM mail_list WHERE customer_id = ${customerId}`,
    );
    expect(row?.n).toBe(3);
  });

  test('of 0 lets nothing be made; -1 and no plan are none', async () => {
    const { ctx } = await tenantWith({ list_max: '0' });
    await expect(newList(ctx)).rejects.toMatchObject({ code: 'PLAN_LIMIT_REACHED' });
    const free = await createTenant(root);
    await newList(free);
  });
});

describe('an import beyond the limit', () => {
  const batches = (ctx: Context): Context => ({
    ...ctx,
    installation: { ...ctx.installation, limits: { ...ctx.installation.limits, importBatchSize: 20 } },
  });

  test('takes the first that fit, rejects each of the others with the reason, and counts exactly', async () => {
    const { ctx } = await tenantWith({ subscriber_per_list_max: '75' });
    const list = await newList(ctx);
    await addSubscriber(ctx, { listUid: list.uid, email: 'p3@example.org' });
    const done = await importFile(batches(ctx), list, people(1, 130));
    expect(done).toMatchObject({ status: 'done', processed: 130, added: 74, unchanged: 1, rejected: 55 });
    const rejected = await rejectionsOf(ctx, done);
    expect(Object.keys(rejected)).toHaveLength(55);
    expect(rejected[131]).toBe('the plan allows at most 75 subscribers in a list');
    // Somebody who is on the list is still changed by a file.
    const again = await importFile(batches(ctx), list, 'Email,First name\r\np1@example.org,Ann\r\nnew@example.org,Bo');
    expect(again).toMatchObject({ processed: 2, added: 0, updated: 1, rejected: 1 });
  });

  test('is exact beside four other imports and single callers', async () => {
    const { ctx, customerId } = await tenantWith({ subscriber_max: '500' });
    const lists = await Promise.all([1, 2, 3, 4].map((n) => newList(ctx, { name: `L${n}` })));
    const imports = lists.map((list) => importFile(batches(ctx), list, people(1, 200)));
    const singles = Array.from({ length: 40 }, (_, n) =>
      addSubscriber(ctx, { listUid: lists[n % 4]?.uid ?? '', email: `single${n}@example.org` }).then(
        () => 1,
        () => 0,
      ),
    );
    const done = await Promise.all(imports);
    const added = (await Promise.all(singles)).reduce<number>((sum, one) => sum + one, 0);
    const [row] = await queryRows<{ n: number }>(
      ctx.db,
      sql`SELECT count(*)::int AS n FROM subscriber WHERE customer_id = ${customerId}`,
    );
    expect(row?.n).toBe(500);
    expect(done.reduce((sum, one) => sum + one.added, added)).toBe(500);
    for (const one of done) expect(one.added + one.rejected).toBe(200);
  });

  test('is refused from the start where the plan has no imports', async () => {
    const { ctx } = await tenantWith({ list_import: 'no', list_export: 'no' });
    const list = await newList(ctx);
    const refusal = { code: 'PLAN_DOES_NOT_INCLUDE' };
    await expect(startListImport(ctx, { listUid: list.uid })).rejects.toMatchObject(refusal);
    await expect(requireAllowed(ctx, 'list_export')).rejects.toMatchObject(refusal);
  });
});

describe('when the subscription has ended', () => {
  test('nothing new is made; reading, leaving and deleting go on; an import under way stops and says why', async () => {
    const { ctx, customerId } = await tenantWith({});
    const list = await newList(ctx);
    const one = await addSubscriber(ctx, { listUid: list.uid, email: 'one@example.org' });
    const uploaded = await uploadFile(ctx, list, people(1, 10));
    await endPlan(ctx.db, customerId);
    const ended = { code: 'SUBSCRIPTION_ENDED' };
    await expect(newList(ctx)).rejects.toMatchObject(ended);
    await expect(createCampaign(ctx, campaignInput(list, 1))).rejects.toMatchObject(ended);
    await expect(addSubscriber(ctx, { listUid: list.uid, email: 'two@example.org' })).rejects.toMatchObject(ended);
    await expect(startListImport(ctx, { listUid: list.uid })).rejects.toMatchObject(ended);
    await requireAllowed(ctx, 'list_export');
    await runListImport(ctx, { customerId, id: uploaded.id }, new AbortController().signal);
    const { status, failure } = await findOwnedImport(ctx, uploaded.uid);
    expect({ status, failure }).toEqual({ status: 'failed', failure: { code: 'subscription_ended', params: {} } });
    expect(failure && reportText(failure)).toMatch(/^The subscription has ended/);
    await unsubscribeSubscriber(ctx, { subscriber: String(one.id) });
    await deleteSubscriber(ctx, { subscriber: String(one.id) });
  });
});
