/** Automations of a restored backup: they put it on hold, and are paused with it, because people may have got their mails since (D85). */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { decideUnknownMessage } from '../../../src/domain/delivery/flow-mails/decide-unknown-message.ts';
import { enqueueFlowMails } from '../../../src/domain/delivery/flow-mails/flow-mail.ts';
import { endHold, guardRestoredBackup, hold, holdOf } from '../../../src/domain/installation/restore-guard.ts';
import { messageUid, newUid } from '../../../src/lib/ids.ts';
import { OBSERVED } from '../../support/check-statements.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const HOUR_MS = 3_600_000;
/** Steps are late by the clock of the database. */
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString();
const world = await startFlowWorld(inHours(-10));
const { ctx, list } = world;
const HERE = { place: { address: 'db:5432/mailwright', file: null }, seenAt: null };

const publish = () =>
  world.publish({
    triggers: [{ type: 'execute' }, { type: 'weekly', weekdays: [1], at: '09:00' }],
    nodes: [
      { id: 'rest', type: 'wait', for: { hours: 2 } },
      { id: 'mark', type: 'add_tag', tag: 'marked' },
    ],
    edges: [
      { from: 'start', to: 'rest' },
      { from: 'rest', to: 'mark' },
    ],
  });
const statusOf = async ({ uid }: { uid: string }) =>
  queryRows(
    ctx.db,
    sql`SELECT a.status, t.state::text AS triggers FROM automation a
          JOIN hot.flow_trigger t ON t.customer_id = a.customer_id AND t.automation_id = a.id WHERE a.uid = ${uid}`,
  );

test.each([
  ['pause', 1, { status: 'inactive', triggers: 'idle' }],
  ['continue', 0, { status: 'active', triggers: 'live' }],
] as const)('after "%s" %i automation is paused', async (choice, paused, state) => {
  const flow = await publish();
  const person = await world.person();
  await world.run(inHours(-10));
  await world.enter(flow, [person]);
  await hold(ctx.db, 'by hand');
  expect(await endHold(ctx, choice)).toMatchObject({ automationsPaused: paused });
  expect(await statusOf(flow)).toEqual([state]);
  await world.run(inHours(0));
  const rested = ['rest entered execute'];
  expect(await world.steps(person)).toEqual(paused ? rested : [...rested, 'rest passed next', 'mark passed next']);
  if (!paused) return;
  // Whoever lets it go on is asked about what the original has done meanwhile.
  await expect(setAutomationStatus(ctx, flow.uid, 'active')).rejects.toMatchObject({ code: 'AUTOMATION_HAS_OVERDUE' });
  await setAutomationStatus(ctx, flow.uid, 'active', { mode: 'now' });
  await world.run(inHours(0));
  expect(await world.steps(person)).toEqual([...rested, 'rest passed next', 'mark passed next']);
  await setAutomationStatus(ctx, flow.uid, 'inactive');
});

test('a mail that was being handed over at the time of the backup is of unknown outcome, and its owner decides', async () => {
  const { key } = await publish();
  const personId = await world.person();
  const [id = 0n] = await enqueueFlowMails(ctx.db, {
    ...{ ...key, listId: list.id, templateUid: newUid(), subject: null, kind: 'marketing' },
    mails: [{ runId: 1n, node: 'mail', pass: 1, personId, status: 'subscribed', payload: null }],
  });
  await ctx.db.execute(
    sql`WITH m AS (UPDATE hot.message SET created_at = created_at - interval '1 second' WHERE id = ${id})
        UPDATE hot.delivery SET state = 'sending', lease_expires_at = now() - interval '1 second' WHERE occurrence = ${id}`,
  );
  const counters = () =>
    queryRows(
      ctx.db,
      sql`SELECT audience, sent, unknown FROM hot.delivery_counter WHERE customer_id = ${key.customerId} AND source_kind = 2 AND source_id = ${key.automationId}`,
    );
  await hold(ctx.db, 'by hand');
  await endHold(ctx, 'pause');
  expect(await counters()).toEqual([{ audience: 1, sent: 0, unknown: 1 }]);
  expect(await decideUnknownMessage(ctx, messageUid(id), 'accept')).toMatchObject({ state: 'sent' });
  expect(await counters()).toEqual([{ audience: 1, sent: 1, unknown: 0 }]);
});

test('an active automation, or a message that waits, puts a restored backup on hold, and the operator sees the automation', async () => {
  await ctx.db.execute(sql`UPDATE automation SET status = 'inactive'`);
  const arriveElsewhere = async () => {
    await ctx.db.execute(sql`DELETE FROM setting WHERE key LIKE 'installation.%'`);
    await guardRestoredBackup(ctx, HERE);
    await ctx.db.execute(
      sql`UPDATE setting SET value = value || '{"marks": "1.2.3.4"}'::jsonb WHERE key = 'installation.place'`,
    );
    await guardRestoredBackup(ctx, HERE);
    return (await holdOf(ctx.db)) !== null;
  };
  // What activating enqueued is something to send, too.
  await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
  expect(await arriveElsewhere()).toBe(false);
  const queued = sql`INSERT INTO hot.message_queue (message_id, customer_id, priority, not_before) VALUES (1, ${list.customerId}, 10, now())`;
  await ctx.db.execute(queued);
  expect(await arriveElsewhere()).toBe(true);
  await ctx.db.execute(sql`DELETE FROM hot.message_queue`);
  const flow = await publish();
  await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
  await world.enter(flow, [await world.person(), await world.person()]);
  expect(await arriveElsewhere()).toBe(true);
  const { stdout, stderr, status } = spawnSync(process.execPath, [path.resolve('scripts/end-hold.ts')], {
    env: { PATH: process.env['PATH'], ...OBSERVED, DATABASE_URL: ctx.database.url },
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout.split('\n').filter((line) => line.includes(flow.uid))).toEqual([
    expect.stringMatching(/ 2 people inside .*Flow$/),
  ]);
  await endHold(ctx, 'pause');
  expect(await holdOf(ctx.db)).toBeNull();
});
