/**
 * Finds what published flows use: in the version that people enter, and in earlier ones that people are still in. A flow is JSON: its parts are
 * searched by a path, whatever their types are.
 */
import { sql, raw, row, type Queryable, type Sql } from '../../db/database.ts';
import { FLOWS_READ_MAX, namesField, type FlowUse } from './flow-use.ts';

const FLOW_USE = row({ automation: 'text', places: 'text[]' });

/** Of an automation `a` and its version `v`. */
const IS_IN_USE = sql`(v.number = a.live_version OR EXISTS (
  SELECT 1 FROM hot.flow_node n
   WHERE n.customer_id = v.customer_id AND n.automation_id = v.automation_id AND n.version = v.number AND n.waiting + n.parked > 0))`;

/** Where the part stands, and which one it is; `place` orders them. */
const PARTS = sql`(
  SELECT 1 AS kind, no, 'trigger ' || no AS place, part FROM jsonb_array_elements(v.flow -> 'triggers') WITH ORDINALITY t(part, no)
  UNION ALL SELECT 2, no, part ->> 'id', part FROM jsonb_array_elements(v.flow -> 'nodes') WITH ORDINALITY t(part, no)
  UNION ALL SELECT 3, no, 'goal ' || (part ->> 'id'), part FROM jsonb_array_elements(v.flow -> 'goals') WITH ORDINALITY t(part, no)
  UNION ALL SELECT 4, no, 'exit ' || (part ->> 'id'), part FROM jsonb_array_elements(v.flow -> 'exits') WITH ORDINALITY t(part, no))`;

interface Search {
  /** Absent: flows of all customers. */
  readonly customerId?: bigint;
  /** Only flows of this list; absent: of any. */
  readonly listId?: bigint;
  /** Of automations `a` and parts `p`. */
  readonly isUsed: Sql;
}

async function search(db: Queryable, { customerId, listId, isUsed }: Search): Promise<FlowUse[]> {
  const ofList = listId === undefined ? sql`` : sql`AND a.list_id = ${listId}`;
  const ofCustomer = customerId === undefined ? sql`` : sql`AND a.customer_id = ${customerId}`;
  return db.query(
    FLOW_USE,
    sql`SELECT found.name AS automation, array_agg(found.place ORDER BY found.kind, found.no) AS places
          FROM (SELECT DISTINCT a.id, a.name, p.kind, p.no, p.place
                  FROM automation a
                  JOIN automation_version v ON v.customer_id = a.customer_id AND v.automation_id = a.id
                 CROSS JOIN LATERAL ${PARTS} p
                 WHERE ${IS_IN_USE} ${ofCustomer} ${ofList} AND ${isUsed}) found
         GROUP BY found.id, found.name ORDER BY found.id LIMIT ${FLOWS_READ_MAX}`,
  );
}

function has(path: string, value: string, part = sql`p.part`): Sql {
  return sql`jsonb_path_exists(${part}, ${raw(`'${path}'`)}, jsonb_build_object('wanted', ${value}::text), true)`;
}

interface Named {
  readonly customerId: bigint;
  readonly uid: string;
}

/** Flows that send the template. */
export function flowsWithTemplate(db: Queryable, { customerId, uid }: Named): Promise<FlowUse[]> {
  return search(db, { customerId, isUsed: has('$.templateUid ? (@ == $wanted)', uid) });
}

/** Flows that begin by the segment. */
export function flowsWithSegment(db: Queryable, { customerId, uid }: Named): Promise<FlowUse[]> {
  return search(db, { customerId, isUsed: has('$.**.segmentUid ? (@ == $wanted)', uid) });
}

/** Active flows of all customers that ask the plugin (`vendor/name`), also by a segment that begins them, or wait for its events. */
export function flowsWithPlugin(db: Queryable, plugin: string): Promise<FlowUse[]> {
  const path = '$.**.plugin ? (@ == $wanted)';
  const isInSegment = sql`EXISTS (
    SELECT 1 FROM segment s
     WHERE s.customer_id = a.customer_id AND s.uid = p.part ->> 'segmentUid' AND ${has(path, plugin, sql`s.rule`)})`;
  return search(db, { isUsed: sql`a.status = 'active' AND (${has(path, plugin)} OR ${isInSegment})` });
}

/** Flows of other lists that copy or move people to the list. */
export function flowsToList(db: Queryable, { customerId, uid }: Named): Promise<FlowUse[]> {
  return search(db, { customerId, isUsed: has('$.listUid ? (@ == $wanted)', uid) });
}

/**
 * Flows of the list that set the field, wait for it, ask about it, or send a mail that names it: by a merge tag or in Liquid, as campaigns name
 * fields.
 */
export function flowsWithField(
  db: Queryable,
  { customerId, listId, tag }: { readonly customerId: bigint; readonly listId: bigint; readonly tag: string },
): Promise<FlowUse[]> {
  const named = namesField(tag);
  const isInMail = sql`(p.part ->> 'subject' ~* ${named} OR EXISTS (
    SELECT 1 FROM template t
     WHERE t.customer_id = a.customer_id AND t.uid = p.part ->> 'templateUid' AND concat_ws(' ', t.subject, t.preheader, t.html, t.plain) ~* ${named}))`;
  const isUsed = sql`(${has('$.**.field ? (@ == $wanted || @.tag == $wanted)', tag)} OR (p.part ->> 'type' = 'send_mail' AND ${isInMail}))`;
  return search(db, { customerId, listId, isUsed });
}

/** Flows of active automations whose lists have a sender with this address, or at this domain or below it: the nodes that send mails. */
export function flowsOfSender(
  db: Queryable,
  {
    customerId,
    ...sender
  }: { readonly customerId: bigint } & ({ readonly email: string } | { readonly domain: string }),
): Promise<FlowUse[]> {
  const address =
    'email' in sender
      ? sql`lower(l.from_email) = lower(${sender.email})`
      : sql`right('.' || lower(split_part(l.from_email, '@', 2)), ${sender.domain.length + 1}) = '.' || ${sender.domain}::text`;
  return search(db, {
    customerId,
    isUsed: sql`p.part ->> 'type' = 'send_mail' AND a.status = 'active' AND EXISTS (
      SELECT 1 FROM mail_list l WHERE l.customer_id = a.customer_id AND l.id = a.list_id AND ${address})`,
  });
}

/** Names of the first active automations of the list. */
export async function activeFlowsOfList(
  db: Queryable,
  { customerId, id }: { readonly customerId: bigint; readonly id: bigint },
): Promise<string[]> {
  const rows = await db.query(
    { name: 'text' },
    sql`SELECT name FROM automation WHERE customer_id = ${customerId} AND list_id = ${id} AND status = 'active' ORDER BY id LIMIT ${FLOWS_READ_MAX}`,
  );
  return rows.map(({ name }) => name);
}
