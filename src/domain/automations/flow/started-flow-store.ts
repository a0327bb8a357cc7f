/** Flows that other flows start: the one that a node names, and whether starting leads back. */
import { row, sql, type Queryable } from '../../../db/database.ts';

interface StartedFlow {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly uid: string;
}

const STARTED_ROW = row({ automationId: 'bigint', version: 'int?', isActive: 'bool' });

/** The flow of the list with this uid; it can be neither stopped nor deleted before the transaction ends. */
export async function holdStartedFlow(db: Queryable, { customerId, listId, uid }: StartedFlow) {
  const [found] = await db.query(
    STARTED_ROW,
    sql`SELECT a.id AS "automationId", a.live_version AS version, a.status = 'active' AS "isActive" FROM automation a
         WHERE a.customer_id = ${customerId} AND a.uid = ${uid} AND a.list_id = ${listId} FOR KEY SHARE`,
    'automations.hold_started_flow',
  );
  return found;
}

const LEADS_ROW = row({ uid: 'text', isThere: 'bool', leadsBack: 'bool' });

/** Of flows that a draft starts: whether the list has them, and whether their published versions start the draft's own flow again. */
export function whereStartsLead(db: Queryable, { customerId, listId, uid }: StartedFlow, uids: readonly string[]) {
  return db.query(
    LEADS_ROW,
    sql`WITH RECURSIVE started AS (
          SELECT g.uid AS root, g.uid FROM unnest(${[...uids]}::text[]) AS g (uid)
          UNION
          SELECT s.root, n.node ->> 'automationUid'
            FROM started s
            JOIN automation a ON a.customer_id = ${customerId} AND a.list_id = ${listId} AND a.uid = s.uid AND a.uid <> ${uid}
            JOIN automation_version v ON v.customer_id = a.customer_id AND v.automation_id = a.id AND v.number = a.live_version
           CROSS JOIN LATERAL jsonb_path_query(v.flow, '$.nodes[*] ? (@.type == "start_flow")') AS n (node)
        )
        SELECT s.root AS uid, bool_or(s.uid = ${uid}) AS "leadsBack",
               EXISTS (SELECT 1 FROM automation a WHERE a.customer_id = ${customerId} AND a.list_id = ${listId} AND a.uid = s.root) AS "isThere"
          FROM started s GROUP BY s.root`,
    'automations.where_starts_lead',
  );
}

/** Automations named in an error message. */
const STARTING_MAX = 5;
const STARTING_ROW = row({ automation: 'text', nodes: 'text[]' });

/** Other active automations that start this one, with the nodes: by the version that people enter, or one that they are still in. */
export function flowsStarting(db: Queryable, { customerId, uid }: Pick<StartedFlow, 'customerId' | 'uid'>) {
  return db.query(
    STARTING_ROW,
    sql`SELECT a.name AS automation, array_agg(DISTINCT n.node ->> 'id') AS nodes
          FROM automation a
          JOIN automation_version v ON v.customer_id = a.customer_id AND v.automation_id = a.id
         CROSS JOIN LATERAL jsonb_path_query(v.flow, '$.nodes[*] ? (@.type == "start_flow")') AS n (node)
         WHERE a.customer_id = ${customerId} AND a.status = 'active' AND a.uid <> ${uid} AND n.node ->> 'automationUid' = ${uid}
           AND (v.number = a.live_version OR EXISTS (
             SELECT 1 FROM hot.flow_node f
              WHERE f.customer_id = v.customer_id AND f.automation_id = v.automation_id AND f.version = v.number AND f.waiting + f.parked > 0))
         GROUP BY a.id, a.name ORDER BY a.id LIMIT ${STARTING_MAX}`,
  );
}
