/**
 * Erases the data of deleted lists and campaigns: people, ledgers, events, in slices with a transaction each. The tables come
 * from the catalogue: every one with an index that begins with customer and list or campaign; a new table needs no change here.
 * It continues after an interruption, and two at once do no harm. A deletion that fails is tried again later, so that the others
 * continue.
 */
import { join, raw, sql, row, typed, type Sql, type RowOf } from '../../db/database.ts';
import { ERASE_DELETED_KEY, ERASE_FAILED_KEY, eraseDeletedJob } from '../../jobs/account-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { messageOf } from '../../lib/errors.ts';
import { SOURCE_KINDS } from '../source-key.ts';
import type { Context } from '../context.ts';

/** Some tens of milliseconds each, so that nobody waits for long, and an interrupted job loses little. */
const ROWS_AT_ONCE = 5_000;
/** How often the progress is logged. */
const LOG_INTERVAL_MS = 10_000;
/**
 * When a failed deletion is tried again, which is also how often it is logged: four lines an hour are noticed and do not fill the
 * log.
 */
const RETRY_MINUTES = 15;

const DELETION_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  kind: typed<'list' | 'campaign'>('text'),
  targetId: 'bigint',
  uid: 'text',
  total: 'bigint',
});
type Deletion = RowOf<typeof DELETION_ROW>;

const GATHERED_ROW = row({
  table: 'text',
  /** The condition for rows of a list or campaign, up to the id. */
  owned: 'text',
  /** The column after customer and list or campaign in an index, and its type. */
  key: 'text',
  type: 'text',
  /** Its rows are counted as the deletion's progress. */
  isCounted: 'bool',
});
/** A plain table or a single partition. */
type Gathered = RowOf<typeof GATHERED_ROW>;

/** The table whose rows are counted, and the columns of the owner, in the order of an index. */
const TARGETS = {
  list: { counted: 'public.subscriber', owners: sql`(VALUES ('list_id', NULL))` },
  campaign: {
    counted: 'hot.delivery',
    owners: sql`(VALUES ('campaign_id', NULL), ('source_id', 'source_kind'))`,
  },
} as const;

/** Statistics are out of date: rows must be found by the index. */
const BY_INDEX = sql`SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`;

/** The job: erases all that is due. Another job continues when the process has to stop, or later with failed deletions. */
export async function eraseAllDeleted(ctx: Context, abortSignal: AbortSignal): Promise<void> {
  const isDone = await eraseDeleted(ctx, { isStopping: () => abortSignal.aborted });
  if (isDone) await enqueueFailedDeletions(ctx);
  else await enqueue(ctx.db, eraseDeletedJob, {}, { key: ERASE_DELETED_KEY });
}

/** Enqueues a job for the time at which the first failed deletion is tried again, if there is one. */
export async function enqueueFailedDeletions({ db }: Pick<Context, 'db'>): Promise<void> {
  const delaySeconds = await secondsUntilNextTry({ db });
  if (delaySeconds === undefined) return;
  await enqueue(db, eraseDeletedJob, {}, { key: ERASE_FAILED_KEY, delaySeconds });
}

/**
 * Erases all that is due, of one customer or of all, or until `isStopping`: then it returns false and has to be called again.
 * Failed deletions are tried later: `secondsUntilNextTry`.
 */
export async function eraseDeleted(
  ctx: Context,
  { customerId, isStopping }: { customerId?: bigint; isStopping: () => boolean },
): Promise<boolean> {
  const tables = { list: await gatheredBy(ctx, 'list'), campaign: await gatheredBy(ctx, 'campaign') };
  for (let deletion = await nextOf(ctx, customerId); deletion; deletion = await nextOf(ctx, customerId)) {
    try {
      if (!(await eraseAll(ctx, deletion, tables[deletion.kind], isStopping))) return false;
    } catch (error) {
      await postpone(ctx, deletion, error);
    }
  }
  return true;
}

async function eraseAll(
  ctx: Context,
  deletion: Deletion,
  tables: readonly Gathered[],
  isStopping: () => boolean,
): Promise<boolean> {
  for (const table of await filledOf(ctx, deletion, tables))
    if (!(await eraseFrom(ctx, deletion, table, isStopping))) return false;
  await ctx.db.execute(
    sql`DELETE FROM hot.deletion WHERE customer_id = ${deletion.customerId} AND id = ${deletion.id}`,
  );
  ctx.log.info('deletion.done', { kind: deletion.kind, uid: deletion.uid, records: deletion.total.toString() });
  return true;
}

/** Throws when the database does not answer: then the queue tries the whole job again. */
async function postpone({ db, log }: Context, { customerId, id, kind, uid }: Deletion, error: unknown): Promise<void> {
  await db.execute(sql`
    UPDATE hot.deletion SET next_try_at = now() + make_interval(mins => ${RETRY_MINUTES}::int)
     WHERE customer_id = ${customerId} AND id = ${id}`);
  log.error('deletion.failed', { kind, uid, message: messageOf(error), retryMinutes: RETRY_MINUTES });
}

/** When the next deletion is due; undefined when nothing is left to erase. */
async function secondsUntilNextTry({ db }: Pick<Context, 'db'>): Promise<number | undefined> {
  const [row] = await db.query(
    { seconds: 'float8?' },
    sql`SELECT extract(epoch FROM min(next_try_at) - now())::float8 AS seconds FROM hot.deletion`,
  );
  return typeof row?.seconds === 'number' ? Math.max(0, row.seconds) : undefined;
}

/** The oldest deletion that is due. */
async function nextOf({ db }: Context, customerId: bigint | undefined): Promise<Deletion | undefined> {
  const [deletion] = await db.query(
    DELETION_ROW,
    sql`
    SELECT customer_id AS "customerId", id, CASE WHEN is_list THEN 'list' ELSE 'campaign' END AS kind, target_id AS "targetId", uid, total FROM hot.deletion
     WHERE next_try_at <= now() AND ${customerId === undefined ? sql`true` : sql`customer_id = ${customerId}`} ORDER BY id LIMIT 1`,
  );
  return deletion;
}

/**
 * People first: while there are any, rows about them may still be written. Rows with foreign keys are deleted with the list or
 * campaign itself.
 */
async function gatheredBy({ db }: Context, kind: Deletion['kind']): Promise<readonly Gathered[]> {
  const { owners, counted } = TARGETS[kind];
  return db.query(
    GATHERED_ROW,
    sql`
    SELECT DISTINCT ON (is_counted, 1) format('%I.%I', n.nspname, c.relname) AS table, quote_ident(a.attname) AS key,
           format_type(a.atttypid, a.atttypmod) AS type, is_counted AS "isCounted",
           CASE WHEN t.kind IS NULL THEN t.owner ELSE format('%I = %s AND %I', t.kind, ${SOURCE_KINDS.campaign}::text, t.owner) END AS owned
      FROM pg_index i
      JOIN pg_class c ON c.oid = i.indrelid AND c.relkind = 'r'
      JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname IN ('public', 'hot')
      JOIN pg_attribute tenant ON tenant.attrelid = c.oid AND tenant.attnum = i.indkey[0] AND tenant.attname = 'customer_id'
     CROSS JOIN ${owners} AS t (owner, kind)
      JOIN pg_attribute first ON first.attrelid = c.oid AND first.attnum = i.indkey[1] AND first.attname = coalesce(t.kind, t.owner)
      JOIN pg_attribute second ON second.attrelid = c.oid AND second.attnum = i.indkey[2] AND (t.kind IS NULL OR second.attname = t.owner)
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[CASE WHEN t.kind IS NULL THEN 2 ELSE 3 END]
      LEFT JOIN pg_inherits h ON h.inhrelid = c.oid,
           LATERAL (SELECT coalesce(h.inhparent, c.oid) = ${counted}::regclass AS is_counted) k
     WHERE i.indpred IS NULL AND NOT EXISTS (
       SELECT 1 FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f')
     ORDER BY is_counted DESC, 1, i.indisprimary DESC`,
  );
}

/** The tables that have rows of it, found by one statement: most partitions have none. */
function filledOf({ database }: Context, { customerId, targetId }: Deletion, tables: readonly Gathered[]) {
  const questions = tables.map(
    ({ table, owned }, no) => sql`
      SELECT ${no}::int AS no WHERE EXISTS (
        SELECT 1 FROM ${raw(table)} WHERE customer_id = ${customerId} AND ${raw(owned)} = ${targetId})`,
  );
  return database.transaction(async (tx) => {
    await tx.execute(BY_INDEX);
    const found = await tx.query({ no: 'int' }, join(questions, ' UNION ALL '));
    const filled = new Set(found.map(({ no }) => no));
    return tables.filter((_, no) => filled.has(no));
  });
}

/** Erases all rows of the table in the order of an index, so that erased rows are not read again. */
async function eraseFrom(
  ctx: Context,
  deletion: Deletion,
  table: Gathered,
  isStopping: () => boolean,
): Promise<boolean> {
  let saidAt = performance.now();
  for (let from: string | null = null; ;) {
    if (isStopping()) return false;
    const slice = await eraseSlice(ctx, deletion, table, from);
    if (slice.rows < ROWS_AT_ONCE) return true;
    from = slice.last;
    if (performance.now() - saidAt < LOG_INTERVAL_MS) continue;
    saidAt = performance.now();
    const { kind, uid, total } = deletion;
    ctx.log.info('deletion.goes_on', {
      kind,
      uid,
      table: table.table,
      erased: slice.erased?.toString(),
      of: total.toString(),
    });
  }
}

async function eraseSlice(
  { database }: Context,
  deletion: Deletion,
  { table, owned, key, type, isCounted }: Gathered,
  from: string | null,
): Promise<{ rows: number; last: string | null; erased?: bigint | undefined }> {
  const { customerId, id, targetId } = deletion;
  // Names and types come from the catalogue, quoted.
  const behind: Sql = from === null ? sql`true` : sql`${raw(key)} >= ${from}::text::${raw(type)}`;
  return database.transaction(async (tx) => {
    await tx.execute(BY_INDEX);
    const [slice] = await tx.query(
      { rows: 'int', last: 'text?' },
      sql`
      WITH slice AS MATERIALIZED (
        SELECT ctid, ${raw(key)} AS key FROM ${raw(table)}
         WHERE customer_id = ${customerId} AND ${raw(owned)} = ${targetId} AND ${behind}
         ORDER BY ${raw(key)} LIMIT ${ROWS_AT_ONCE}::int
      ), gone AS (DELETE FROM ${raw(table)} WHERE ctid = ANY (ARRAY(SELECT ctid FROM slice)))
      SELECT count(*)::int AS rows, (SELECT key::text FROM slice ORDER BY key DESC LIMIT 1) AS last FROM slice`,
    );
    if (!isCounted) return { rows: slice?.rows ?? 0, last: slice?.last ?? null };
    const [row] = await tx.query(
      { erased: 'bigint' },
      sql`
      UPDATE hot.deletion SET erased = erased + ${slice?.rows ?? 0}
       WHERE customer_id = ${customerId} AND id = ${id} RETURNING erased`,
    );
    return { rows: slice?.rows ?? 0, last: slice?.last ?? null, erased: row?.erased };
  });
}
