/** What the product has written down of a history, and the opens and clicks of its mails at the time of the history. */
import { performance } from 'node:perf_hooks';
import { sql } from '../../src/db/database.ts';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { SOURCE_KINDS } from '../../src/domain/source-key.ts';
import { subscriberUid } from '../../src/lib/ids.ts';
import { recordTrackingEvents } from '../support/record-tracking-events.ts';
import type { Mail, PersonThere, Step, Firing } from './flow-data.ts';
import type { FlowTrace } from './flow-reference.ts';
import type { DayCounts } from './triggers.ts';
import { nameOf, waitLines, type NodeCounts, type Waiting } from './runs.ts';
import type { Stage } from './stage.ts';

export interface Rows {
  readonly stage: Stage;
  readonly key: { readonly customerId: bigint; readonly automationId: bigint };
  readonly ids: readonly bigint[];
  readonly emails: readonly string[];
  /** Of entries, by runs. */
  readonly keys: Map<bigint, string>;
}

/** An entry knows its last run only: before it gets another one. */
export async function rememberKeys({ stage: { ctx }, key, keys }: Rows): Promise<void> {
  const rows = await queryRows<{ run: bigint; key: string }>(
    ctx.db,
    sql`SELECT run_id AS run, entry_key AS key FROM hot.flow_entry
         WHERE customer_id = ${key.customerId} AND automation_id = ${key.automationId}`,
  );
  for (const { run, key: entryKey } of rows) keys.set(run, entryKey);
}

/** What became of people in the flow. */
export async function traceOf(rows: Rows): Promise<Omit<FlowTrace, 'waits'>> {
  const { steps, names } = await stepsOf(rows);
  return { steps, mails: await mailsOf(rows, names), fired: await firedOf(rows), counts: await countsOf(rows) };
}

/** The history of everybody, and the names of runs by their ids. */
async function stepsOf(given: Rows) {
  const { stage, key, ids, keys } = given;
  await rememberKeys(given);
  const rows = await queryRows<
    Omit<Step, 'at' | 'person' | 'run'> & { at: Date; person: bigint; enteredAt: Date; runId: bigint }
  >(
    stage.ctx.db,
    sql`SELECT s.at, s.person_id AS person, s.run_id AS "runId", s.node, s.what, s.port, s.reason,
               min(s.at) OVER (PARTITION BY s.run_id) AS "enteredAt" FROM hot.flow_step s
         WHERE s.customer_id = ${key.customerId} AND s.automation_id = ${key.automationId} ORDER BY s.at, s.run_id, s.no`,
  );
  const names = new Map<bigint, string>();
  const steps = rows.map(({ at, person, enteredAt, runId, ...step }): Step => {
    const run = nameOf({ key: keys.get(runId) ?? '', enteredAt });
    names.set(runId, run);
    return { ...step, at: at.getTime(), person: ids.indexOf(person), run };
  });
  return { steps, names };
}

export async function waitsOf({ stage: { ctx }, key, ids }: Rows): Promise<readonly string[]> {
  const rows = await queryRows<Waiting & { id: bigint }>(
    ctx.db,
    sql`SELECT person_id AS id, entry_key AS key, entered_at AS "enteredAt", node, wake_at AS wake FROM hot.flow_run
         WHERE customer_id = ${key.customerId} AND automation_id = ${key.automationId}`,
  );
  return waitLines(rows.map(({ id, ...run }) => ({ ...run, person: ids.indexOf(id) })));
}

export async function peopleOf({ stage: { ctx }, key, ids }: Rows): Promise<PersonThere[]> {
  const rows = await queryRows<{ id: bigint; status: string; tags: string[]; level: string }>(
    ctx.db,
    sql`SELECT id, status, tags, coalesce(fields ->> 'LEVEL', '') AS level FROM subscriber WHERE customer_id = ${key.customerId} AND id = ANY (${ids}::bigint[])`,
  );
  const byId = new Map(rows.map(({ id, ...person }) => [id, person]));
  return ids.map((id) => byId.get(id) ?? { status: 'deleted', tags: [], level: '' });
}

/** The same addresses on the other list. */
export async function thereOf({ stage: { ctx, other }, key, emails }: Rows): Promise<(PersonThere | undefined)[]> {
  const rows = await queryRows<PersonThere & { email: string }>(
    ctx.db,
    sql`SELECT email, status, tags, coalesce(fields ->> 'LEVEL', '') AS level FROM subscriber
         WHERE customer_id = ${key.customerId} AND list_id = ${other.id} AND email = ANY (${emails}::text[])`,
  );
  const byEmail = new Map(rows.map(({ email, ...person }) => [email, person]));
  return emails.map((email) => byEmail.get(email));
}

async function mailsOf(
  { stage: { ctx, templates }, key, ids }: Rows,
  names: ReadonlyMap<bigint, string>,
): Promise<Mail[]> {
  const rows = await queryRows<{ person: bigint; cause: string; template: string }>(
    ctx.db,
    sql`SELECT m.recipient_id AS person, m.cause, m.content ->> 'templateUid' AS template FROM hot.message m
         WHERE m.customer_id = ${key.customerId} AND m.source_kind = ${SOURCE_KINDS.automation} AND m.source_id = ${key.automationId} ORDER BY m.id`,
  );
  const letters = new Map([...templates].map(([letter, uid]) => [uid, letter]));
  return rows.map(({ person, cause, template }) => {
    const [, runId = '0', node = '', pass = '0'] = cause.split(' ');
    const run = names.get(BigInt(runId)) ?? 'nobody';
    return { person: ids.indexOf(person), run, node, pass: Number(pass), template: letters.get(template) ?? template };
  });
}

async function firedOf({ stage: { ctx }, key, ids }: Rows): Promise<Firing[]> {
  const rows = await queryRows<{ node: string; subscriber: string }>(
    ctx.db,
    sql`SELECT d.body ->> 'node' AS node, d.body ->> 'subscriber_uid' AS subscriber
          FROM (SELECT convert_from(payload, 'UTF8')::jsonb AS body FROM hot.webhook_delivery
                 WHERE customer_id = ${key.customerId} AND event = 'automation_webhook') d
         WHERE (d.body ->> 'automation_id')::bigint = ${key.automationId}`,
  );
  const uids = ids.map(subscriberUid);
  return rows.map(({ node, subscriber }) => ({ node, person: uids.indexOf(subscriber) }));
}

async function countsOf({ stage: { ctx }, key }: Rows): Promise<Map<string, NodeCounts>> {
  const rows = await queryRows<NodeCounts & { version: number; node: string }>(
    ctx.db,
    sql`SELECT version::int, node, entered::int, waiting::int, passed::int, "left"::int, parked::int FROM hot.flow_node
         WHERE customer_id = ${key.customerId} AND automation_id = ${key.automationId}`,
  );
  return new Map(rows.map(({ version, node, ...counts }) => [`${version - 1} ${node}`, counts]));
}

/** What came of dates and timetables. */
export async function daysOf({ stage: { ctx }, key }: Rows): Promise<Map<string, DayCounts>> {
  const rows = await queryRows<DayCounts & { day: string }>(
    ctx.db,
    sql`SELECT day::text, sum(entered)::int AS entered, sum(refused)::int AS refused, sum(not_matching)::int AS "notMatching", sum(late)::int AS late
          FROM hot.flow_slot WHERE customer_id = ${key.customerId} AND automation_id = ${key.automationId} GROUP BY day`,
  );
  return new Map(rows.map(({ day, ...counts }) => [day, counts]));
}

export interface MailAct {
  readonly do: 'open' | 'click';
  readonly at: number;
  readonly personId: bigint;
  readonly node: string;
  readonly isMachine: boolean;
  /** Acts so far: those within a second are a machine's. */
  readonly no: number;
}

const LINK = 'https://shop.example/';
const BEFORE_MS = 3_000_000;
const APART_MS = 5_000;

/** Opens or clicks the last mail to the person from this node; nothing without one. It is recorded as requests are, and then moved to its time. */
export async function actOnMail({ stage: { ctx, list }, key }: Rows, act: MailAct): Promise<void> {
  const { customerId, automationId } = key;
  const [mail] = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`SELECT m.id FROM hot.message m
          JOIN subscriber s ON s.customer_id = m.customer_id AND s.id = m.recipient_id AND s.list_id = ${list.id}
         WHERE m.customer_id = ${customerId} AND m.source_kind = ${SOURCE_KINDS.automation} AND m.source_id = ${automationId}
           AND m.recipient_id = ${act.personId} AND split_part(m.cause, ' ', 3) = ${act.node} ORDER BY m.id DESC LIMIT 1`,
  );
  if (!mail) return;
  const recipient = {
    ...{ customerId, listId: list.id, sourceKind: SOURCE_KINDS.automation, sourceId: automationId },
    ...{ recipientId: act.personId, occurrence: mail.id },
  };
  const visitor = { ip: '192.0.2.7', userAgent: 'Reader/1', isMachine: act.isMachine, looksAhead: false };
  const isClick = act.do === 'click';
  const cameAt = performance.now() - BEFORE_MS + act.no * APART_MS;
  await recordTrackingEvents(ctx, [
    { recipient, visitor, url: isClick ? LINK : null, linkNo: isClick ? 0 : null, cameAt },
  ]);
  for (const table of ['hot.open_event', 'hot.click_event', 'hot.flow_activity'])
    await ctx.db.execute(
      sql`UPDATE ${sql([table])} SET at = ${new Date(act.at)} WHERE customer_id = ${customerId} AND at > now() - interval '2 hours'`,
    );
}
