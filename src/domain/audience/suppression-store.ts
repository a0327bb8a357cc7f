/** The suppression list, which contains addresses only; sending checks it. */
import { sql, row, typed, type Queryable, type Sql, type RowOf } from '../../db/database.ts';
import { EVERY_CUSTOMER, type SuppressionReason } from './suppression.ts';

export interface SuppressionEntry {
  readonly customerId: bigint;
  readonly emailKey: string;
  readonly reason: SuppressionReason;
}

/** Suppresses an address from now on; the first reason stays. Returns whether it is new. */
export async function suppress(db: Queryable, { customerId, emailKey, reason }: SuppressionEntry): Promise<boolean> {
  const added = await db.execute(
    sql`INSERT INTO suppression (customer_id, email_key, reason) VALUES (${customerId}, ${emailKey}, ${reason})
        ON CONFLICT DO NOTHING`,
    'audience.suppress',
  );
  return added === 1;
}

/** Whether the customer, or the whole installation, must not mail this address. */
export async function isSuppressed(
  db: Queryable,
  { customerId, emailKey }: { customerId: bigint; emailKey: string },
): Promise<boolean> {
  const rows = await db.execute(
    sql`SELECT 1 FROM suppression WHERE customer_id IN (${customerId}, ${EVERY_CUSTOMER}) AND email_key = ${emailKey} LIMIT 1`,
    'audience.is_suppressed',
  );
  return rows > 0;
}

/** Removes an address from the customer's list. Returns whether it was on it. */
export async function unsuppress(
  db: Queryable,
  { customerId, emailKey }: { customerId: bigint; emailKey: string },
): Promise<boolean> {
  return (
    (await db.execute(sql`DELETE FROM suppression WHERE customer_id = ${customerId} AND email_key = ${emailKey}`)) > 0
  );
}

/** Rows of one customer, or of all of them. */
export function ofCustomer(customerId: bigint): Sql {
  return customerId === EVERY_CUSTOMER ? sql`customer_id > 0` : sql`customer_id = ${customerId}`;
}

/**
 * Removes an address from the customer's list, or from all lists. Returns whether it was on one. The installation's own entry
 * stays unless all are removed.
 */
export async function deleteSuppressions(db: Queryable, customerId: bigint, emailKey: string): Promise<boolean> {
  const every = customerId === EVERY_CUSTOMER;
  const dropped = await db.execute(
    sql`DELETE FROM suppression WHERE (${every}::boolean OR customer_id = ${customerId}) AND email_key = ${emailKey}`,
  );
  return dropped > 0;
}

export interface NewSuppressions {
  readonly customerId: bigint;
  readonly emailKeys: readonly string[];
  readonly reason: SuppressionReason;
  readonly note: string | null;
  /** The user who adds them. */
  readonly addedBy: bigint | null;
}

/** Suppresses addresses; existing entries stay. Returns how many are new. */
export function insertSuppressions(db: Queryable, entries: NewSuppressions): Promise<number> {
  const { customerId, emailKeys, reason, note, addedBy } = entries;
  return db.execute(sql`
    INSERT INTO suppression (customer_id, email_key, reason, note, added_by)
    SELECT ${customerId}, key, ${reason}, ${note}, ${addedBy} FROM unnest(${[...emailKeys]}::text[]) AS k (key)
    ON CONFLICT DO NOTHING`);
}

/**
 * Suppresses the addresses of those people of a list who were just found undeliverable; existing entries stay. The caller has locked the people.
 * Returns how many are new.
 */
export function suppressUndeliverable(
  db: Queryable,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
  { ids, note }: { readonly ids: readonly bigint[]; readonly note: string },
): Promise<number> {
  return db.execute(
    sql`
    INSERT INTO suppression (customer_id, email_key, reason, note)
    SELECT s.customer_id, s.email_key, 'undeliverable', ${note} FROM subscriber s
     WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = ANY (${[...ids]}::bigint[]) AND s.verification = 'undeliverable'
     ORDER BY s.email_key
    ON CONFLICT DO NOTHING`,
    'audience.suppress_undeliverable',
  );
}

const SUPPRESSED_ROW = row({
  /** In lower case, as it is compared. */
  email: 'text',
  reason: typed<SuppressionReason>('text'),
  note: 'text?',
  /** The user who added it; null when it was no user, or another customer's. */
  addedByUid: 'text?',
  createdAt: 'timestamptz',
});
export type Suppressed = RowOf<typeof SUPPRESSED_ROW>;

export interface SuppressionPage {
  readonly nodes: readonly Suppressed[];
  readonly total: number;
}

export interface SuppressionQuestion {
  readonly customerId: bigint;
  /** Only this address, if it is on the list. */
  readonly emailKey?: string | undefined;
  /** Only users of this customer are named. */
  readonly viewerId: bigint;
  readonly offset: number;
  readonly limit: number;
}

/** A page of a list, by address. */
export async function pageOfSuppressions(db: Queryable, question: SuppressionQuestion): Promise<SuppressionPage> {
  const { customerId, emailKey, viewerId, offset, limit } = question;
  const keeper = sql`customer_id = ${customerId}`;
  const where = emailKey === undefined ? keeper : sql`${keeper} AND email_key = ${emailKey}`;
  const nodes = await db.query(
    SUPPRESSED_ROW,
    sql`
    SELECT x.email_key AS email, x.reason, x.note, u.uid AS "addedByUid", x.created_at AS "createdAt"
      FROM (SELECT * FROM suppression WHERE ${where} ORDER BY email_key OFFSET ${offset} LIMIT ${limit}) x
      -- Only a colleague is named: who of another customer's users acted is nobody's business.
      LEFT JOIN app_user u ON u.customer_id = ${viewerId} AND u.id = x.added_by
     ORDER BY x.email_key`,
  );
  const [count] = await db.query({ total: 'int' }, sql`SELECT count(*)::int AS total FROM suppression WHERE ${where}`);
  return { nodes, total: count?.total ?? 0 };
}
