/** Opens and clicks that flows ask for, as hot.note_activity_for_flows writes them down. Taken out in the transaction in which they act. */
import { row, sql, type Queryable, type Transaction } from '../../../db/database.ts';
import { LAST_PERSON_EVENT_ID } from '../../../events/person-event-read-model.ts';
import { mailOfCause } from '../../delivery/flow-mails/flow-mail.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import type { FlowBehind } from './flow-follower-store.ts';
import type { OpenOrClick } from '../flow/open-or-click.ts';
import type { VersionKey } from '../runs/run.ts';

type FlowKey = Pick<VersionKey, 'customerId' | 'automationId'>;

export interface ActivityAsked {
  /** Whether the flow asks for opens or clicks of its own mails. */
  readonly mails: boolean;
  /** Uids of campaigns of which it does; empty: of all to its list; null: of none. */
  readonly campaigns: readonly string[] | null;
}

/**
 * From now on. People may still be in an earlier version that asks for mails, so those are read once they were. `isAnew`: what waits to be
 * read does nothing.
 */
export async function readActivityFromNow(
  tx: Transaction,
  { customerId, automationId }: FlowKey,
  { mails, campaigns, isAnew }: ActivityAsked & { readonly isAnew: boolean },
): Promise<void> {
  await tx.execute(
    sql`INSERT INTO hot.flow_follower AS f (customer_id, automation_id, position, reads_mails, reads_campaigns)
        VALUES (${customerId}, ${automationId}, ${LAST_PERSON_EVENT_ID}, ${mails}, ${campaigns === null ? null : [...campaigns]}::text[])
        ON CONFLICT (customer_id, automation_id) DO UPDATE
          SET reads_mails = f.reads_mails OR excluded.reads_mails, reads_campaigns = excluded.reads_campaigns`,
    'automations.read_activity',
  );
  if (isAnew)
    await tx.execute(
      sql`DELETE FROM hot.flow_activity WHERE customer_id = ${customerId} AND automation_id = ${automationId}`,
      'automations.discard_activity',
    );
}

const BEHIND_ROW = row({ customerId: 'bigint', automationId: 'bigint', version: 'int', listId: 'bigint' });

/**
 * Each flow of which something is in the queue, with the time when its first is due: one look-up by key for each, however many wait of a flow
 * that is stopped.
 */
export const FLOWS_IN_QUEUE = sql`
  WITH RECURSIVE first AS (
    (SELECT q.customer_id, q.automation_id, q.due_at FROM hot.flow_activity q ORDER BY q.customer_id, q.automation_id, q.id LIMIT 1)
    UNION ALL
    SELECT n.* FROM first f CROSS JOIN LATERAL (
      SELECT q.customer_id, q.automation_id, q.due_at FROM hot.flow_activity q
       WHERE (q.customer_id, q.automation_id) > (f.customer_id, f.automation_id) ORDER BY q.customer_id, q.automation_id, q.id LIMIT 1) n
  )
  SELECT customer_id, automation_id, due_at FROM first`;

/** Active flows with opens or clicks to look at, in any order: none comes first always (D89). `version` is the one that people enter. */
export function flowsWithActivity(db: Queryable, max: number): Promise<FlowBehind[]> {
  return db.query(
    BEHIND_ROW,
    sql`SELECT a.customer_id AS "customerId", a.id AS "automationId", a.live_version AS version, a.list_id AS "listId"
          FROM (${FLOWS_IN_QUEUE}) q
          JOIN automation a ON a.customer_id = q.customer_id AND a.id = q.automation_id AND a.status = 'active' AND a.live_version IS NOT NULL
          JOIN hot.flow_follower f ON f.customer_id = a.customer_id AND f.automation_id = a.id AND (f.retry_at IS NULL OR f.retry_at <= clock_timestamp())
         WHERE q.due_at <= now()
         ORDER BY random() LIMIT ${max}`,
    'automations.flows_with_activity',
  );
}

const TAKEN_ROW = row({
  id: 'bigint',
  personId: 'bigint',
  at: 'timestamptz',
  isClick: 'bool',
  isMachine: 'bool',
  url: 'text?',
  campaignUid: 'text?',
  cause: 'text?',
});

/** Takes the next ones out, in the order in which they were recorded; the flow's position is held. Of those who were erased there is nothing. */
export async function takeActivity(
  tx: Transaction,
  { customerId, automationId }: FlowKey,
  max: number,
): Promise<readonly OpenOrClick[]> {
  const rows = await tx.query(
    TAKEN_ROW,
    sql`WITH taken AS (
          DELETE FROM hot.flow_activity q
           WHERE q.customer_id = ${customerId} AND q.automation_id = ${automationId}
             AND q.id = ANY (ARRAY(SELECT q.id FROM hot.flow_activity q WHERE q.customer_id = ${customerId} AND q.automation_id = ${automationId}
                                      AND q.due_at <= now() ORDER BY q.id LIMIT ${max}))
          RETURNING q.*
        )
        SELECT q.id, q.person_id AS "personId", q.at, q.is_click AS "isClick", e.is_machine AS "isMachine", e.url, c.uid AS "campaignUid", m.cause
          FROM taken q
         CROSS JOIN LATERAL (
           SELECT k.is_machine, k.url, k.occurrence FROM hot.click_event k
            WHERE q.is_click AND k.customer_id = q.customer_id AND k.source_kind = q.source_kind AND k.source_id = q.source_id AND k.at = q.at AND k.id = q.event_id
              AND k.recipient_id = q.person_id
           UNION ALL
           SELECT o.is_machine, NULL, o.occurrence FROM hot.open_event o
            WHERE NOT q.is_click AND o.customer_id = q.customer_id AND o.source_kind = q.source_kind AND o.source_id = q.source_id AND o.at = q.at AND o.id = q.event_id
              AND o.recipient_id = q.person_id OFFSET 0) e
          LEFT JOIN LATERAL (SELECT c.uid FROM campaign c WHERE q.source_kind = ${SOURCE_KINDS.campaign} AND c.customer_id = q.customer_id AND c.id = q.source_id OFFSET 0) c ON true
          LEFT JOIN LATERAL (SELECT m.cause FROM hot.message m WHERE q.source_kind = ${SOURCE_KINDS.automation} AND m.customer_id = q.customer_id AND m.id = e.occurrence OFFSET 0) m ON true
         ORDER BY q.id`,
    'automations.take_activity',
  );
  return rows.map(({ isClick, cause, ...one }) => ({
    ...one,
    ...{
      kind: isClick ? 'clicked' : 'opened',
      recordedAt: one.at,
      depth: 0,
      startsFlows: true,
      name: null,
      data: null,
    },
    mail: cause === null ? null : mailOfCause(cause),
  }));
}
