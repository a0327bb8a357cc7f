/** Reads of automations for their owners: triggers and flows of many at once, and published versions. */
import { sql, row, typed, type Queryable } from '../../db/database.ts';
import type { NodeTargets } from './versions/checked-moves.ts';

export interface AutomationIds {
  readonly customerId: bigint;
  readonly ids: readonly bigint[];
}

/** A draft may have anything there: longer texts are no types of triggers. */
const TRIGGER_LENGTH_MAX = 40;

/** The types of their triggers, in the order of the ids: of the version that people enter, else of the draft. */
export async function triggersOf(db: Queryable, { customerId, ids }: AutomationIds): Promise<string[][]> {
  const rows = await db.query(
    { id: 'bigint', types: 'text[]' },
    sql`SELECT a.id, ARRAY(SELECT t #>> '{}' FROM jsonb_path_query(coalesce(v.flow, a.draft), 'lax $.triggers[*].type ? (@.type() == "string")') t LIMIT 10) AS types
          FROM automation a
          LEFT JOIN automation_version v ON v.customer_id = a.customer_id AND v.automation_id = a.id AND v.number = a.live_version
         WHERE a.customer_id = ${customerId} AND a.id = ANY (${[...ids]}::bigint[])`,
  );
  const found = new Map(rows.map(({ id, types }) => [id, types]));
  return ids.map((id) => (found.get(id) ?? []).filter(({ length }) => length <= TRIGGER_LENGTH_MAX));
}

/** The active automations of these lists, with the version that people enter. */
export function activeVersions(
  db: Queryable,
  {
    customerId,
    listIds,
    max,
  }: { readonly customerId: bigint; readonly listIds: readonly bigint[]; readonly max: number },
) {
  return db.query(
    { id: 'bigint', version: 'int', name: 'text' },
    sql`SELECT id, live_version AS version, name FROM automation
         WHERE customer_id = ${customerId} AND list_id = ANY (${[...listIds]}::bigint[]) AND status = 'active' AND live_version IS NOT NULL
         ORDER BY id LIMIT ${max}`,
    'automations.active_versions',
  );
}

/** The bytes of their drafts together. */
export async function draftBytes(db: Queryable, { customerId, ids }: AutomationIds): Promise<number> {
  const [found] = await db.query(
    { bytes: 'float8' },
    sql`SELECT coalesce(sum(octet_length(draft::text)), 0)::float8 AS bytes FROM automation
         WHERE customer_id = ${customerId} AND id = ANY (${[...ids]}::bigint[])`,
  );
  return found?.bytes ?? 0;
}

/** Their drafts, in the order of the ids; an empty one for an automation that is gone. */
export async function draftsOf(db: Queryable, { customerId, ids }: AutomationIds): Promise<unknown[]> {
  const rows = await db.query(
    { id: 'bigint', draft: 'json' },
    sql`SELECT id, draft FROM automation WHERE customer_id = ${customerId} AND id = ANY (${[...ids]}::bigint[])`,
  );
  const found = new Map(rows.map(({ id, draft }) => [id, draft]));
  return ids.map((id) => found.get(id) ?? {});
}

export interface VersionsOf {
  readonly customerId: bigint;
  readonly automationId: bigint;
}

const VERSION_HEAD = row({
  ...{ number: 'int', publishedBy: 'text?', publishedAt: 'timestamptz', bytes: 'int' },
  ...{ moves: typed<NodeTargets | null>('json?'), movedAt: 'timestamptz?' },
});

/** A published version without its flow. */
export type VersionHead = VersionsOf & {
  readonly number: number;
  /** Uid of the user; null or empty: a plugin, or nobody that is still known. */
  readonly publishedBy: string | null;
  readonly publishedAt: Date;
  /** Of its flow. */
  readonly bytes: number;
  /** Where people of earlier versions go; null: they finish on theirs. */
  readonly moves: NodeTargets | null;
  /** When all of them had been moved; null: they are being moved, or nobody is. */
  readonly movedAt: Date | null;
};

/** The versions before this one, the newest first; null: from the newest on. */
export async function versionsPage(
  db: Queryable,
  { customerId, automationId }: VersionsOf,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<VersionHead[]> {
  const rows = await db.query(
    VERSION_HEAD,
    sql`SELECT number, published_by AS "publishedBy", published_at AS "publishedAt", octet_length(flow::text) AS bytes, moves, moved_at AS "movedAt" FROM automation_version
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND (${before}::int IS NULL OR number < ${before}::int)
         ORDER BY number DESC LIMIT ${limit}`,
  );
  return rows.map((one) => ({ ...one, customerId, automationId }));
}

export async function countVersions(db: Queryable, { customerId, automationId }: VersionsOf): Promise<number> {
  const [found] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM automation_version WHERE customer_id = ${customerId} AND automation_id = ${automationId}`,
  );
  return found?.count ?? 0;
}
