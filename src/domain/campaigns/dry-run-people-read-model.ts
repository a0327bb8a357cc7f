/** The people of dry runs: the next ones to be composed for, and those with faults. */
import { sql, type Queryable } from '../../db/database.ts';
import { subscriberUid } from '../../lib/ids.ts';
import type { AudienceSlice } from '../audience/segments/segment-read-model.ts';
import { viewerOf, type Context } from '../context.ts';
import { DRY_PERSON_ROW, type DryPerson } from '../delivery/campaigns/compose-dry.ts';
import type { DryRun } from './dry-run-store.ts';

export interface FaultyPerson {
  readonly subscriberUid: string;
  /** Null: no longer on the list. */
  readonly email: string | null;
  readonly message: string;
}

/**
 * The faults of each of the viewer's runs with their people: addresses are looked up when they are shown, and not stored
 * elsewhere.
 */
export async function faultsOfEach(ctx: Context, runs: readonly DryRun[]): Promise<FaultyPerson[][]> {
  const ids = runs.flatMap(({ faults }) => faults.map(({ subscriberId }) => subscriberId));
  const people =
    ids.length === 0
      ? []
      : await ctx.db.query(
          { id: 'bigint', email: 'text' },
          sql`SELECT id, email FROM subscriber WHERE customer_id = ${viewerOf(ctx).customerId} AND id = ANY (${ids}::bigint[])`,
        );
  const emails = new Map(people.map(({ id, email }) => [String(id), email]));
  return runs.map(({ faults }) =>
    faults.map(({ subscriberId, text }) => ({
      subscriberUid: subscriberUid(BigInt(subscriberId)),
      email: emails.get(subscriberId) ?? null,
      message: text,
    })),
  );
}

export interface PeopleQuestion {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly afterId: bigint;
  readonly rows: number;
  /** Those of the next people who are in the segment; undefined: there is no segment. */
  readonly slice: Pick<AudienceSlice, 'ids' | 'lastId'> | undefined;
}

/** The next people of the list, with the reason why each gets no message, if any. */
export function peopleOfSlice(db: Queryable, question: PeopleQuestion): Promise<DryPerson[]> {
  const { customerId, listId, afterId, rows, slice } = question;
  return db.query(
    DRY_PERSON_ROW,
    sql`SELECT s.id, s.email, s.fields,
               CASE WHEN ${slice ? [...slice.ids] : null}::bigint[] IS NOT NULL AND NOT s.id = ANY (${slice ? [...slice.ids] : []}::bigint[]) THEN 'not in the segment'
                    WHEN s.status <> 'subscribed' THEN s.status WHEN x.found THEN 'suppressed' END AS "denialReason"
          FROM subscriber s
          LEFT JOIN LATERAL (SELECT true AS found FROM suppression x WHERE x.customer_id IN (0, ${customerId}) AND x.email_key = s.email_key LIMIT 1) x ON true
         WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id > ${afterId} AND s.id <= ${slice?.lastId ?? 2n ** 62n}
         ORDER BY s.id LIMIT ${rows}`,
    'campaigns.dry-run-people',
  );
}
