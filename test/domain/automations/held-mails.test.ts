/** Mails that were held back while a flow was stopped go as was chosen for late steps (D85). */
import { afterAll, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { resumeMails } from '../../../src/domain/automations/stopping/resume-mails.ts';
import { startFlowMailWorld } from '../../support/flow-mail-world.ts';
import { messageRows, runSender } from '../../support/message-world.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';

const smtp = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
const world = await startFlowMailWorld({ smtpPort: smtp.port });
const { ctx, list } = world;
afterAll(() => smtp[Symbol.asyncDispose]());

test('held mails go as was chosen for late steps: the old ones are skipped, or all are spread over the hours', async () => {
  const templateUid = await world.template({ subject: 'Late', html: '<p>Late</p>' });
  const flow = await world.publish({
    triggers: [{ type: 'execute' }],
    nodes: [{ id: 'mail', type: 'send_mail', templateUid }],
    edges: [{ from: 'start', to: 'mail' }],
  });
  const people = [await world.person(), await world.person(), await world.person()];
  await world.enter(flow, people);
  await world.run('2026-12-02T10:00:00Z');
  const ofFlow = sql`SELECT m.id FROM hot.message m WHERE m.source_kind = 2 AND m.source_id = ${flow.key.automationId}`;
  /** As the sender leaves mails of a flow that is stopped. */
  const holdAll = async () => {
    await ctx.db.execute(
      sql`UPDATE hot.delivery SET reason = 'flow_stopped' WHERE occurrence IN (${ofFlow}) AND state = 'queued'`,
    );
    await ctx.db.execute(
      sql`UPDATE hot.message_queue SET not_before = now() + interval '1 hour' WHERE message_id IN (${ofFlow})`,
    );
  };
  const queued = () =>
    queryRows<{ reason: string; minutes: number; sendIn: number | null }>(
      ctx.db,
      sql`SELECT d.reason, round(extract(epoch FROM q.not_before - now()) / 60)::int AS minutes, round(extract(epoch FROM m.send_at - now()) / 60)::int AS "sendIn"
            FROM hot.message_queue q JOIN hot.message m ON m.id = q.message_id JOIN hot.delivery d ON d.occurrence = m.id AND d.source_kind = 2
           WHERE m.id IN (${ofFlow}) ORDER BY m.id`,
    );
  const key = { customerId: list.customerId, automationId: flow.key.automationId };
  const now = new Date();
  await holdAll();
  const spread = { mode: 'spread', until: now, from: now, hours: 10 } as const;
  await resumeMails(ctx, { ...key, choice: spread }, () => false);
  expect(await queued()).toEqual([0, 300, 600].map((minutes) => ({ reason: 'own_time', minutes, sendIn: minutes })));
  // The second job of an activation finds nothing that is held.
  await resumeMails(ctx, { ...key, choice: spread }, () => false);
  expect((await queued()).map(({ minutes }) => minutes)).toEqual([0, 300, 600]);
  await holdAll();
  await ctx.db.execute(
    sql`UPDATE hot.message SET created_at = now() - interval '5 hours' WHERE id = (SELECT min(id) FROM (${ofFlow}) f)`,
  );
  const skip = { mode: 'skip_mails', until: new Date(now.getTime() - 3 * 3_600_000), from: now, hours: 0 } as const;
  await resumeMails(ctx, { ...key, choice: skip }, () => false);
  expect((await queued()).map(({ reason, minutes }) => [reason, minutes])).toEqual([
    ['overdue', 0],
    ['flow_stopped', 0],
    ['flow_stopped', 0],
  ]);
  await using _sender = await runSender(ctx);
  await world.mailsSettled();
  const emails = await Promise.all(people.map(async (id) => (await world.personRow(id))?.email));
  const rows = (await messageRows(ctx, 'flow %')).filter(({ email }) => emails.includes(email));
  expect(rows.map(({ state, reason }) => [state, reason])).toEqual([
    ['skipped', 'overdue'],
    ['sent', null],
    ['sent', null],
  ]);
});
