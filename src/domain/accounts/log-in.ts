/** Email and password for a fresh token (decision D11). The user's other tokens stay as they are. */
import { z } from 'zod';
import { sql } from '../../db/database.ts';
import { emailKey, isEmailAddress, parseInput } from '../../lib/text.ts';
import type { Context } from '../context.ts';
import { inTransaction } from '../context.ts';
import { accountDisabled, wrongCredentials } from './account-errors.ts';
import { PASSWORD_LENGTH_MAX } from './account-limits.ts';
import { insertApiToken, pruneLoginTokens } from './api-token-store.ts';
import { releaseLoginTry, reserveLoginTry } from './login-failures.ts';
import { verifyNobody, verifyPassword } from './password.ts';
import { EVERY_SCOPE } from './scopes.ts';

export interface LogInInput {
  readonly email: string;
  readonly password: string;
}

export interface LoggedIn {
  readonly token: string;
  readonly customerId: bigint;
  readonly userId: bigint;
}

/** Longer than any address; what is no address at all then fails like an unknown one. */
const LOGIN_LENGTH_MAX = 320;

const schema = z.object({
  email: z.string().trim().min(1).max(LOGIN_LENGTH_MAX),
  password: z.string().min(1).max(PASSWORD_LENGTH_MAX),
});

interface UserRow {
  customer_id: bigint;
  id: bigint;
  password_hash: string;
  active: boolean;
}

/**
 * Gives a login token (expires after 30 days of no use) for the right password. Throws UnauthenticatedError
 * `WRONG_CREDENTIALS`, ForbiddenError `ACCOUNT_DISABLED`, RateLimitedError `LOGIN_RATE_LIMITED`. An unknown address
 * takes as long as a wrong password.
 */
export async function logIn(ctx: Context, input: LogInInput): Promise<LoggedIn> {
  const { email, password } = parseInput(schema, input);
  const key = isEmailAddress(email) ? emailKey(email) : null;
  const reservation = await reserveLoginTry(ctx.database, loginSubjects(key ?? email.toWellFormed(), ctx.ipAddress));
  const user = key ? await findUser(ctx, key) : undefined;
  const right = user ? await verifyPassword(password, user.password_hash) : await verifyNobody(password);
  if (!user || !right) throw wrongCredentials();
  await releaseLoginTry(ctx.database, reservation);
  if (!user.active) throw accountDisabled();
  return issueLoginToken(ctx, { customerId: user.customer_id, userId: user.id });
}

function loginSubjects(account: string, ipAddress: string | null): string[] {
  // NUL is the one character that the database cannot hold.
  const subjects = [`account:${account.replaceAll('\0', '')}`];
  return ipAddress ? [...subjects, `address:${ipAddress}`] : subjects;
}

async function findUser(ctx: Context, key: string): Promise<UserRow | undefined> {
  const [row] = await ctx.database.query<UserRow>(
    sql`SELECT u.customer_id, u.id, u.password_hash, u.status = 'active' AND c.status = 'active' AS active
          FROM app_user u JOIN customer c ON c.id = u.customer_id
         WHERE u.email_key = ${key}`,
    'accounts.find_by_email',
  );
  return row;
}

async function issueLoginToken(ctx: Context, user: { customerId: bigint; userId: bigint }): Promise<LoggedIn> {
  const { token } = await inTransaction(ctx, async ({ db }) => {
    await pruneLoginTokens(db, user);
    const name = `Login ${ctx.clock.now().toISOString().slice(0, 16).replace('T', ' ')}`;
    return insertApiToken(db, { ...user, kind: 'login', name, scopes: [EVERY_SCOPE] });
  });
  return { ...user, token };
}
