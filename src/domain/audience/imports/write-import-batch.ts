/**
 * Writes one batch of an import in one transaction: new people, changes of known ones, rejected lines, and the
 * progress by which a restart knows exactly where to go on.
 */
import { sql, type Transaction } from '../../../db/database.ts';
import { notify } from '../../../db/listen.ts';
import type { Context } from '../../context.ts';
import { digestIn } from '../erasing/erased-people.ts';
import { rememberTags } from '../subscriber-store.ts';
import { EVERY_CUSTOMER } from '../suppression.ts';
import type { ImportBatch } from './import-batch.ts';
import { checkRoom, NoRoom, surplusOf } from './import-room.ts';
import type { ImportRun } from './import-run.ts';
import { findKnownPeople, lockKnownPeople, onList, updateKnownPeople } from './known-people.ts';
import { IMPORT_CHANNEL } from './list-import.ts';
import { COPY_PEOPLE, type PackedPeople } from './packed-people.ts';
import { COPY_REJECTIONS, copyRejections, type Rejection } from './rejections.ts';

/** Somebody added the same address at the same moment; the second try sees them. More tries would show a defect. */
const TRIES_MAX = 5;
const UNIQUE_VIOLATION = '23505';
/** At most four times a second: more is no livelier. */
const TELL_INTERVAL_MS = 250;
/** The triggers that keep a list's counters hold the new rows of a batch in memory. */
const WORK_MEM = '64MB';

/** Writes the batch. Answers false when the import is over (cancelled, deleted) or another process has written it. */
export async function writeImportBatch(ctx: Context, run: ImportRun, batch: ImportBatch): Promise<boolean> {
  const { people } = batch;
  for (let attempt = 1; ; attempt++) {
    try {
      await ctx.database.transaction((tx) => write(tx, run, batch));
      if (run.seen) for (const row of people.rows()) run.seen.add(people.hash(row));
      return true;
    } catch (error) {
      if (error instanceof ImportOver) return false;
      if (error instanceof NoRoom) {
        run.asksForRoom = true;
        continue;
      }
      if (!isDuplicate(error) || attempt >= TRIES_MAX) throw error;
      // From now on everybody is looked up.
      run.seen = undefined;
      run.members = undefined;
    }
  }
}

/** Rolls a batch back that has no business any more. */
class ImportOver extends Error {}

/**
 * In the order of locks (subscriber-store.ts): so people who are changed are locked before new addresses are written,
 * and changed after that, because a change of status locks the counters. Two batches of one import are written at the same
 * time; they have nobody in common.
 */
async function write(tx: Transaction, run: ImportRun, batch: ImportBatch): Promise<void> {
  const { found } = run;
  const { people } = batch;
  const { hasSuppressions, hasErased } = await openBatch(tx, run);
  const suppressed: Barred = new Map([
    ...(hasSuppressions ? await findSuppressed(tx, run, people) : []),
    // Last: of somebody who is erased, nothing is kept, whatever else is known.
    ...(hasErased ? await findErased(tx, run, people) : []),
  ]);
  const { same, unsure } = sortOut(run, batch, suppressed);
  const known = await findKnownPeople(tx, run, { people, rows: unsure });
  await lockKnownPeople(tx, run, known.changed);
  const isKnown = (row: number) => suppressed.has(row) || same.has(row) || known.rows.has(row);
  // The other batch that is being written may change its mind meanwhile, for all of the run; this one does not.
  const { asksForRoom } = run;
  const newRows = () => [...people.rows()].filter((row) => !isKnown(row));
  const surplus = await surplusOf(tx, run, { asksForRoom, newRows });
  const added = people.count - suppressed.size - same.size - known.rows.size - surplus.rows.size;
  const isOld = (row: number) => isKnown(row) || surplus.rows.has(row);
  if (added > 0) {
    await tx.copy(COPY_PEOPLE, people.copyPieces(isOld));
    if (!asksForRoom) await checkRoom(tx, run);
  }
  const updated = await updateKnownPeople(tx, run, { people, changed: known.changed });
  await logOtherStatuses(tx, run, people, isOld);
  await rememberNewTags(tx, run, people, suppressed);
  const beyond = [...surplus.rows].map((row) => rejectedLine(run, people, { row, reason: surplus.reason }));
  const rejections = [...batch.rejections, ...suppressedLines(run, people, suppressed), ...beyond];
  if (rejections.length > 0) await tx.copy(COPY_REJECTIONS, copyRejections(found, rejections));
  await moveOn(tx, run, batch, {
    added,
    updated: updated + batch.repeatsChanged,
    unchanged: batch.same + same.size + known.rows.size - updated + batch.repeatsSame,
    rejected: rejections.length,
  });
  await tell(tx, run);
}

/** Who is known to be on the list already, just as the file says, and who has to be looked up; the others are new. */
function sortOut(
  { seen, members }: ImportRun,
  batch: ImportBatch,
  suppressed: Barred,
): { same: ReadonlySet<number>; unsure: readonly number[] } {
  const same = new Set<number>();
  const unsure: number[] = [];
  const { people } = batch;
  for (const row of people.rows()) {
    if (suppressed.has(row)) continue;
    const compared = members ? batch.comparison(row) : 'absent';
    if (compared === 'same') same.add(row);
    else if (compared === 'other' || !seen || seen.mayHave(people.hash(row))) unsure.push(row);
  }
  return { same, unsure };
}

/** Sees to it that nobody deletes the list meanwhile. Losing the last moments to a power cut is no harm: they are done again. */
async function openBatch(
  tx: Transaction,
  { found }: ImportRun,
): Promise<{ hasSuppressions: boolean; hasErased: boolean }> {
  const { customerId, listId, id } = found;
  const [row] = await tx.query<{ status: string; hasSuppressions: boolean; hasErased: boolean }>(
    sql`SELECT i.status, set_config('work_mem', ${WORK_MEM}, true), set_config('synchronous_commit', 'off', true),
               set_config('enable_sort', 'off', true), -- onList builds on it
               EXISTS (SELECT 1 FROM suppression WHERE customer_id IN (${customerId}, ${EVERY_CUSTOMER})) AS "hasSuppressions",
               EXISTS (SELECT 1 FROM erased_person WHERE customer_id IN (${customerId}, ${EVERY_CUSTOMER})) AS "hasErased"
          FROM mail_list l JOIN mail_list_import i ON i.customer_id = l.customer_id AND i.list_id = l.id
         WHERE l.customer_id = ${customerId} AND l.id = ${listId} AND i.customer_id = ${customerId} AND i.id = ${id}
           FOR KEY SHARE OF l`,
    'imports.open_batch',
  );
  if (row?.status !== 'running') throw new ImportOver();
  return row;
}

/** Why a row is not taken: the reason of the customer's own entry, if it is one; undefined for somebody who was erased. */
type Barred = ReadonlyMap<number, { readonly reason: string | null } | undefined>;

async function findSuppressed(tx: Transaction, { list }: ImportRun, people: PackedPeople): Promise<Barred> {
  const rows = [...people.rows()];
  // Why the whole installation suppresses somebody is not told to a customer.
  const found = await tx.query<{ position: number; reason: string | null }>(
    sql`SELECT g.position::int, min(p.reason) FILTER (WHERE p.customer_id <> ${EVERY_CUSTOMER}) AS reason
          FROM unnest(string_to_array(${people.keysText(rows)}::text, E'\n')) WITH ORDINALITY AS g (key, position)
          JOIN suppression p ON p.customer_id IN (${list.customerId}, ${EVERY_CUSTOMER}) AND p.email_key = g.key
         GROUP BY g.position`,
  );
  return new Map(found.map(({ position, reason }) => [rows[position - 1] ?? -1, { reason }]));
}

/** Rows of people who were erased: the database computes their digests, all at once. */
async function findErased(tx: Transaction, { list, installation }: ImportRun, people: PackedPeople): Promise<Barred> {
  const rows = [...people.rows()];
  const found = await tx.query<{ position: number }>(
    sql`SELECT DISTINCT g.position::int AS position
          FROM unnest(string_to_array(${people.keysText(rows)}::text, E'\n')) WITH ORDINALITY AS g (key, position)
          JOIN erased_person p ON p.customer_id IN (${list.customerId}, ${EVERY_CUSTOMER})
                              AND p.digest = ${digestIn(installation, sql`g.key`)}`,
  );
  return new Map(found.map(({ position }) => [rows[position - 1] ?? -1, undefined]));
}

function suppressedLines(run: ImportRun, people: PackedPeople, barred: Barred): Rejection[] {
  return [...barred].map(([row, entry]) => {
    const reason = entry?.reason ? `the address is suppressed (${entry.reason})` : 'the address is suppressed';
    const line = rejectedLine(run, people, { row, reason });
    // To keep the line of somebody who was erased would be to keep the person.
    return entry ? line : { ...line, cells: [] };
  });
}

function rejectedLine(
  { reader }: ImportRun,
  people: PackedPeople,
  { row, reason }: { row: number; reason: string },
): Rejection {
  const { email, fields, line } = people.unpack(row);
  const cells = reader.columns.map(({ target }) => (target === 'EMAIL' ? email : (fields[target ?? ''] ?? '')));
  return { line, reason, cells };
}

/**
 * The history of an imported person begins with the row itself: source, time, and `subscribed`. Only another first
 * status needs an entry of its own; one for everybody would double what an import writes.
 */
async function logOtherStatuses(
  tx: Transaction,
  run: ImportRun,
  people: PackedPeople,
  isOld: (row: number) => boolean,
): Promise<void> {
  const { list, source, reader } = run;
  if (reader.statusAt === -1) return;
  const rows = [...people.rows()].filter((row) => !isOld(row) && (people.status(row) ?? 'subscribed') !== 'subscribed');
  if (rows.length === 0) return;
  await tx.execute(
    sql`INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source)
        SELECT ${list.customerId}, ${list.id}, s.id, s.status, ${source}
          FROM unnest(string_to_array(${people.keysText(rows)}::text, E'\n')) WITH ORDINALITY AS g (key, position)
         CROSS JOIN LATERAL (SELECT id, status ${onList(run, sql`g.key`)}) s`,
  );
}

async function rememberNewTags(
  tx: Transaction,
  run: ImportRun,
  people: PackedPeople,
  suppressed: Barred,
): Promise<void> {
  const { list, reader, rememberedTags } = run;
  if (reader.tagsAt === -1 && reader.commonTags.length === 0) return;
  const fresh = new Set<string>();
  for (const row of people.rows())
    if (!suppressed.has(row)) for (const tag of people.tags(row)) if (!rememberedTags.has(tag)) fresh.add(tag);
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

/** Counts the batch and marks its stretch as done, once: whoever comes second rolls back. */
async function moveOn(tx: Transaction, { found }: ImportRun, batch: ImportBatch, counts: Counts): Promise<void> {
  const { added, updated, unchanged, rejected } = counts;
  const stretch = sql`int8range(${batch.start}::bigint, ${batch.end}::bigint)`;
  const moved = await tx.execute(
    sql`UPDATE mail_list_import
           SET done = done + int8multirange(${stretch}), bytes_processed = bytes_processed + ${batch.end - batch.start},
               processed = processed + ${batch.processed}, added = added + ${added}, updated = updated + ${updated},
               unchanged = unchanged + ${unchanged}, rejected = rejected + ${rejected}
         WHERE customer_id = ${found.customerId} AND id = ${found.id} AND status = 'running' AND NOT done && ${stretch}`,
    'imports.move_on',
  );
  if (moved === 0) throw new ImportOver();
}

async function tell(tx: Transaction, run: ImportRun): Promise<void> {
  const now = performance.now();
  if (now - run.toldAt < TELL_INTERVAL_MS) return;
  run.toldAt = now;
  await notify(tx, IMPORT_CHANNEL, run.found.uid);
}

function isDuplicate(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION;
}
