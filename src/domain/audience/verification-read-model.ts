/** What a verifier has said of people, and who is to be asked about: pages by key, whatever the size of the list. */
import { empty, row, sql, typed, type Queryable, type RowOf, type Sql } from '../../db/database.ts';
import type { VerificationResult } from '../../plugin-api/index.ts';
import type { SubscriberKey } from './subscriber-store.ts';

/** Whom a run verifies: people of a list who are not unsubscribed. */
export interface PeopleToVerify {
  readonly customerId: bigint;
  readonly listId: bigint;
  /** When the run began: who was verified since then is done. */
  readonly since: Date;
  /** Also those whose result was older than so many days then; null: only without a result, or with `unknown`. */
  readonly olderThanDays: number | null;
  /** Only those whom this import has added. */
  readonly importUid: string | null;
}

const PERSON_TO_VERIFY_ROW = row({ id: 'bigint', email: 'text', emailKey: 'text' });
export type PersonToVerify = RowOf<typeof PERSON_TO_VERIFY_ROW>;

/** The next people after this id, by id. */
export function nextPeopleToVerify(
  db: Queryable,
  who: PeopleToVerify,
  { afterId, limit }: { readonly afterId: bigint; readonly limit: number },
): Promise<PersonToVerify[]> {
  return db.query(
    PERSON_TO_VERIFY_ROW,
    sql`SELECT s.id, s.email, s.email_key AS "emailKey" FROM subscriber s WHERE ${isAsked(who, afterId)} ORDER BY s.id LIMIT ${limit}`,
    who.importUid === null ? 'audience.to_verify' : 'audience.imported_to_verify',
  );
}

export async function countPeopleToVerify(db: Queryable, who: PeopleToVerify, afterId: bigint): Promise<number> {
  const [found] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM subscriber s WHERE ${isAsked(who, afterId)}`,
  );
  return found?.count ?? 0;
}

function isAsked({ customerId, listId, since, olderThanDays, importUid }: PeopleToVerify, afterId: bigint): Sql {
  const imported = importUid === null ? empty : sql`AND s.source = ${`import:${importUid}`}`;
  return sql`s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id > ${afterId} AND s.status <> 'unsubscribed' ${imported}
    AND (s.verification IS NULL
      OR (s.verification = 'unknown' AND s.verified_at < ${since}::timestamptz)
      OR s.verified_at < ${since}::timestamptz - make_interval(days => ${olderThanDays}::int))`;
}

const RESULT_ELSEWHERE_ROW = row({
  emailKey: 'text',
  result: typed<VerificationResult>('text'),
  reasons: 'text',
  verifiedAt: 'timestamptz',
});
export type ResultElsewhere = RowOf<typeof RESULT_ELSEWHERE_ROW>;

export interface KnownElsewhere {
  readonly emailKeys: readonly string[];
  /** By the same type of verifier: another one may look less closely. */
  readonly verifiedBy: string;
  readonly since: Date;
  /** Not older than so many days at `since`. */
  readonly days: number;
}

/** What was said of these addresses on the customer's other lists, the newest answer of each. `unknown` is none. */
export function resultsElsewhere(
  db: Queryable,
  { customerId, listId }: Pick<SubscriberKey, 'customerId' | 'listId'>,
  { emailKeys, verifiedBy, since, days }: KnownElsewhere,
): Promise<ResultElsewhere[]> {
  return db.query(
    RESULT_ELSEWHERE_ROW,
    sql`SELECT k.email_key AS "emailKey", v.result, v.reasons, v."verifiedAt"
          FROM unnest(${[...emailKeys]}::text[]) AS k (email_key)
         CROSS JOIN LATERAL (
           SELECT s.verification AS result, coalesce(s.verification_reasons, '') AS reasons, s.verified_at AS "verifiedAt"
             FROM subscriber s
            WHERE s.customer_id = ${customerId} AND s.email_key = k.email_key AND s.list_id <> ${listId} AND s.verified_by = ${verifiedBy}
              AND s.verification <> 'unknown' AND s.verified_at >= ${since}::timestamptz - make_interval(days => ${days}::int)
            ORDER BY s.verified_at DESC LIMIT 1) v`,
    'audience.verified_elsewhere',
  );
}

/** The greatest id of the list's people: whoever is added from now on has a greater one. */
export async function lastPersonId(
  db: Queryable,
  { customerId, listId }: Pick<SubscriberKey, 'customerId' | 'listId'>,
): Promise<bigint> {
  const [last] = await db.query(
    { id: 'bigint?' },
    sql`SELECT max(id) AS id FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${listId}`,
  );
  return last?.id ?? 0n;
}

export interface SubscriberVerification {
  readonly result: VerificationResult;
  readonly reasons: readonly string[];
  readonly verifiedAt: Date;
  /** The type of the verification server. */
  readonly verifiedBy: string;
}

const VERIFICATION_OF_ROW = row({
  no: 'int',
  result: typed<VerificationResult>('text'),
  reasons: 'text',
  verifiedAt: 'timestamptz',
  verifiedBy: 'text',
});

/** Of each of the people, in their order; null: not verified. */
export async function verificationsOf(
  db: Queryable,
  customerId: bigint,
  people: readonly Pick<SubscriberKey, 'listId' | 'id'>[],
): Promise<(SubscriberVerification | null)[]> {
  const rows = await db.query(
    VERIFICATION_OF_ROW,
    sql`SELECT k.no::int AS no, v.result, v.reasons, v."verifiedAt", v."verifiedBy"
          FROM unnest(${people.map(({ listId }) => listId)}::bigint[], ${people.map(({ id }) => id)}::bigint[]) WITH ORDINALITY AS k (list_id, id, no)
         CROSS JOIN LATERAL (
           SELECT s.verification AS result, coalesce(s.verification_reasons, '') AS reasons, s.verified_at AS "verifiedAt", s.verified_by AS "verifiedBy"
             FROM subscriber s WHERE s.customer_id = ${customerId} AND s.list_id = k.list_id AND s.id = k.id AND s.verification IS NOT NULL
           -- Keeps it a look-up by key.
           OFFSET 0) v`,
    'audience.verifications',
  );
  const byNo = new Map(rows.map(({ no, ...said }) => [no, said]));
  return people.map((_person, index) => {
    const said = byNo.get(index + 1);
    return said ? { ...said, reasons: said.reasons === '' ? [] : said.reasons.split(',') } : null;
  });
}
