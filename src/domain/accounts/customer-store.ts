/** Rows of customers, and of those that were erased. Those being deleted are not found. */
import { empty, join, sql, typed, row, type Queryable, type RowOf } from '../../db/database.ts';
import { assignments, insertion, type ValuesOf } from '../../db/fields.ts';
import { customerFields, userFields } from './customer-fields.ts';
import type { AddedCustomer } from '../../plugin-api/index.ts';
import type { ContactChanges, Customer, CustomerStatus } from './customer.ts';

type CustomerRow = Customer & Record<string, unknown>;

const CUSTOMER_ROW = row({
  id: 'bigint',
  uid: 'text',
  status: typed<CustomerRow['status']>('text'),
  isOperator: 'bool',
  userId: 'bigint',
  isAdmin: 'bool',
  email: 'text',
  firstName: 'text',
  lastName: 'text',
  image: 'text?',
});

/** The customer, or undefined; `lock` locks it until the transaction ends (NO KEY: rows that refer to it must not wait). */
export async function findCustomer(
  db: Queryable,
  by: { uid: string } | { emailKey: string },
  options: { lock?: boolean } = {},
): Promise<Customer | undefined> {
  const which =
    'uid' in by
      ? sql`c.uid = ${by.uid}`
      : sql`c.id = (SELECT customer_id FROM app_user WHERE email_key = ${by.emailKey})`;
  const [customer] = await db.query(
    CUSTOMER_ROW,
    sql`
    SELECT c.id, c.uid, c.status, c.is_operator AS "isOperator", u.id AS "userId", u.is_admin AS "isAdmin", u.email,
           u.first_name AS "firstName", u.last_name AS "lastName", c.image
      FROM customer c
      JOIN LATERAL (SELECT * FROM app_user u WHERE u.customer_id = c.id ORDER BY u.id LIMIT 1) u ON true
     WHERE ${which} AND c.status <> 'deleting' ${options.lock ? sql`FOR NO KEY UPDATE OF c` : empty}`,
  );
  return customer;
}

/** What plugins and their pages are told of a customer. */
const CUSTOMER_OF_PAGE = row({ uid: 'text', languageId: 'int?' });

export async function findCustomerOfPage(
  db: Queryable,
  customerId: bigint,
): Promise<RowOf<typeof CUSTOMER_OF_PAGE> | undefined> {
  const [customer] = await db.query(
    CUSTOMER_OF_PAGE,
    sql`SELECT uid, language_id AS "languageId" FROM customer WHERE id = ${customerId} AND status <> 'deleting'`,
  );
  return customer;
}

const ADDED_CUSTOMER_ROW = row({
  id: 'bigint',
  uid: 'text',
  email: 'text',
  firstName: 'text',
  lastName: 'text',
  timezone: 'text',
});

/** A customer as plugins are told of it; undefined: it was deleted, or is the operator's account. */
export async function findAddedCustomer(db: Queryable, uid: string): Promise<AddedCustomer | undefined> {
  const [customer] = await db.query(
    ADDED_CUSTOMER_ROW,
    sql`
    SELECT c.id, c.uid, u.email, u.first_name AS "firstName", u.last_name AS "lastName", c.timezone
      FROM customer c
      JOIN LATERAL (SELECT * FROM app_user u WHERE u.customer_id = c.id ORDER BY u.id LIMIT 1) u ON true
     WHERE c.uid = ${uid} AND c.status <> 'deleting' AND NOT c.is_operator`,
  );
  return customer;
}

/** The uids of these customers; those that are erased are missing. */
export function customerUidsOf(db: Queryable, ids: readonly bigint[]) {
  return db.query(
    { id: 'bigint', uid: 'text' },
    sql`SELECT id, uid FROM customer WHERE id = ANY(${[...ids]}::bigint[])`,
    'customers.uids',
  );
}

type CustomerValues = ValuesOf<typeof customerFields>;
type UserValues = ValuesOf<typeof userFields>;

/** Inserts the tenant and returns its id. */
export async function insertCustomer(db: Queryable, values: CustomerValues): Promise<bigint> {
  const [row] = await db.query(
    { id: 'bigint' },
    sql`INSERT INTO customer ${insertion(customerFields, values)} RETURNING id`,
  );
  if (!row) throw new Error('Assertion failed: an insert returns its row');
  return row.id;
}

/** Inserts the user and returns its id; undefined: the address is taken. */
export async function insertUser(db: Queryable, user: UserValues): Promise<bigint | undefined> {
  const [row] = await db.query(
    { id: 'bigint' },
    sql`
    INSERT INTO app_user ${insertion(userFields, user)} ON CONFLICT (email_key) DO NOTHING RETURNING id`,
  );
  return row?.id;
}

/** Writes the given values. Fails by the unique key when the address is taken: see `isEmailConflict`. */
export async function writeUser(
  db: Queryable,
  { customerId, userId }: { customerId: bigint; userId: bigint },
  values: Omit<UserValues, 'customerId' | 'uid'>,
): Promise<void> {
  const written = [sql`updated_at = now()`, ...assignments(userFields, values)];
  await db.execute(sql`UPDATE app_user SET ${join(written)} WHERE customer_id = ${customerId} AND id = ${userId}`);
}

/** Writes the given values of the tenant itself; a name that was derived from its user is derived again. */
export async function writeCustomer(
  db: Queryable,
  customerId: bigint,
  values: Omit<CustomerValues, 'uid'>,
): Promise<void> {
  const written = [sql`updated_at = now()`, ...assignments(customerFields, values)];
  await db.execute(sql`UPDATE customer SET ${join(written)} WHERE id = ${customerId}`);
}

/** The contact with these fields changed, so that two changes at once both count; null: no contact. */
export function changedContactValue(changes: ContactChanges | null | undefined): CustomerValues['contact'] {
  if (!changes) return changes;
  return sql`NULLIF(jsonb_strip_nulls(COALESCE(contact, '{}') || ${JSON.stringify(changes)}::jsonb), '{}')`;
}

/** Whether a write failed because the address is taken. */
export function isEmailConflict(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === '23505' &&
    'constraint' in error &&
    String(error.constraint).includes('email_key')
  );
}

/** Inserts the operator's account, with which an installation begins. */
export async function insertOperator(db: Queryable, uid: string): Promise<bigint> {
  const [row] = await db.query(
    { id: 'bigint' },
    sql`INSERT INTO customer (uid, name, is_operator) VALUES (${uid}, 'Operator', true) RETURNING id`,
  );
  if (!row) throw new Error('Assertion failed: an insert returns its row');
  return row.id;
}

/** Whether this is the operator's account, which nobody else counts or changes then until the transaction ends. */
export async function lockOperator(db: Queryable, id: bigint): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM customer WHERE id = ${id} AND is_operator FOR UPDATE`)) > 0;
}

/** A picture that is deleted is nobody's any more. It is rare, and there is one row for each account: no index. */
export async function removePicture(db: Queryable, image: string): Promise<void> {
  await db.execute(sql`UPDATE customer SET image = NULL, updated_at = now() WHERE image = ${image}`);
  await db.execute(sql`UPDATE app_user SET image = NULL, updated_at = now() WHERE image = ${image}`);
}

/** The user's picture: its place below `/files/`. */
export async function pictureOfUser(
  db: Queryable,
  { customerId, userId }: { customerId: bigint; userId: bigint },
): Promise<string | null> {
  const [user] = await db.query(
    { image: 'text?' },
    sql`SELECT image FROM app_user WHERE customer_id = ${customerId} AND id = ${userId}`,
  );
  return user?.image ?? null;
}

/** Enables or disables a customer. */
export async function writeCustomerStatus(db: Queryable, id: bigint, status: CustomerStatus): Promise<void> {
  await db.execute(
    sql`UPDATE customer SET status = ${status}, updated_at = now() WHERE id = ${id} AND status <> ${status}`,
  );
}

/** The first step of deleting: it is not found any more. Its name and picture are a person's: they go at once. */
export async function hideCustomer(db: Queryable, id: bigint): Promise<void> {
  await db.execute(
    sql`UPDATE customer SET status = 'deleting', name = '', image = NULL, contact = NULL, updated_at = now() WHERE id = ${id}`,
  );
}

/** Whether this customer was deleted and is still being erased. */
export async function isDeleting(db: Queryable, id: bigint): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM customer WHERE id = ${id} AND status = 'deleting'`)) > 0;
}

/** The last step: its id is kept, and nothing else. Without it the links in its mails would lead again (disabled-customers.ts). */
export async function eraseCustomerRow(db: Queryable, id: bigint): Promise<void> {
  await db.execute(sql`
    WITH gone AS (DELETE FROM customer WHERE id = ${id} AND status = 'deleting' RETURNING id)
    INSERT INTO erased_customer (id) SELECT id FROM gone ON CONFLICT DO NOTHING`);
}

/** Customers that are disabled, being deleted, or were erased. */
export async function disabledCustomerIds(db: Queryable): Promise<ReadonlySet<bigint>> {
  const rows = await db.query(
    { id: 'bigint' },
    sql`SELECT id FROM customer WHERE status <> 'active' UNION ALL SELECT id FROM erased_customer`,
    'accounts.disabled_customers',
  );
  return new Set(rows.map(({ id }) => id));
}

/** Whether this is the operator's account. */
export async function isOperator(db: Queryable, id: bigint): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM customer WHERE id = ${id} AND is_operator`)) > 0;
}

/** The servers that a customer has chosen for its mail, by weight; null: it has not chosen. */
export async function readSendingServers(db: Queryable, id: bigint): Promise<unknown> {
  const [row] = await db.query(
    { servers: 'json?' },
    sql`SELECT sending_servers AS servers FROM customer WHERE id = ${id}`,
  );
  return row?.servers;
}

/** Writes this choice. */
export async function writeSendingServers(db: Queryable, id: bigint, servers: readonly object[] | null): Promise<void> {
  await db.execute(
    sql`UPDATE customer SET sending_servers = ${servers && JSON.stringify(servers)}::jsonb WHERE id = ${id}`,
  );
}

/** How many messages an hour a customer's campaigns send together; null: as many as its plan. */
export async function writeSendsPerHour(db: Queryable, id: bigint, sendsPerHour: number | null): Promise<void> {
  await db.execute(sql`UPDATE customer SET sends_per_hour = ${sendsPerHour}, updated_at = now() WHERE id = ${id}`);
}

/** How many messages a person gets from the customer, in the stored form; null: there is no limit. */
export async function readFrequencyCap(db: Queryable, id: bigint): Promise<unknown> {
  const [row] = await db.query({ cap: 'json?' }, sql`SELECT frequency_cap AS cap FROM customer WHERE id = ${id}`);
  return row?.cap;
}

/** Writes this cap. */
export async function writeFrequencyCap(db: Queryable, id: bigint, cap: object | null): Promise<void> {
  await db.execute(
    sql`UPDATE customer SET frequency_cap = ${cap && JSON.stringify(cap)}::jsonb, updated_at = now() WHERE id = ${id}`,
  );
}

/** Lets nobody else change the customer's own row until the transaction ends. NO KEY: what refers to it must not wait. */
export async function lockCustomer(db: Queryable, id: bigint) {
  const [customer] = await db.query(
    { id: 'bigint', uid: 'text', status: typed<CustomerRow['status']>('text') },
    sql`SELECT id, uid, status FROM customer WHERE id = ${id} FOR NO KEY UPDATE`,
  );
  return customer;
}
