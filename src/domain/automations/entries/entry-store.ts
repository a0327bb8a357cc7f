/**
 * Entries into flows (D70). The key (flow, person, key of the event) decides by its uniqueness who may enter; nothing is looked up before it
 * is written.
 */
import { sql, row, type Queryable, type Sql } from '../../../db/database.ts';
import { unreachable } from '../../../lib/errors.ts';
import type { Entry } from '../flow/flow-triggers.ts';

export interface Applicant {
  readonly personId: bigint;
  /** Empty: the flow has no key. */
  readonly entryKey: string;
  readonly at: Date;
}

const ENTERED_ROW = row({ personId: 'bigint', entryKey: 'text', runId: 'bigint' });

/** Writes the entries of those who may enter, and gives each a new run. Nobody is named twice with one key. */
export function writeEntries(
  db: Queryable,
  { customerId, automationId }: { readonly customerId: bigint; readonly automationId: bigint },
  { applicants, entry }: { readonly applicants: readonly Applicant[]; readonly entry: Entry },
) {
  return db.query(
    ENTERED_ROW,
    sql`INSERT INTO hot.flow_entry AS e (customer_id, automation_id, person_id, entry_key, run_id, entered_at)
        SELECT ${customerId}, ${automationId}, p.person, p.entry_key, nextval('hot.flow_run_id_seq'), p.at
          FROM unnest(${applicants.map(({ personId }) => personId)}::bigint[], ${applicants.map(({ entryKey }) => entryKey)}::text[],
                      ${applicants.map(({ at }) => at)}::timestamptz[]) AS p (person, entry_key, at)
         WHERE ${isFreeOfOtherKeys(entry, { customerId, automationId })}
         ORDER BY p.person, p.entry_key
        ON CONFLICT (customer_id, automation_id, person_id, entry_key) DO UPDATE
          SET run_id = excluded.run_id, entered_at = excluded.entered_at, ended_at = NULL, end_reason = NULL, done = NULL, entries = e.entries + 1
        WHERE ${mayEnterAgain(entry, sql`excluded.entered_at`)}
        RETURNING person_id AS "personId", entry_key AS "entryKey", run_id AS "runId"`,
  );
}

/**
 * An earlier version of the flow may have had entries by keys: in modes without one they count too. They are of the past, so a look at them
 * decides as well as the index does.
 */
function isFreeOfOtherKeys(
  entry: Entry,
  { customerId, automationId }: { readonly customerId: bigint; readonly automationId: bigint },
): Sql {
  if (entry.mode === 'per_key') return sql`true`;
  return sql`NOT EXISTS (SELECT 1 FROM hot.flow_entry e
                          WHERE e.customer_id = ${customerId} AND e.automation_id = ${automationId} AND e.person_id = p.person AND e.entry_key <> p.entry_key
                            AND NOT (${mayEnterAgain(entry, sql`p.at`)}))`;
}

/** `at`: of the new entry. */
function mayEnterAgain(entry: Entry, at: Sql): Sql {
  switch (entry.mode) {
    case 'once':
    case 'per_key':
      return sql`false`;
    case 'after_end':
      return sql`e.ended_at IS NOT NULL`;
    case 'after_days':
      return sql`e.entered_at <= ${at} - make_interval(days => ${entry.days}::int)`;
    default:
      return unreachable(entry);
  }
}

const ENTRIES_ROW = row({ personId: 'bigint', entries: 'int' });

/** How often these people entered the flow since then (D83). */
export function entriesSince(
  db: Queryable,
  { customerId, automationId }: { readonly customerId: bigint; readonly automationId: bigint },
  { ids, since }: { readonly ids: readonly bigint[]; readonly since: Date },
) {
  return db.query(
    ENTRIES_ROW,
    sql`SELECT s.person_id AS "personId", count(*)::int AS entries FROM hot.flow_step s
         WHERE s.customer_id = ${customerId} AND s.person_id = ANY (${[...ids]}::bigint[]) AND s.at > ${since} AND s.happened_on >= (${since}::timestamptz AT TIME ZONE 'UTC')::date
           AND s.automation_id = ${automationId} AND s.what = 'entered'
         GROUP BY s.person_id`,
  );
}

type AutomationKey = { readonly customerId: bigint; readonly automationId: bigint };

/** Who of these people enters the flow no more (D83). */
export async function blockedAmong(
  db: Queryable,
  { customerId, automationId }: AutomationKey,
  ids: readonly bigint[],
): Promise<readonly bigint[]> {
  const rows = await db.query(
    { personId: 'bigint' },
    sql`SELECT DISTINCT e.person_id AS "personId" FROM hot.flow_entry e
         WHERE e.customer_id = ${customerId} AND e.automation_id = ${automationId} AND e.person_id = ANY (${[...ids]}::bigint[]) AND e.blocked_at IS NOT NULL`,
    'automations.blocked_among',
  );
  return rows.map(({ personId }) => personId);
}

/** From now on they enter no more, whatever the key of the entry is. */
export async function blockPeople(
  db: Queryable,
  { customerId, automationId }: AutomationKey,
  ids: readonly bigint[],
): Promise<void> {
  await db.execute(
    sql`UPDATE hot.flow_entry e SET blocked_at = now()
         WHERE e.customer_id = ${customerId} AND e.automation_id = ${automationId} AND e.person_id = ANY (${[...ids]}::bigint[])`,
  );
}

/** Everybody may enter again. */
export async function unblockPeople(db: Queryable, { customerId, automationId }: AutomationKey): Promise<void> {
  await db.execute(
    sql`UPDATE hot.flow_entry e SET blocked_at = NULL
         WHERE e.customer_id = ${customerId} AND e.automation_id = ${automationId} AND e.blocked_at IS NOT NULL`,
  );
}

/** How many people are blocked. */
export async function countBlocked(db: Queryable, { customerId, automationId }: AutomationKey): Promise<number> {
  const [found] = await db.query(
    { people: 'int' },
    sql`SELECT count(DISTINCT e.person_id)::int AS people FROM hot.flow_entry e
         WHERE e.customer_id = ${customerId} AND e.automation_id = ${automationId} AND e.blocked_at IS NOT NULL`,
  );
  return found?.people ?? 0;
}
