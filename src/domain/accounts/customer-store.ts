/** Writes and look-ups of customers, each with its first user. Those being deleted are not found. */
import { empty, sql, type Queryable, type Sql } from '../../db/database.ts';
import type { Customer } from './customer.ts';

type CustomerRow = Customer & Record<string, unknown>;

/** The customer, or undefined; `lock` holds it until the transaction ends (NO KEY: what refers to it must not wait). */
export async function findCustomer(
  db: Queryable,
  by: { uid: string } | { emailKey: string },
  options: { lock?: boolean } = {},
): Promise<Customer | undefined> {
  const which =
    'uid' in by
      ? sql`c.uid = ${by.uid}`
      : sql`c.id = (SELECT customer_id FROM app_user WHERE email_key = ${by.emailKey})`;
  const [customer] = await db.query<CustomerRow>(sql`
    SELECT c.id, c.uid, c.status, c.is_operator AS "isOperator", u.id AS "userId", u.is_admin AS "isAdmin", u.email,
           u.first_name AS "firstName", u.last_name AS "lastName"
      FROM customer c
      JOIN LATERAL (SELECT * FROM app_user u WHERE u.customer_id = c.id ORDER BY u.id LIMIT 1) u ON true
     WHERE ${which} AND c.status <> 'deleting' ${options.lock ? sql`FOR NO KEY UPDATE OF c` : empty}`);
  return customer;
}

export interface NewCustomer {
  readonly uid: string;
  readonly name: string;
  readonly timezone: string;
  readonly languageId: number | null;
}

/** Inserts the tenant and answers its id. */
export async function insertCustomer(db: Queryable, values: NewCustomer): Promise<bigint> {
  const [row] = await db.query<{ id: bigint }>(sql`
    INSERT INTO customer (uid, name, timezone, language_id)
    VALUES (${values.uid}, ${values.name}, ${values.timezone}, ${values.languageId}) RETURNING id`);
  if (!row) throw new Error('Assertion failed: an insert returns its row');
  return row.id;
}

export interface NewUser {
  readonly customerId: bigint;
  readonly uid: string;
  readonly email: string;
  readonly emailKey: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly timezone: string;
  readonly passwordHash: string;
}

/** Inserts the user and answers its id; undefined: the address belongs to somebody already. */
export async function insertUser(db: Queryable, user: NewUser): Promise<bigint | undefined> {
  const [row] = await db.query<{ id: bigint }>(sql`
    INSERT INTO app_user (customer_id, uid, email, email_key, first_name, last_name, timezone, password_hash)
    VALUES (${user.customerId}, ${user.uid}, ${user.email}, ${user.emailKey}, ${user.firstName}, ${user.lastName},
            ${user.timezone}, ${user.passwordHash})
    ON CONFLICT (email_key) DO NOTHING RETURNING id`);
  return row?.id;
}

export interface UserValues {
  readonly email?: string | undefined;
  readonly emailKey?: string | undefined;
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  readonly timezone?: string | undefined;
  readonly passwordHash?: string | undefined;
}

/** Writes what is given. Fails by the unique key when the address is another's: see `isEmailConflict`. */
export async function writeUser(
  db: Queryable,
  { customerId, userId }: { customerId: bigint; userId: bigint },
  values: UserValues,
): Promise<void> {
  await db.execute(sql`
    UPDATE app_user SET updated_at = now()${set('email', values.email)}${set('email_key', values.emailKey)}
           ${set('first_name', values.firstName)}${set('last_name', values.lastName)}${set('timezone', values.timezone)}
           ${set('password_hash', values.passwordHash)}
     WHERE customer_id = ${customerId} AND id = ${userId}`);
}

/** Writes what is given of the tenant itself; a name that was made from its user's follows. */
export async function writeCustomer(
  db: Queryable,
  customerId: bigint,
  values: { name?: string | undefined; timezone?: string | undefined; languageId?: number | null | undefined },
): Promise<void> {
  await db.execute(sql`
    UPDATE customer SET updated_at = now()${set('name', values.name)}${set('timezone', values.timezone)}
           ${set('language_id', values.languageId)}
     WHERE id = ${customerId}`);
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

function set(column: string, value: unknown): Sql {
  // Column names of this file only; a value never comes here.
  return value === undefined ? empty : sql`, ${sql([column])} = ${value}`;
}
