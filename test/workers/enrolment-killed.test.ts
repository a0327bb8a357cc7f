/**
 * Workers are killed in the middle while they let people in who match a flow already (D71), and while a live test of a flow sends its mails (D91):
 * each person has entered once, and each mail of the test is there once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { latestEnrolments } from '../../src/domain/automations/entries/enrolment-read-model.ts';
import { enterExisting } from '../../src/domain/automations/entries/enter-existing.ts';
import { flowTestsOf } from '../../src/domain/automations/live-test/find-flow-test.ts';
import { testAutomation } from '../../src/domain/automations/live-test/test-automation.ts';
import { copiesByRecipient } from '../support/campaign-world.ts';
import { line } from '../support/automation-rest.ts';
import { startFlowMailWorld } from '../support/flow-mail-world.ts';
import { messageRows } from '../support/message-world.ts';
import { startProgram } from '../support/program.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';

const PEOPLE = 4_000;
const KILLS = 3;
const MAILS = ['one', 'two', 'three', 'four'];
const ADDRESS = 'boss@live.example';

it('kill -9 in the middle lets nobody in twice and leaves nobody out, and no mail of a test is lost or doubled', async () => {
  await using smtp = await scriptedSmtpServer();
  const world = await startFlowMailWorld({ smtpPort: smtp.port });
  const { ctx } = world;
  const templateUid = await world.template({ subject: 'Hello', html: '<p>Hello</p>', kind: 'optional' });
  const mails = MAILS.map((id) => ({ id, type: 'send_mail', templateUid, subject: id }));
  const rests = MAILS.map((_id, no) => ({ id: `rest${no}`, type: 'wait', for: { days: 1 } }));
  const tested = await world.publish({
    triggers: [{ type: 'execute' }],
    nodes: [...mails, ...rests],
    edges: line('start', ...MAILS.flatMap((id, no) => [id, `rest${no}`])),
  });
  // Before: the triggers let in only whom it happens to from then on.
  await world.people(PEOPLE);
  const flow = await world.publish({
    triggers: [{ type: 'subscribed' }],
    nodes: [{ id: 'rest', type: 'wait', for: { days: 1 } }],
    edges: line('start', 'rest'),
  });
  const begun = await enterExisting(ctx, flow.uid, { people: PEOPLE, perHour: 1_000_000 });
  await testAutomation(ctx, tested.uid, { email: ADDRESS, version: tested.key.version, waitSeconds: 1 });

  const progress = async () => {
    const [[enrolment], [test]] = await Promise.all([
      latestEnrolments(ctx.db, flow.key, 1),
      flowTestsOf(ctx, tested.uid),
    ]);
    return {
      enrolment,
      test,
      done: (enrolment?.entered ?? 0) / PEOPLE + (test?.steps.length ?? 0) / (2 * MAILS.length),
    };
  };
  const settings = {
    DATABASE_URL: ctx.database.url,
    ROLES: 'worker,cron',
    SEND_LEASE_SECONDS: '3',
    SEND_RETRY_DELAY_SECONDS: '1',
  };
  for (let kill = 1; kill <= KILLS; kill++) {
    const worker = await startProgram(settings);
    // Of two that are to be done.
    while ((await progress()).done < (1.6 * kill) / KILLS) await sleep(5);
    await worker.kill();
  }
  const survivors = [await startProgram(settings), await startProgram(settings)];
  await expect
    .poll(
      async () => {
        const { enrolment, test } = await progress();
        return [enrolment?.status, test?.status];
      },
      { timeout: 300_000 },
    )
    .toEqual(['done', 'done']);
  await expect
    .poll(async () => (await messageRows(ctx)).filter(({ waits }) => waits), { timeout: 300_000 })
    .toEqual([]);
  for (const survivor of survivors) await survivor.stop();

  const { enrolment, test } = await progress();
  expect(enrolment).toMatchObject({ id: begun.id, entered: PEOPLE, refused: {}, reason: null });
  expect(await world.counts(flow)).toEqual({ rest: `entered ${PEOPLE}, waiting ${PEOPLE}` });
  const [ledger] = await queryRows<Record<string, number>>(
    ctx.db,
    sql`SELECT (SELECT count(*)::int FROM hot.flow_entry WHERE automation_id = ${flow.key.automationId}) AS entries,
               (SELECT count(*)::int FROM hot.flow_run WHERE automation_id = ${flow.key.automationId}) AS runs,
               (SELECT count(DISTINCT person_id)::int FROM hot.flow_run WHERE automation_id = ${flow.key.automationId}) AS people,
               (SELECT count(*)::int FROM hot.flow_step WHERE automation_id = ${flow.key.automationId} AND what = 'entered') AS entered`,
  );
  expect(ledger).toEqual({ entries: PEOPLE, runs: PEOPLE, people: PEOPLE, entered: PEOPLE });

  expect(test?.steps.map(({ node, what }) => `${node} ${what}`)).toEqual(
    MAILS.flatMap((id, no) => [`${id} passed`, `rest${no} passed`]),
  );
  const messages = await messageRows(ctx, 'template test %');
  expect(messages).toHaveLength(MAILS.length);
  const inDoubt = messages.reduce((sum, { ambiguous }) => sum + ambiguous, 0);
  const copies = copiesByRecipient(smtp.accepted).get(ADDRESS) ?? 0;
  expect(copies).toBeLessThanOrEqual(MAILS.length + inDoubt);
  expect(copies).toBeGreaterThanOrEqual(messages.filter(({ state }) => state === 'sent').length);
  // Of a mail in doubt nobody knows whether it has arrived; it is not lost in silence.
  expect(messages.every(({ state, ambiguous }) => state === 'sent' || (state === 'unknown' && ambiguous > 0))).toBe(
    true,
  );
}, 900_000);
