/** Reads and writes of segments. */
import { empty, sql, row, typed, type Queryable, type RowOf } from '../../../db/database.ts';
import type { Segment, SegmentRule } from './segment.ts';

const COLUMNS = sql`customer_id AS "customerId", id, uid, list_id AS "listId", name, rule`;

type SegmentRow = Segment & Record<string, unknown>;

const SEGMENT_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  uid: 'text',
  listId: 'bigint',
  name: 'text',
  rule: typed<SegmentRow['rule']>('json'),
});

/** The customer's segment with this uid; `lock` prevents its deletion, or its use, until the transaction ends. */
export async function findSegment(
  db: Queryable,
  { customerId, uid }: { customerId: bigint; uid: string },
  lock: 'none' | 'use' | 'change' = 'none',
): Promise<Segment | undefined> {
  const locking = { none: empty, use: sql`FOR KEY SHARE`, change: sql`FOR UPDATE` }[lock];
  const [segment] = await db.query(
    SEGMENT_ROW,
    sql`SELECT ${COLUMNS} FROM segment WHERE customer_id = ${customerId} AND uid = ${uid} ${locking}`,
  );
  return segment;
}

/** Whether any customer has a segment with this uid. */
export async function segmentExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM segment WHERE uid = ${uid}`)) > 0;
}

export interface NewSegment {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly uid: string;
  readonly name: string;
  readonly rule: SegmentRule;
}

export async function insertSegment(db: Queryable, segment: NewSegment): Promise<void> {
  await db.execute(sql`
    INSERT INTO segment (customer_id, list_id, uid, name, rule)
    VALUES (${segment.customerId}, ${segment.listId}, ${segment.uid}, ${segment.name}, ${JSON.stringify(segment.rule)}::jsonb)`);
}

/** Writes the given values; undefined changes nothing. */
export async function writeSegment(
  db: Queryable,
  { customerId, id }: Pick<Segment, 'customerId' | 'id'>,
  { name, rule }: { readonly name?: string | undefined; readonly rule?: SegmentRule | undefined },
): Promise<void> {
  await db.execute(sql`
    UPDATE segment SET name = coalesce(${name ?? null}, name), updated_at = now(),
           rule = coalesce(${rule === undefined ? null : JSON.stringify(rule)}::jsonb, rule)
     WHERE customer_id = ${customerId} AND id = ${id}`);
}

export async function countSegments(db: Queryable, list: { customerId: bigint; id: bigint }): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM segment WHERE customer_id = ${list.customerId} AND list_id = ${list.id}`,
  );
  return row?.count ?? 0;
}

/** Names of campaigns that still need the segment: at most `max`, the oldest first. */
export async function campaignsInNeed(db: Queryable, { customerId, id }: Segment, max: number): Promise<string[]> {
  const rows = await db.query(
    { name: 'text' },
    sql`
    SELECT name FROM campaign WHERE customer_id = ${customerId} AND segment_id = ${id} AND status <> 'done'
     ORDER BY id LIMIT ${max}`,
  );
  return rows.map(({ name }) => name);
}

const NAMED_CAMPAIGN_ROW = row({
  uid: 'text',
  customerId: 'bigint',
  listId: 'bigint',
});
export type NamedCampaign = RowOf<typeof NAMED_CAMPAIGN_ROW>;

/** The campaigns with these uids, of any customer. */
export function campaignsNamed(db: Queryable, uids: readonly string[]): Promise<NamedCampaign[]> {
  return db.query(
    NAMED_CAMPAIGN_ROW,
    sql`SELECT uid, customer_id AS "customerId", list_id AS "listId" FROM campaign WHERE uid = ANY (${[...uids]}::text[])`,
  );
}

/** Deletes the segment; finished campaigns keep their copy. */
export async function eraseSegment(db: Queryable, { customerId, id, listId }: Segment): Promise<void> {
  await db.execute(sql`
    UPDATE campaign SET segment_id = NULL WHERE customer_id = ${customerId} AND list_id = ${listId} AND segment_id = ${id}`);
  await db.execute(sql`DELETE FROM segment WHERE customer_id = ${customerId} AND id = ${id}`);
}

export interface SegmentName {
  readonly uid: string;
  readonly name: string;
}

/** Names of several segments of one customer, in the order asked for, in one statement. */
export async function segmentNames(
  db: Queryable,
  customerId: bigint,
  ids: readonly bigint[],
): Promise<(SegmentName | null)[]> {
  const rows = await db.query(
    { uid: 'text', name: 'text', id: 'bigint' },
    sql`SELECT id, uid, name FROM segment WHERE customer_id = ${customerId} AND id = ANY (${[...ids]}::bigint[])`,
  );
  const byId = new Map(rows.map(({ id, uid, name }) => [id, { uid, name }]));
  return ids.map((id) => byId.get(id) ?? null);
}

export async function ruleOfSegment(
  db: Queryable,
  { customerId, id }: Pick<Segment, 'customerId' | 'id'>,
): Promise<SegmentRule | undefined> {
  const [segment] = await db.query(
    { rule: typed<SegmentRule>('json') },
    sql`SELECT rule FROM segment WHERE customer_id = ${customerId} AND id = ${id}`,
  );
  return segment?.rule;
}
