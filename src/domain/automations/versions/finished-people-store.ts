/** People who have gone through an earlier version of a flow to its end: how many they are, and their entries anew (D84). */
import { row, sql, typed, type Queryable, type Sql, type Transaction } from '../../../db/database.ts';
import { isSuppressed } from '../../audience/people-store.ts';
import { withId } from '../../audience/subscriber-store.ts';
import type { VersionKey } from '../runs/run.ts';

/** Who finished which version when. */
export interface FinishedQuestion extends VersionKey {
  readonly listId: bigint;
  /** Who finished later is not meant, nor who has entered again since. */
  readonly until: Date;
}

/**
 * Who has finished, in the order of their ids: one walk over the entries of the flow, by their key. The entry ended by itself, in a version before
 * this one; entries of times in which that was not kept ended in one if it was before this version was published. Who has gone through this version
 * with any key is none of them, nor who is still inside by an entry before the last. Who may not get mail of the list, or is inside, is looked up
 * one by one, whatever the statistics of tables that have just grown say.
 */
function finishedPeople(
  { customerId, automationId, listId, version, until }: FinishedQuestion,
  { afterId, max }: { readonly afterId: bigint; readonly max: number | null },
): Sql {
  const hasFinished = sql`e.end_reason = 'end' AND CASE WHEN e.ended_version IS NOT NULL THEN e.ended_version < ${version} ELSE e.ended_at < v.published_at END`;
  return sql`SELECT f.person_id, f.entry_key, f.run_id
      FROM (SELECT e.person_id,
                   (array_agg(e.entry_key ORDER BY e.ended_at DESC, e.run_id DESC) FILTER (WHERE ${hasFinished}))[1] AS entry_key,
                   (array_agg(e.run_id ORDER BY e.ended_at DESC, e.run_id DESC) FILTER (WHERE ${hasFinished}))[1] AS run_id
              FROM hot.flow_entry e
              JOIN (SELECT v.published_at FROM automation_version v
                     WHERE v.customer_id = ${customerId} AND v.automation_id = ${automationId} AND v.number = ${version} OFFSET 0) v ON true
             WHERE e.customer_id = ${customerId} AND e.automation_id = ${automationId} AND e.person_id > ${afterId}
             GROUP BY e.person_id
            HAVING bool_or(${hasFinished})
               AND bool_and(e.ended_at IS NOT NULL AND e.ended_at <= ${until} AND e.blocked_at IS NULL AND coalesce(e.ended_version, 0) < ${version})) f
     CROSS JOIN LATERAL (SELECT 1 FROM subscriber s
                          WHERE s.status = 'subscribed' AND NOT ${isSuppressed(customerId)} AND ${withId({ customerId, listId, id: sql`f.person_id` })}) s
      LEFT JOIN LATERAL (SELECT 1 AS run FROM hot.flow_run r
                          WHERE r.customer_id = ${customerId} AND r.person_id = f.person_id AND r.automation_id = ${automationId} LIMIT 1) r ON true
     WHERE r.run IS NULL
     ORDER BY f.person_id LIMIT ${max}`;
}

/** How many people they are: each once, also in a flow with keys. Who is inside, or may not get mail, is none of them. */
export async function countFinished(db: Queryable, question: FinishedQuestion): Promise<number> {
  const [found] = await db.query(
    { people: 'int' },
    sql`SELECT count(*)::int AS people FROM (${finishedPeople(question, { afterId: 0n, max: null })}) p`,
    'automations.count_finished',
  );
  return found?.people ?? 0;
}

const FINISHED_ROW = row({ personId: 'bigint', entryKey: 'text', runId: 'bigint' });

/** The next of them, in the order of their ids, with the last run of each. */
export function nextFinished(
  db: Queryable,
  question: FinishedQuestion,
  after: { readonly afterId: bigint; readonly max: number },
) {
  return db.query(
    FINISHED_ROW,
    sql`SELECT p.person_id AS "personId", p.entry_key AS "entryKey", p.run_id AS "runId" FROM (${finishedPeople(question, after)}) p ORDER BY p.person_id`,
    'automations.next_finished',
  );
}

const ENTERED_ROW = row({
  personId: 'bigint',
  entryKey: 'text',
  before: 'bigint',
  runId: 'bigint',
  toPassOver: typed<readonly string[] | null>('json?'),
});

/**
 * Gives each a new run, whatever the rule of entry is; who has entered meanwhile gets none. `before`: the run that had finished;
 * `toPassOver`: what it was still to pass over at its end. Locks them in the order of all who enter several.
 */
export function enterFinished(
  tx: Transaction,
  { customerId, automationId, until }: FinishedQuestion,
  {
    people,
    now,
  }: { readonly people: readonly { personId: bigint; entryKey: string; runId: bigint }[]; readonly now: Date },
) {
  const ids = people.map(({ personId }) => personId);
  return tx.query(
    ENTERED_ROW,
    sql`WITH p AS MATERIALIZED (
          SELECT h.person_id AS person, h.entry_key, h.run_id AS run, h.done
            FROM unnest(${ids}::bigint[], ${people.map(({ entryKey }) => entryKey)}::text[], ${people.map(({ runId }) => runId)}::bigint[])
              AS f (person, entry_key, run)
            JOIN hot.flow_entry h ON h.person_id = f.person AND h.entry_key = f.entry_key AND h.run_id = f.run
           WHERE h.customer_id = ${customerId} AND h.automation_id = ${automationId} AND h.person_id = ANY (${ids}::bigint[]) AND h.ended_at <= ${until}
           ORDER BY h.person_id, h.entry_key FOR NO KEY UPDATE OF h
        )
        UPDATE hot.flow_entry e
           SET run_id = nextval('hot.flow_run_id_seq'), entered_at = ${now}, ended_at = NULL, end_reason = NULL, done = NULL, entries = e.entries + 1
          FROM p
         WHERE e.customer_id = ${customerId} AND e.automation_id = ${automationId} AND e.person_id = ANY (${ids}::bigint[])
           AND e.person_id = p.person AND e.entry_key = p.entry_key AND e.run_id = p.run AND e.ended_at <= ${until}
        RETURNING e.person_id AS "personId", e.entry_key AS "entryKey", p.run AS before, e.run_id AS "runId", p.done AS "toPassOver"`,
    'automations.enter_finished',
  );
}
