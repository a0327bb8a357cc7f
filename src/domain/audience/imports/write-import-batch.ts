/**
 * Writes one batch of an import in one transaction: new people, changes of known ones, rejected lines, and the
 * progress by which a restart knows exactly where to go on.
 */
import { sql, type Transaction } from '../../../db/database.ts';
import { notify } from '../../../db/listen.ts';
import type { Context } from '../../context.ts';
import { rememberTags } from '../subscriber-store.ts';
import { EVERY_CUSTOMER } from '../suppression.ts';
import { COPY_PEOPLE, COPY_REJECTIONS, copyPeople, copyRejections } from './copy-text.ts';
import type { ImportBatch, Rejection } from './import-batch.ts';
import type { ImportRun } from './import-run.ts';
import { findKnownPeople, updateKnownPeople } from './known-people.ts';
import { IMPORT_CHANNEL } from './list-import.ts';
import type { Person } from './person.ts';

/** Somebody added the same address at the same moment; the second try sees them. More tries would show a defect. */
const TRIES_MAX = 5;
const UNIQUE_VIOLATION = '23505';
/** At most four times a second: more is no livelier. */
const TELL_INTERVAL_MS = 250;
/** The triggers that keep a list's counters hold the new rows of a batch in memory. */
const WORK_MEM = '64MB';

/** Writes the batch. Answers false when the import is over (cancelled, deleted) or another process has gone on with it. */
export async function writeImportBatch(ctx: Context, run: ImportRun, batch: ImportBatch): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      const isWritten = await ctx.database.transaction((tx) => write(tx, run, batch));
      if (isWritten && run.seen) for (const key of batch.people.keys()) run.seen.add(key);
      return isWritten;
    } catch (error) {
      if (!isUniqueViolation(error) || attempt >= TRIES_MAX) throw error;
      // From now on everybody is looked up.
      run.seen = undefined;
    }
  }
}

async function write(tx: Transaction, run: ImportRun, batch: ImportBatch): Promise<boolean> {
  const { found, list, seen, source, reader } = run;
  const open = await openBatch(tx, run, batch);
  if (!open) return false;
  const everybody = [...batch.people.values()];
  const suppressed = open.hasSuppressions ? await findSuppressed(tx, run, everybody) : new Map<string, string>();
  const allowed = suppressed.size > 0 ? everybody.filter(({ key }) => !suppressed.has(key)) : everybody;
  const known = await findKnownPeople(tx, run, seen ? allowed.filter(({ key }) => seen.mayHave(key)) : allowed);
  const added = known.keys.size > 0 ? allowed.filter(({ key }) => !known.keys.has(key)) : allowed;
  if (added.length > 0)
    await tx.copy(
      COPY_PEOPLE,
      copyPeople({
        people: added,
        fieldColumns: reader.fieldColumns,
        customerId: list.customerId,
        listId: list.id,
        source,
      }),
    );
  await logOtherStatuses(tx, run, added);
  const updated = await updateKnownPeople(tx, run, known.changed);
  await rememberNewTags(tx, run, [...added, ...known.changed.map(({ person }) => person)]);
  const rejections = [...batch.rejections, ...suppressedLines(everybody, suppressed)];
  if (rejections.length > 0) await tx.copy(COPY_REJECTIONS, copyRejections(found, rejections));
  await moveOn(tx, run, batch, {
    added: added.length,
    updated: updated + batch.repeatsChanged,
    unchanged: known.keys.size - updated + batch.repeatsSame,
    rejected: rejections.length,
  });
  await tell(tx, run);
  return true;
}

/** Locks list and import and checks that the batch is the next one. Lists are locked before imports, as by a deletion. */
async function openBatch(
  tx: Transaction,
  { found }: ImportRun,
  batch: ImportBatch,
): Promise<{ hasSuppressions: boolean } | undefined> {
  const { customerId, listId, id } = found;
  const [row] = await tx.query<{ status: string; at: bigint; hasSuppressions: boolean }>(
    sql`SELECT i.status, i.bytes_processed AS at, set_config('work_mem', ${WORK_MEM}, true), set_config('plan_cache_mode', 'force_generic_plan', true),
               set_config('synchronous_commit', 'off', true),
               EXISTS (SELECT 1 FROM suppression WHERE customer_id IN (${customerId}, ${EVERY_CUSTOMER})) AS "hasSuppressions"
          FROM mail_list l JOIN mail_list_import i ON i.customer_id = l.customer_id AND i.list_id = l.id
         WHERE l.customer_id = ${customerId} AND l.id = ${listId} AND i.customer_id = ${customerId} AND i.id = ${id}
           FOR KEY SHARE OF l FOR NO KEY UPDATE OF i`,
    'imports.open_batch',
  );
  return row?.status === 'running' && row.at === BigInt(batch.start) ? row : undefined;
}

/** Reasons by address. */
async function findSuppressed(
  tx: Transaction,
  { list }: ImportRun,
  people: readonly Person[],
): Promise<Map<string, string>> {
  const rows = await tx.query<{ key: string; reason: string }>(
    sql`SELECT email_key AS key, reason FROM suppression
         WHERE customer_id IN (${list.customerId}, ${EVERY_CUSTOMER}) AND email_key = ANY(${people.map(({ key }) => key)}::text[])`,
    'imports.find_suppressed',
  );
  return new Map(rows.map(({ key, reason }) => [key, reason]));
}

function suppressedLines(people: readonly Person[], suppressed: ReadonlyMap<string, string>): Rejection[] {
  if (suppressed.size === 0) return [];
  return people.flatMap(({ key, line, cells }) => {
    const reason = suppressed.get(key);
    return reason === undefined ? [] : [{ line, reason: `the address is suppressed (${reason})`, cells }];
  });
}

/**
 * The history of an imported person begins with the row itself: source, time, and `subscribed`. Only another first
 * status needs an entry of its own; one for everybody would double what an import writes.
 */
async function logOtherStatuses(tx: Transaction, { list, source }: ImportRun, added: readonly Person[]): Promise<void> {
  const keys = added.filter(({ status }) => status !== undefined && status !== 'subscribed').map(({ key }) => key);
  if (keys.length === 0) return;
  await tx.execute(
    sql`INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source)
        SELECT customer_id, list_id, id, status, ${source} FROM subscriber
         WHERE customer_id = ${list.customerId} AND list_id = ${list.id} AND email_key = ANY(${keys}::text[])`,
    'imports.log_statuses',
  );
}

async function rememberNewTags(
  tx: Transaction,
  { list, reader, rememberedTags }: ImportRun,
  people: readonly Person[],
): Promise<void> {
  if (!reader.givesTags) return;
  const fresh = new Set<string>();
  for (const { tags } of people) for (const tag of tags) if (!rememberedTags.has(tag)) fresh.add(tag);
  if (fresh.size === 0) return;
  await rememberTags(tx, list, [...fresh]);
  tx.afterCommit(() => fresh.forEach((tag) => rememberedTags.add(tag)));
}

interface Counts {
  readonly added: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly rejected: number;
}

async function moveOn(tx: Transaction, { found }: ImportRun, batch: ImportBatch, counts: Counts): Promise<void> {
  const { added, updated, unchanged, rejected } = counts;
  await tx.execute(
    sql`UPDATE mail_list_import
           SET bytes_processed = ${batch.end}, lines_read = ${batch.linesRead}, processed = processed + ${batch.processed},
               added = added + ${added}, updated = updated + ${updated}, unchanged = unchanged + ${unchanged},
               rejected = rejected + ${rejected}
         WHERE customer_id = ${found.customerId} AND id = ${found.id}`,
    'imports.move_on',
  );
}

async function tell(tx: Transaction, run: ImportRun): Promise<void> {
  const now = performance.now();
  if (now - run.toldAt < TELL_INTERVAL_MS) return;
  run.toldAt = now;
  await notify(tx, IMPORT_CHANNEL, run.found.uid);
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION;
}
