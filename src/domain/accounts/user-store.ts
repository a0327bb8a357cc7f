/** Rows of users: the people who log in for a customer. The first one is written with its customer (customer-store.ts). */
import { empty, row, sql, type Queryable, type RowOf } from '../../db/database.ts';
import { emailKey } from '../../lib/text.ts';
import type { UserKey } from './api-token-store.ts';

const USER = row({
  email: 'text',
  emailKey: 'text',
  firstName: 'text',
  lastName: 'text',
  passwordHash: 'text',
  customerUid: 'text',
  customerName: 'text',
});

/** What a user is known by, with its customer's name. */
export async function findUser(
  db: Queryable,
  { customerId, userId }: UserKey,
): Promise<RowOf<typeof USER> | undefined> {
  const [user] = await db.query(
    USER,
    sql`
    SELECT u.email, u.email_key AS "emailKey", u.first_name AS "firstName", u.last_name AS "lastName",
           u.password_hash AS "passwordHash", c.uid AS "customerUid", c.name AS "customerName"
      FROM app_user u JOIN customer c ON c.id = u.customer_id
     WHERE u.customer_id = ${customerId} AND u.id = ${userId}`,
  );
  return user;
}

/** A user of any customer that is not being deleted; `lock` holds it until the transaction ends. */
export async function findUserByUid(
  db: Queryable,
  uid: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<(UserKey & { readonly isAdmin: boolean }) | undefined> {
  const [user] = await db.query(
    { customerId: 'bigint', userId: 'bigint', isAdmin: 'bool' },
    sql`
    SELECT u.customer_id AS "customerId", u.id AS "userId", u.is_admin AS "isAdmin"
      FROM app_user u JOIN customer c ON c.id = u.customer_id
     WHERE u.uid = ${uid} AND c.status <> 'deleting' ${lock ? sql`FOR UPDATE OF u` : empty}`,
  );
  return user;
}

const LOGIN_USER = row({
  customerId: 'bigint',
  userId: 'bigint',
  uid: 'text',
  passwordHash: 'text',
  /** The user and its customer. */
  active: 'bool',
  /** The sealed secret; null: there is none that was confirmed. */
  secondFactor: 'bytea?',
  /** From which tokens of the user were used. */
  addresses: 'text[]',
});
export type LoginUser = RowOf<typeof LOGIN_USER>;

/** Who logs in with this address. */
export async function findLoginUser(db: Queryable, key: string): Promise<LoginUser | undefined> {
  const [user] = await db.query(
    LOGIN_USER,
    sql`SELECT u.customer_id AS "customerId", u.id AS "userId", u.uid, u.password_hash AS "passwordHash",
               u.status = 'active' AND c.status = 'active' AS active, f.sealed_secret AS "secondFactor",
               ARRAY(SELECT DISTINCT t.last_used_ip FROM api_token t
                      WHERE t.customer_id = u.customer_id AND t.user_id = u.id AND t.last_used_ip IS NOT NULL) AS addresses
          FROM app_user u
          JOIN customer c ON c.id = u.customer_id
          LEFT JOIN two_factor f ON f.customer_id = u.customer_id AND f.user_id = u.id AND f.confirmed_at IS NOT NULL
         WHERE u.email_key = ${key}`,
    'accounts.find_by_email',
  );
  return user;
}

/** Lets nobody else change the user, or count under this lock, until the transaction ends. */
export async function lockUser(db: Queryable, { customerId, userId }: UserKey): Promise<void> {
  await db.execute(
    sql`SELECT 1 FROM app_user WHERE customer_id = ${customerId} AND id = ${userId} FOR NO KEY UPDATE`,
    'accounts.hold_user',
  );
}

/** Whether the password is still this one; if so, nobody changes the user until the transaction ends. */
export async function holdPassword(
  db: Queryable,
  { customerId, userId, passwordHash }: UserKey & { passwordHash: string },
): Promise<boolean> {
  const same = await db.execute(sql`
    SELECT 1 FROM app_user WHERE customer_id = ${customerId} AND id = ${userId} AND password_hash = ${passwordHash}
       FOR SHARE`);
  return same > 0;
}

/** Replaces the hash of a password; false: it has been changed meanwhile. */
export async function replacePasswordHash(
  db: Queryable,
  { customerId, userId }: UserKey,
  { from, to }: { from: string; to: string },
): Promise<boolean> {
  const replaced = await db.execute(sql`
    UPDATE app_user SET password_hash = ${to}
     WHERE customer_id = ${customerId} AND id = ${userId} AND password_hash = ${from}`);
  return replaced === 1;
}

/** Inserts the administrator with whom an installation begins. */
export async function insertAdministrator(
  db: Queryable,
  user: { customerId: bigint; uid: string; email: string; passwordHash: string },
): Promise<bigint> {
  const [row] = await db.query(
    { id: 'bigint' },
    sql`
    INSERT INTO app_user (customer_id, uid, email, email_key, first_name, password_hash, is_admin)
    VALUES (${user.customerId}, ${user.uid}, ${user.email}, ${emailKey(user.email)}, 'Administrator', ${user.passwordHash}, true)
    RETURNING id`,
  );
  if (!row) throw new Error('Assertion failed: an insert returns its row');
  return row.id;
}

/** Gives or takes the right of an administrator. */
export async function isAdministrator(db: Queryable, { customerId, userId }: UserKey): Promise<boolean> {
  return (
    (await db.execute(sql`SELECT 1 FROM app_user WHERE customer_id = ${customerId} AND id = ${userId} AND is_admin`)) >
    0
  );
}

export async function writeIsAdmin(db: Queryable, { customerId, userId }: UserKey, isAdmin: boolean): Promise<void> {
  await db.execute(
    sql`UPDATE app_user SET is_admin = ${isAdmin}, updated_at = now() WHERE customer_id = ${customerId} AND id = ${userId}`,
  );
}

/** Whether the customer has an active administrator besides this one. */
export async function hasOtherAdministrator(db: Queryable, { customerId, userId }: UserKey): Promise<boolean> {
  const others = await db.execute(sql`
    SELECT 1 FROM app_user
     WHERE customer_id = ${customerId} AND id <> ${userId} AND is_admin AND status = 'active' LIMIT 1`);
  return others > 0;
}

/** The users of a customer. */
export async function userIdsOf(db: Queryable, customerId: bigint): Promise<bigint[]> {
  const users = await db.query({ id: 'bigint' }, sql`SELECT id FROM app_user WHERE customer_id = ${customerId}`);
  return users.map(({ id }) => id);
}

/** Deletes the users of a customer, with their tokens. */
export async function deleteUsers(db: Queryable, customerId: bigint): Promise<void> {
  await db.execute(sql`DELETE FROM app_user WHERE customer_id = ${customerId}`);
}
