/** Writes one slice of an import in one transaction: new people, changes of known ones, rejected lines, and the progress. */
import type { Transaction } from '../../../db/database.ts';
import { notify } from '../../../db/listen.ts';
import { remainingSubscribers, type RemainingSubscribers } from '../../billing/plans/require-within-limit.ts';
import type { Context } from '../../context.ts';
import { lockCounters } from '../list-counter-store.ts';
import { TAGS_MAX } from '../subscriber.ts';
import { rememberTags } from '../subscriber-store.ts';
import { insertRejections } from './import-rejection-store.ts';
import {
  endUndos,
  insertNew,
  lockChanged,
  matchPeople,
  openSlice,
  removeErased,
  removeIncomplete,
  removeSuppressed,
  removeSurplus,
  replaceTags,
  stagePeople,
  updateChanged,
  type TagsOfRow,
} from './import-slice-store.ts';
import type { Rejection } from './copy-format.ts';
import type { RejectionReason } from './import-report.ts';
import type { ImportSlice } from './import-slice.ts';
import { IMPORT_CHANNEL, type ListImport } from './list-import.ts';
import { advanceImport, type SliceCounts } from './list-import-store.ts';
import { limitTags, type Person, type PersonReader } from './person.ts';
import { refreshPlanner } from './planner-statistics-store.ts';

/** What one run of an import keeps from slice to slice. */
export interface ImportRun {
  readonly found: ListImport;
  readonly reader: PersonReader;
  /** By tag: what new people get where the file has no value. */
  readonly defaults: Readonly<Record<string, string>>;
  /** Fields without a default, of which each new person needs a value. */
  readonly requiredTags: readonly string[];
  /** Tags that the list knows already. */
  readonly rememberedTags: Set<string>;
  /** The plan's limit of people is near: every slice first reads how many more are allowed. */
  checksLimit: boolean;
  /** Members of the list when the planner's statistics were last checked. */
  plannedMembers: number;
  /** When watchers were last notified, by the monotonic clock. */
  notifiedAt: number;
}

/** Another transaction added the same address at the same moment; the second try sees it. More tries would show a defect. */
const TRIES_MAX = 5;
const UNIQUE_VIOLATION = '23505';
/** At most four notifications a second. */
const NOTIFY_INTERVAL_MS = 250;

/** Rolls back a slice of an import that has ended. */
class ImportOver extends Error {}

/** Rolls back a slice that exceeded the plan's limit: it is written again with a check first. */
class LimitReached extends Error {}

/** Writes the slice. Returns false when the import has ended (cancelled, deleted) or another process has written it. */
export async function writeImportSlice(ctx: Context, run: ImportRun, slice: ImportSlice): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      await ctx.database.transaction((tx) => write(ctx, tx, { run, slice }));
      return true;
    } catch (error) {
      if (error instanceof ImportOver) return false;
      if (error instanceof LimitReached) run.checksLimit = true;
      else if (!isDuplicate(error) || attempt >= TRIES_MAX) throw error;
    }
  }
}

/**
 * In the order of locks (subscriber-store.ts): people to be changed are locked before new addresses are written, and changed
 * after that, because a change of status locks the counters.
 */
async function write(
  ctx: Context,
  tx: Transaction,
  { run, slice }: { run: ImportRun; slice: ImportSlice },
): Promise<void> {
  const { found } = run;
  const opened = await openSlice(tx, found, slice.start);
  if (!opened) throw new ImportOver();
  const people = [...slice.people.values()];
  await stagePeople(tx, people);
  // By row.
  const left = new Map(people.entries());
  const rejections = [...slice.rejections];
  const reject = (row: number, reason: RejectionReason, keepsCells = true) => {
    const { lines = [] } = left.get(row) ?? {};
    left.delete(row);
    for (const { line, cells } of lines) rejections.push({ line, reason, cells: keepsCells ? cells : [] });
  };
  // First: of a person who was erased nothing is kept; a stored line would contain the person.
  if (opened.hasErased)
    for (const row of await removeErased(tx, found, ctx.installation)) reject(row, suppressed(null), false);
  if (opened.hasSuppressions)
    for (const { row, reason } of await removeSuppressed(tx, found)) reject(row, suppressed(reason || null));

  const { known, changed } = await matchPeople(tx, found);
  for (const { row, tag } of await removeIncomplete(tx, run.requiredTags))
    reject(row, { code: 'field_missing', params: { tag } });
  // If the planner expected an empty list, it would compare all its people with all changes.
  if (changed > 0) run.plannedMembers = await refreshPlanner(tx, found, run.plannedMembers);
  const full = changed > 0 ? await lockChanged(tx, found) : [];
  const remaining = run.checksLimit ? await lockRemaining(tx, found) : undefined;
  if (remaining) {
    const { left: leftInPlan, limit, max } = remaining;
    for (const row of await removeSurplus(tx, leftInPlan)) reject(row, { code: 'plan_limit', params: { limit, max } });
  }
  await leaveOutTags(tx, left, new Map(full.map(({ row, tags }) => [row, tags])));
  const added = await insertNew(tx, found, run.defaults);
  if (added > 0 && !run.checksLimit) await checkLimit(tx, found);
  const updated = changed > 0 ? await updateChanged(tx, found) : 0;
  if (found.updateExisting && known > 0) await endUndos(tx, found);
  await rememberNewTags(tx, run, left.values());
  const notes = [...left.values()].flatMap(leftOutOf);
  if (rejections.length + notes.length > 0) await insertRejections(tx, found, [...rejections, ...notes]);
  const repeats = countRepeats(left.values());
  await moveOn(tx, run, slice, {
    added,
    updated: updated + repeats.changed,
    unchanged: known - updated + repeats.unchanged,
    rejected: rejections.length,
  });
}

/** Gives people no more tags than they may have; `full`: the tags of those on the list who would have more, by row. */
async function leaveOutTags(
  tx: Transaction,
  people: Map<number, Person>,
  full: ReadonlyMap<number, readonly string[]>,
): Promise<void> {
  const limited: TagsOfRow[] = [];
  for (const [row, person] of people) {
    const stored = full.get(row) ?? [];
    if (!full.has(row) && person.tags.length <= TAGS_MAX) continue;
    const allowed = limitTags(person, stored);
    people.set(row, allowed);
    limited.push({ row, tags: allowed.tags });
  }
  if (limited.length > 0) await replaceTags(tx, limited);
}

/** The report of the lines that were taken without their tags, or without values that were wrong. */
function leftOutOf({ lines }: Person): Rejection[] {
  return lines.flatMap(({ line, cells, areTagsLeftOut, fault }) => [
    ...(areTagsLeftOut ? [{ line, cells, reason: { code: 'tags_left_out' as const, params: {} } }] : []),
    ...(fault ? [{ line, cells, reason: fault }] : []),
  ]);
}

/**
 * Lines that repeat a person of the same slice. Whether a line counts as updated or as unchanged may depend on where a slice
 * ends, but their sum does not.
 */
function countRepeats(people: Iterable<Person>): { changed: number; unchanged: number } {
  const repeats = [...people].flatMap(({ lines }) => lines.slice(1));
  const changed = repeats.filter(({ changes, addsTags }) => changes || addsTags).length;
  return { changed, unchanged: repeats.length - changed };
}

function suppressed(reason: string | null): RejectionReason {
  return { code: 'suppressed', params: { reason } };
}

/**
 * How many more people the customer's plan allows, locked until the slice is written. While there are plenty, a slice is written
 * first and counted afterwards, without waiting; a slice that exceeds the limit is rolled back, and from then on every slice
 * checks here, and rejects people beyond the limit, line by line.
 */
async function lockRemaining(
  tx: Transaction,
  { customerId, listId }: ListImport,
): Promise<RemainingSubscribers | undefined> {
  // The list's counters before the customer's lock: all writers lock the two in this order.
  await lockCounters(tx, { customerId, listId });
  return remainingSubscribers(tx, { customerId, listId });
}

async function checkLimit(tx: Transaction, { customerId, listId }: ListImport): Promise<void> {
  const spaceLeft = await remainingSubscribers(tx, { customerId, listId });
  if (spaceLeft && spaceLeft.left < 0) throw new LimitReached();
}

async function rememberNewTags(tx: Transaction, run: ImportRun, people: Iterable<Person>): Promise<void> {
  const { found, rememberedTags } = run;
  const fresh = new Set<string>();
  for (const { tags } of people) for (const tag of tags) if (!rememberedTags.has(tag)) fresh.add(tag);
  if (fresh.size === 0) return;
  await rememberTags(tx, { customerId: found.customerId, id: found.listId }, [...fresh]);
  tx.afterCommit(() => fresh.forEach((tag) => rememberedTags.add(tag)));
}

/** Counts the slice and stores where the next one begins, once: a second process rolls back. */
async function moveOn(tx: Transaction, run: ImportRun, slice: ImportSlice, counts: SliceCounts): Promise<void> {
  if (!(await advanceImport(tx, run.found, { slice, counts }))) throw new ImportOver();
  const now = performance.now();
  if (now - run.notifiedAt < NOTIFY_INTERVAL_MS) return;
  run.notifiedAt = now;
  await notify(tx, IMPORT_CHANNEL, run.found.uid);
}

function isDuplicate(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION;
}
