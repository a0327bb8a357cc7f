/** What those who run a flow do in a history: as their actions do it, at its time, where these ask the clock of the database. */
import { sql } from '../../src/db/database.ts';
import { callRuns, type Call } from '../../src/domain/automations/api-calls/call-runs.ts';
import { automationStatus } from '../../src/domain/automations/automation-store.ts';
import { EVERYBODY, PEOPLE_MAX, PER_HOUR_MAX } from '../../src/domain/automations/entries/enrolment.ts';
import type { Enrolment } from '../../src/domain/automations/entries/enrolment-read-model.ts';
import { endEnrolment, insertEnrolment } from '../../src/domain/automations/entries/enrolment-store.ts';
import { chooseForLate, lateNodes } from '../../src/domain/automations/runs/late-run-store.ts';
import { unparkRuns } from '../../src/domain/automations/runs/parked-run-store.ts';
import { RUN_REQUESTS } from '../../src/domain/automations/runs/run.ts';
import { workEnrolment } from '../../src/domain/automations/entries/work-enrolment.ts';
import { inTransaction, type Context } from '../../src/domain/context.ts';
import type { LateChoice } from './flow-data.ts';

const HOUR_MS = 3_600_000;

interface FlowKey {
  readonly customerId: bigint;
  readonly automationId: bigint;
}

/** When the flow goes on. */
export async function chooseForLatePeople(
  ctx: Context,
  key: FlowKey,
  { late: { mode, hours }, now }: { readonly late: LateChoice; readonly now: Date },
): Promise<void> {
  const until = new Date(now.getTime() - (mode === 'skip_mails' ? hours : 1) * HOUR_MS);
  const choice = { mode, until, from: now, hours: mode === 'spread' ? hours : 0 };
  await inTransaction(ctx, async ({ tx, db }) =>
    chooseForLate(tx, key, { nodes: await lateNodes(db, key, until), choice }),
  );
}

/** All who are parked at this node, in every version so far. */
export async function unparkPeople(
  ctx: Context,
  key: FlowKey,
  asked: { readonly versions: number; readonly node: string; readonly isSkip: boolean; readonly now: Date },
): Promise<void> {
  const { versions, node, isSkip, now } = asked;
  const unparking = { request: isSkip ? RUN_REQUESTS.skip : null, now, afterId: 0n, max: 1_000 };
  await inTransaction(ctx, async ({ tx }) => {
    for (let version = 1; version <= versions; version += 1) await unparkRuns(tx, { ...key, version, node }, unparking);
  });
}

/** Taking a person out asks the clock of the database: what it has written is moved to its time. */
export async function moveTakingOut({ db }: Context, { customerId, automationId }: FlowKey, now: Date): Promise<void> {
  const ofFlow = sql`customer_id = ${customerId} AND automation_id = ${automationId}`;
  await db.execute(
    sql`UPDATE hot.flow_step SET at = ${now}, happened_on = (${now}::timestamptz AT TIME ZONE 'UTC')::date
         WHERE ${ofFlow} AND reason = 'taken_out' AND at > now() - interval '1 hour'`,
  );
  await db.execute(
    sql`UPDATE hot.flow_entry SET ended_at = ${now} WHERE ${ofFlow} AND end_reason = 'taken_out' AND ended_at > now() - interval '1 hour'`,
  );
}

/** One person who waits at the node, in every version so far. Of a flow that is stopped nobody is called. */
export async function callPerson(
  ctx: Context,
  key: FlowKey & { readonly node: string },
  { versions, ...given }: Pick<Call, 'payload' | 'calledAt'> & { readonly versions: number; readonly personId: bigint },
): Promise<void> {
  await inTransaction(ctx, async (tx) => {
    if ((await automationStatus(tx.db, key, 'hold')) !== 'active') return;
    for (let version = 1; version <= versions; version += 1)
      await callRuns(tx, { ...key, version }, { ...given, afterId: 0n, max: 1_000 });
  });
}

/** Lets everybody on the list in. Goes on with the one before if its process has died. */
export async function beginEnrolment(
  ctx: Context,
  key: FlowKey & { readonly listId: bigint },
  before: Enrolment | undefined,
): Promise<Enrolment> {
  const whom = { rule: EVERYBODY, segmentUid: null, withoutTriggers: true };
  const counts = { confirmed: PEOPLE_MAX, enteredMax: PEOPLE_MAX, perHour: PER_HOUR_MAX, matching: 0 };
  const enrolment = (await insertEnrolment(ctx.db, { ...key, ...whom, ...counts })) ?? before;
  if (!enrolment) throw new Error('There is no enrolment.');
  return enrolment;
}

/** Its job. Of a flow that is stopped it would wait, and is cancelled. */
export async function enrolPeople(ctx: Context, enrolment: Enrolment, now: Date): Promise<void> {
  await workEnrolment(ctx, enrolment, { isStopping: () => false, isLastTry: false, now });
  await endEnrolment(ctx.db, enrolment, { status: 'cancelled' });
}
