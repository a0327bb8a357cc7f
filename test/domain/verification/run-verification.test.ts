/** Runs of verifications on a real database: who is asked about, what is stored, pauses, limits, cancelling. */
import { beforeEach, describe, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { deliverabilityOf } from '../../../src/domain/audience/deliverability-read-model.ts';
import {
  suppressAddresses,
  suppressionPage,
  unsuppressAddress,
} from '../../../src/domain/audience/suppression-list.ts';
import { updateSubscriber } from '../../../src/domain/audience/update-subscriber.ts';
import { verificationsOf } from '../../../src/domain/audience/verification-read-model.ts';
import { viewerOf } from '../../../src/domain/context.ts';
import { cancelVerification, resumeVerification } from '../../../src/domain/verification/cancel-verification.ts';
import { deleteVerificationServer } from '../../../src/domain/verification/delete-verification-server.ts';
import { startVerification } from '../../../src/domain/verification/start-verification.ts';
import { updateVerificationServer } from '../../../src/domain/verification/update-verification-server.ts';
import { VerifierError } from '../../../src/plugin-api/index.ts';
import { eventsAbout } from '../../support/event-followers.ts';
import { worldsVerifier } from '../../support/insert-verification.ts';
import { endPlan } from '../../support/plans.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { some, startVerificationWorld, usualAnswers } from '../../support/verification-world.ts';

const { root, verifier, newOwner, addPeople, run, stateOf, resultsOf, jobsOf } = await startVerificationWorld();

beforeEach(() => {
  verifier.calls.length = 0;
  verifier.answer = usualAnswers;
});

describe('a verification', () => {
  test('asks about everybody who is not unsubscribed, in batches, and stores what was answered', async () => {
    const { ctx, list } = await newOwner();
    await addPeople(list, ['ada@x.example', 'gone@x.example', 'info@x.example', 'slow@x.example', ...some(60)]);
    await addPeople(list, ['left@x.example'], 'unsubscribed');
    const started = await startVerification(ctx, { listUid: list.uid });
    expect(await jobsOf(started)).toHaveLength(1);
    await run(ctx, started);
    expect(await stateOf(started)).toMatchObject({
      ...{ status: 'done', total: 64, processed: 64, deliverable: 61, undeliverable: 1, risky: 1, unknown: 1 },
      ...{ reason: null, finished_at: expect.any(Date) },
    });
    expect(verifier.calls.map((call) => call.length)).toEqual([10, 10, 10, 10, 10, 10, 4]);
    const results = await resultsOf(list);
    expect(results.slice(0, 4)).toEqual([
      { email: 'ada@x.example', result: 'deliverable', reasons: null, by: worldsVerifier.type },
      { email: 'gone@x.example', result: 'undeliverable', reasons: 'no_domain', by: worldsVerifier.type },
      { email: 'info@x.example', result: 'risky', reasons: 'disposable,role', by: worldsVerifier.type },
      { email: 'slow@x.example', result: 'unknown', reasons: null, by: worldsVerifier.type },
    ]);
    expect(results.at(-1)).toEqual({ email: 'left@x.example', result: null, reasons: null, by: null });
  });

  test('asks again only about new people and unknown results, or about results older than some days', async () => {
    const { ctx, list } = await newOwner();
    await addPeople(list, ['old@x.example', 'fresh@x.example', 'slow@x.example']);
    await run(ctx, await startVerification(ctx, { listUid: list.uid }));
    await root.db.execute(
      sql`UPDATE subscriber SET verified_at = now() - interval '40 days' WHERE email = 'old@x.example'`,
    );
    await addPeople(list, ['new@x.example']);
    verifier.calls.length = 0;
    await run(ctx, await startVerification(ctx, { listUid: list.uid }));
    expect(verifier.calls).toEqual([['slow@x.example', 'new@x.example']]);
    verifier.calls.length = 0;
    await run(ctx, await startVerification(ctx, { listUid: list.uid, olderThanDays: 30 }));
    expect(verifier.calls).toEqual([['old@x.example', 'slow@x.example']]);
    verifier.calls.length = 0;
    await run(ctx, await startVerification(ctx, { listUid: list.uid, olderThanDays: 0 }));
    expect(verifier.calls.flat()).toHaveLength(4);
  });

  test('suppresses what it finds undeliverable if it was asked to: once, and nobody whose address was changed', async () => {
    const { ctx, list } = await newOwner();
    await addPeople(list, ['ada@x.example', 'gone1@x.example', 'gone2@x.example', 'gone3@x.example', 'slow@x.example']);
    await suppressAddresses(ctx, { emails: ['gone1@x.example'], reason: 'complaint' });
    verifier.answer = async (addresses) => {
      await updateSubscriber(ctx, { listUid: list.uid, subscriber: 'gone3@x.example', email: 'here@x.example' });
      return usualAnswers(addresses);
    };
    const started = await startVerification(ctx, { listUid: list.uid, undeliverable: 'suppress' });
    await run(ctx, started);
    expect(await stateOf(started)).toMatchObject({ status: 'done', undeliverable: 3, suppressed: 1, suppresses: true });
    const { nodes } = await suppressionPage(ctx, {}, { offset: 0, limit: 10 });
    expect(nodes).toMatchObject([
      { email: 'gone1@x.example', reason: 'complaint', note: null },
      {
        ...{ email: 'gone2@x.example', reason: 'undeliverable', addedByUid: null },
        note: `Found by the verification ${started.uid}.`,
      },
    ]);
    expect(await deliverabilityOf(ctx.db, list.customerId, ['gone2@x.example'])).toEqual(['suppressed']);
    // Results of another list are taken over, and count like its own.
    const other = await newList(ctx);
    await addPeople(other, ['gone2@x.example', 'gone4@x.example']);
    verifier.answer = usualAnswers;
    const again = await startVerification(ctx, { listUid: other.uid, undeliverable: 'suppress' });
    await run(ctx, again);
    expect(await stateOf(again)).toMatchObject({ status: 'done', reused: 1, undeliverable: 2, suppressed: 1 });
    await unsuppressAddress(ctx, { email: 'gone2@x.example' });
    await run(ctx, await startVerification(ctx, { listUid: other.uid, olderThanDays: 0 }));
    expect((await suppressionPage(ctx, {}, { offset: 0, limit: 10 })).nodes.map(({ email }) => email)).toEqual([
      'gone1@x.example',
      'gone4@x.example',
    ]);
    await expect(startVerification(ctx, { listUid: list.uid, undeliverable: 'delete' })).rejects.toMatchObject({
      fields: { undeliverable: [expect.anything()] },
    });
  });

  test('of an empty list is done at once', async () => {
    const { ctx, list } = await newOwner();
    const started = await startVerification(ctx, { listUid: list.uid });
    await run(ctx, started);
    expect(await stateOf(started)).toMatchObject({ status: 'done', total: 0, processed: 0 });
  });

  test('needs a server, a plan and a list that is not being verified', async () => {
    const { ctx, list, server } = await newOwner();
    await addPeople(list, some(2));
    const started = await startVerification(ctx, { listUid: list.uid, verificationServer: server.uid });
    const listUid = list.uid;
    await expect(startVerification(ctx, { listUid })).rejects.toMatchObject({ code: 'LIST_BEING_VERIFIED' });
    await expect(deleteVerificationServer(ctx, server)).rejects.toMatchObject({ code: 'VERIFICATION_SERVER_IN_USE' });
    await run(ctx, started);
    const other = await createTenant(root);
    const theirs = await newList(other);
    const foreign = startVerification(other, { listUid: theirs.uid, verificationServer: server.uid });
    await expect(foreign).rejects.toMatchObject({
      code: 'NO_VERIFICATION_SERVER',
      fields: { verificationServer: [expect.anything()] },
    });
    await expect(startVerification(other, { listUid: theirs.uid })).rejects.toMatchObject({
      code: 'NO_VERIFICATION_SERVER',
    });
    await expect(startVerification(other, { listUid })).rejects.toMatchObject({ name: 'ForeignResourceError' });
    await expect(cancelVerification(other, started.uid)).rejects.toMatchObject({ name: 'ForeignResourceError' });
    await expect(startVerification(ctx, { listUid, olderThanDays: -1 })).rejects.toMatchObject({
      fields: { olderThanDays: [expect.anything()] },
    });
    await endPlan(ctx.db, viewerOf(ctx).customerId);
    await expect(startVerification(ctx, { listUid })).rejects.toMatchObject({ code: 'SUBSCRIPTION_ENDED' });
  });

  test('keeps to so many addresses a minute, and waits without a worker', async () => {
    const { ctx, list } = await newOwner(15);
    await addPeople(list, some(20));
    const started = await startVerification(ctx, { listUid: list.uid });
    await run(ctx, started);
    expect(verifier.calls.flat()).toHaveLength(15);
    expect(await stateOf(started)).toMatchObject({ status: 'running', processed: 15, total: 20 });
    const [job] = await jobsOf(started);
    expect(job?.wait).toBeGreaterThan(30);
    expect(job?.wait).toBeLessThan(62);
    await run(ctx, started);
    expect(verifier.calls.flat()).toHaveLength(15);
    // A minute later.
    await root.db.execute(sql`DELETE FROM hot.rate_window WHERE key LIKE 'verifications:%'`);
    await run(ctx, started);
    expect(await stateOf(started)).toMatchObject({ status: 'done', processed: 20 });
  });

  test('pauses with the reason when the verifier fails, keeps what was answered, and is tried again', async () => {
    const { ctx, list } = await newOwner();
    await addPeople(list, some(60));
    verifier.answer = (addresses) => {
      if (addresses.includes('p15@x.example'))
        throw new VerifierError('Nothing is left\nof your credits.', { retryAfterSeconds: 900 });
      return usualAnswers(addresses);
    };
    const started = await startVerification(ctx, { listUid: list.uid });
    await run(ctx, started);
    // The first wave was three verifier.calls; the second of them failed.
    expect(await stateOf(started)).toMatchObject({
      ...{ status: 'paused', reason: 'Nothing is left of your credits.', failures: 1, processed: 20, deliverable: 20 },
      retry_at: expect.any(Date),
    });
    const [job] = await jobsOf(started);
    expect(job?.wait).toBeGreaterThan(800);
    verifier.answer = usualAnswers;
    await run(ctx, started);
    expect(await stateOf(started)).toMatchObject({
      status: 'done',
      failures: 0,
      processed: 60,
      total: 60,
      reason: null,
      retry_at: null,
    });
    const asked = verifier.calls.flat();
    // Those with an answer were not asked about again: ten twice, because they had none.
    expect(asked).toHaveLength(70);
    expect(new Set(asked).size).toBe(60);
  });

  test('stays paused after ten failures in a row, until somebody resumes it', async () => {
    const { ctx, list, server } = await newOwner();
    await addPeople(list, some(3));
    verifier.answer = () => {
      throw new Error('away');
    };
    const started = await startVerification(ctx, { listUid: list.uid });
    for (let no = 0; no < 10; no++) await run(ctx, started);
    expect(await stateOf(started)).toMatchObject({ status: 'paused', failures: 10, reason: 'away', retry_at: null });
    await expect(resumeVerification(await createTenant(root), started.uid)).rejects.toMatchObject({
      code: 'VERIFICATION_NOT_FOUND',
    });
    await updateVerificationServer(ctx, { uid: server.uid, status: 'inactive' });
    await expect(resumeVerification(ctx, started.uid)).rejects.toMatchObject({ code: 'NO_VERIFICATION_SERVER' });
    await updateVerificationServer(ctx, { uid: server.uid, status: 'active' });
    expect(await resumeVerification(ctx, started.uid)).toMatchObject({ status: 'queued' });
    verifier.answer = usualAnswers;
    await run(ctx, started);
    expect(await stateOf(started)).toMatchObject({ status: 'done', failures: 0, deliverable: 3 });
    await expect(resumeVerification(ctx, started.uid)).rejects.toMatchObject({ code: 'VERIFICATION_NOT_PAUSED' });
  });

  test('counts on through steps that asked nobody: they say nothing about the verifier', async () => {
    const { ctx, list } = await newOwner(3);
    await addPeople(list, some(3));
    verifier.answer = () => {
      throw new Error('away');
    };
    const started = await startVerification(ctx, { listUid: list.uid });
    for (let failures = 1; failures <= 10; failures++) {
      await run(ctx, started);
      expect(await stateOf(started)).toMatchObject({ status: 'paused', failures });
      if (failures === 10) break;
      // Nothing is left of this minute.
      await run(ctx, started);
      expect(await stateOf(started)).toMatchObject({ status: 'running', failures });
      await root.db.execute(sql`DELETE FROM hot.rate_window WHERE key LIKE 'verifications:%'`);
    }
    expect(verifier.calls).toHaveLength(10);
    expect(await stateOf(started)).toMatchObject({ retry_at: null });
  });

  test.each<[string, (addresses: readonly string[]) => unknown, RegExp]>([
    ['too few answers', (addresses) => usualAnswers(addresses).slice(1), /answered what it must not/],
    ['an unknown word', (addresses) => addresses.map(() => ({ result: 'fine', reasons: [] })), /0\.result/],
    [
      'a reason that is a sentence',
      (addresses) => addresses.map(() => ({ result: 'risky', reasons: ['No, thanks'] })),
      /reasons/,
    ],
    ['nothing', () => undefined, /answered what it must not/],
  ])('pauses when a plugin answers %s', async (_, wrong, reason) => {
    const { ctx, list } = await newOwner();
    await addPeople(list, some(3));
    verifier.answer = wrong;
    const started = await startVerification(ctx, { listUid: list.uid });
    await run(ctx, started);
    expect(await stateOf(started)).toMatchObject({
      status: 'paused',
      processed: 0,
      reason: expect.stringMatching(reason),
    });
    expect((await resultsOf(list)).every(({ result }) => result === null)).toBe(true);
  });

  test('pauses when the plan has ended or the server is inactive', async () => {
    const { ctx, list, server } = await newOwner();
    await addPeople(list, some(3));
    const started = await startVerification(ctx, { listUid: list.uid });
    await updateVerificationServer(ctx, { uid: server.uid, status: 'inactive' });
    await run(ctx, started);
    expect(await stateOf(started)).toMatchObject({ status: 'paused', reason: expect.stringContaining('is inactive') });
    await updateVerificationServer(ctx, { uid: server.uid, status: 'active' });
    await endPlan(ctx.db, viewerOf(ctx).customerId);
    await run(ctx, started);
    expect(await stateOf(started)).toMatchObject({
      status: 'paused',
      reason: expect.stringContaining('subscription has ended'),
    });
    expect(verifier.calls).toEqual([]);
  });

  test('that is cancelled asks about nobody any more; what was under way is kept and counted', async () => {
    const { ctx, list } = await newOwner();
    await addPeople(list, some(60));
    const started = await startVerification(ctx, { listUid: list.uid });
    verifier.answer = async (addresses) => {
      if (verifier.calls.length === 1) await cancelVerification(ctx, started.uid);
      return usualAnswers(addresses);
    };
    await run(ctx, started);
    expect(await stateOf(started)).toMatchObject({
      status: 'cancelled',
      processed: 30,
      deliverable: 30,
      finished_at: expect.any(Date),
    });
    expect((await resultsOf(list)).filter(({ result }) => result !== null)).toHaveLength(30);
    await run(ctx, started);
    expect(verifier.calls).toHaveLength(3);
    await expect(cancelVerification(ctx, started.uid)).rejects.toMatchObject({ code: 'VERIFICATION_OVER' });
  });

  test('continues in a new job when its process must stop', async () => {
    const { ctx, list } = await newOwner();
    await addPeople(list, some(60));
    const started = await startVerification(ctx, { listUid: list.uid });
    const stopping = new AbortController();
    verifier.answer = (addresses) => {
      stopping.abort();
      return usualAnswers(addresses);
    };
    await run(ctx, started, stopping.signal);
    expect(await stateOf(started)).toMatchObject({ status: 'running', processed: 30 });
    expect(await jobsOf(started)).toHaveLength(1);
    await run(ctx, started);
    expect(await stateOf(started)).toMatchObject({ status: 'done', processed: 60 });
    expect(new Set(verifier.calls.flat()).size).toBe(verifier.calls.flat().length);
  });

  test('leaves a person alone whose address was changed meanwhile; a new address has no result', async () => {
    const { ctx, list } = await newOwner();
    await addPeople(list, ['ada@x.example', 'bob@x.example']);
    verifier.answer = async (addresses) => {
      await updateSubscriber(ctx, { listUid: list.uid, subscriber: 'bob@x.example', email: 'bobby@x.example' });
      return usualAnswers(addresses);
    };
    const started = await startVerification(ctx, { listUid: list.uid });
    await run(ctx, started);
    expect((await resultsOf(list)).map(({ email, result }) => [email, result])).toEqual([
      ['ada@x.example', 'deliverable'],
      ['bobby@x.example', null],
    ]);
    await updateSubscriber(ctx, { listUid: list.uid, subscriber: 'ada@x.example', email: 'ADA@x.example' });
    expect((await resultsOf(list))[0]).toMatchObject({ email: 'ADA@x.example', result: 'deliverable' });
    await updateSubscriber(ctx, { listUid: list.uid, subscriber: 'ada@x.example', email: 'lovelace@x.example' });
    expect((await resultsOf(list))[0]).toEqual({ email: 'lovelace@x.example', result: null, reasons: null, by: null });
  });

  test('tells each change of its state, with the results by then', async () => {
    const { ctx, list } = await newOwner();
    await addPeople(list, ['ada@x.example', 'gone@x.example', 'info@x.example']);
    verifier.answer = () => {
      throw new Error('away');
    };
    const started = await startVerification(ctx, { listUid: list.uid });
    await run(ctx, started);
    verifier.answer = usualAnswers;
    await run(ctx, started);
    const events = await eventsAbout(root.db, started.uid);
    expect(events.map(({ kind }) => kind)).toEqual(Array.from({ length: 4 }, () => 'verification_status_changed'));
    const none = { deliverable: 0, undeliverable: 0, risky: 0, unknown: 0 };
    const about = { listUid: list.uid, importUid: null };
    expect(events.map(({ data }) => data)).toEqual([
      { from: 'queued', to: 'running', ...about, ...none },
      { from: 'running', to: 'paused', ...about, ...none },
      { from: 'paused', to: 'running', ...about, ...none },
      { from: 'running', to: 'done', ...about, ...none, deliverable: 1, undeliverable: 1, risky: 1 },
    ]);
  });

  test('is read with its people in one statement', async () => {
    const { ctx, list } = await newOwner();
    await addPeople(list, ['info@x.example', 'new@x.example']);
    const people = await queryRows<{ id: bigint }>(
      root.db,
      sql`SELECT id FROM subscriber WHERE list_id = ${list.id} ORDER BY id`,
    );
    await root.db.execute(
      sql`UPDATE subscriber SET status = 'unsubscribed' WHERE list_id = ${list.id} AND email LIKE 'new%'`,
    );
    await run(ctx, await startVerification(ctx, { listUid: list.uid }));
    const keys = people.map(({ id }) => ({ listId: list.id, id }));
    expect(await verificationsOf(root.db, list.customerId, keys.toReversed())).toEqual([
      null,
      {
        result: 'risky',
        reasons: ['disposable', 'role'],
        verifiedAt: expect.any(Date),
        verifiedBy: worldsVerifier.type,
      },
    ]);
    // Of another customer nothing is read.
    expect(await verificationsOf(root.db, list.customerId + 1n, keys)).toEqual([null, null]);
  });
});
