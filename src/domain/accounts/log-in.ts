/**
 * Email and password, and the code if the user has a second factor, for a new token (decision D11) or a browser's session. The
 * user's other tokens stay. Without all of it there is no token.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { addressBlock } from '../../lib/address-block.ts';
import { emailKey, isEmailAddress, parseInput } from '../../lib/text.ts';
import type { Context } from '../context.ts';
import { inTransaction } from '../context.ts';
import { accountDisabled, codeRequired, wrongCode, wrongCredentials } from './account-errors.ts';
import { PASSWORD_LENGTH_MAX } from './account-limits.ts';
import { insertApiToken, pruneLoginTokens, type IssuedToken } from './api-token-store.ts';
import { auditInTransaction } from './audit-trail.ts';
import { knownAs, newDeviceToken } from './known-device.ts';
import {
  GUESSES,
  GUESSES_OF_ADDRESS,
  GUESSES_OF_CODE,
  PACE_OF_ADDRESS,
  hiddenSubject,
  countNoLoginTry,
  reserveLoginTry,
  type LoginSubject,
} from './login-failures.ts';
import { noteFailure } from './note-failure.ts';
import { hashPassword, isOutdated, verifyNobody, verifyPassword } from './password.ts';
import { EVERY_SCOPE } from './scopes.ts';
import { findTwoFactor } from './two-factor-store.ts';
import { takeSecondFactorCode } from './two-factor.ts';
import { findLoginUser, holdPassword, replacePasswordHash, type LoginUser } from './user-store.ts';

export interface LogInInput {
  readonly email: string;
  readonly password: string;
  /** Six digits of the authenticator app, or a recovery code. */
  readonly code?: string | null | undefined;
  /** The text that an earlier login gave to this device. */
  readonly deviceToken?: string | null | undefined;
}

export interface LoggedIn {
  /** Of a session: the text of its cookie. */
  readonly token: string;
  readonly deviceToken: string;
  readonly customerId: bigint;
  readonly userId: bigint;
}

/** Longer than any address; other texts fail like an unknown address. */
const LOGIN_LENGTH_MAX = 320;
const CODE_LENGTH_MAX = 40;
const DEVICE_TOKEN_LENGTH_MAX = 100;
/** Enough to distinguish names in a log. */
const NAME_DIGEST_LENGTH = 12;

export const logInInput = z.object({
  email: z.string().trim().min(1).max(LOGIN_LENGTH_MAX),
  password: z.string().min(1).max(PASSWORD_LENGTH_MAX),
  code: z.string().trim().max(CODE_LENGTH_MAX).nullish(),
  deviceToken: z.string().max(DEVICE_TOKEN_LENGTH_MAX).nullish(),
});

/**
 * Returns a login token (valid as `sessionDays` says). Throws UnauthenticatedError `WRONG_CREDENTIALS`,
 * `TWO_FACTOR_CODE_REQUIRED`, `TWO_FACTOR_CODE_WRONG`; ForbiddenError `ACCOUNT_DISABLED`; RateLimitedError `LOGIN_RATE_LIMITED`.
 * An unknown address takes the same work as a wrong password.
 */
export function logIn(ctx: Context, input: LogInInput): Promise<LoggedIn> {
  return enter(ctx, input, { operation: 'logIn', kind: 'login' });
}

/** The same for a page: a session, and no token that stays alive beside it. */
export function signIn(ctx: Context, input: LogInInput): Promise<LoggedIn> {
  return enter(ctx, input, { operation: 'signIn', kind: 'session' });
}

interface Way {
  readonly operation: 'logIn' | 'signIn';
  readonly kind: 'login' | 'session';
}

async function enter(ctx: Context, input: LogInInput, way: Way): Promise<LoggedIn> {
  const { email, password, code, deviceToken } = parseInput(logInInput, input);
  const key = isEmailAddress(email) ? emailKey(email) : null;
  const user = key ? await findLoginUser(ctx.database, key) : undefined;
  try {
    return await admit(ctx, { ...{ name: key ?? email, password, code, deviceToken }, user, way });
  } catch (error) {
    const nameDigest = hiddenSubject(ctx, `account:${key ?? email}`).slice(0, NAME_DIGEST_LENGTH);
    const account = user ? { customerId: user.customerId, userId: user.userId, userUid: user.uid } : null;
    noteFailure(ctx, { operation: way.operation, account, error, nameDigest: user ? undefined : nameDigest });
    throw error;
  }
}

interface Try extends Omit<LogInInput, 'email'> {
  /** The given address in the form in which it is counted. */
  readonly name: string;
  readonly user: LoginUser | undefined;
  readonly way: Way;
}

async function admit(ctx: Context, { name, password, code, deviceToken, user, way }: Try): Promise<LoggedIn> {
  const known = user ? knownAs(ctx, user, deviceToken) : null;
  const reservation = await reserveLoginTry(ctx.database, subjectsOf(ctx, name, known));
  await sleep(reservation.delayMs);
  const right = user ? await verifyPassword(password, user.passwordHash) : await verifyNobody(password);
  if (!user || !right) throw wrongCredentials();
  await countNoLoginTry(ctx.database, reservation);
  if (!user.active) throw accountDisabled();
  await checkSecondFactor(ctx, user, { code, known });
  const passwordHash = await rehashed(ctx, user, password);
  const { uid: tokenUid, token } = await issueLoginToken(ctx, { ...user, passwordHash }, way.kind);
  const account = { customerId: user.customerId, userId: user.userId, userUid: user.uid };
  ctx.securityEvents?.note(ctx, {
    ...{ kind: 'logged_in', operation: way.operation, account, tokenUid, tokenKind: way.kind },
  });
  const fresh = newDeviceToken(ctx, { ...user, passwordHash });
  return { token, deviceToken: fresh, customerId: user.customerId, userId: user.userId };
}

/** A known device has a separate count, which a stranger cannot use up. */
function subjectsOf(ctx: Context, account: string, known: string | null): LoginSubject[] {
  const guessed = known === null ? `account:${account}` : `account:${account}:${known}`;
  const subjects: LoginSubject[] = [{ key: hiddenSubject(ctx, guessed), bounds: GUESSES, isSlowedDown: true }];
  if (ctx.ipAddress === null) return subjects;
  const block = addressBlock(ctx.ipAddress);
  // Others at the same address may use up its tries, but not those of a known device.
  if (!known?.startsWith('device:'))
    subjects.push({ key: hiddenSubject(ctx, `address:${block}`), bounds: GUESSES_OF_ADDRESS });
  return [...subjects, { key: hiddenSubject(ctx, `pace:${block}`), bounds: PACE_OF_ADDRESS, countsAll: true }];
}

interface CodeGiven {
  readonly code: string | null | undefined;
  readonly known: string | null;
}

async function checkSecondFactor(ctx: Context, user: LoginUser, { code, known }: CodeGiven): Promise<void> {
  if (user.secondFactor === null) return;
  if (!code) throw codeRequired();
  const key = hiddenSubject(ctx, `code:${user.userId}:${known ?? ''}`);
  const reservation = await reserveLoginTry(ctx.database, [{ key, bounds: GUESSES_OF_CODE }]);
  if (!(await takeSecondFactorCode(ctx, { ...user, sealedSecret: user.secondFactor }, code))) throw wrongCode();
  await countNoLoginTry(ctx.database, reservation);
}

/** A hash with weaker settings is replaced while the password is known. */
async function rehashed(
  ctx: Context,
  { customerId, userId, passwordHash }: LoginUser,
  password: string,
): Promise<string> {
  if (!isOutdated(passwordHash)) return passwordHash;
  const fresh = await hashPassword(password);
  const isReplaced = await replacePasswordHash(ctx.db, { customerId, userId }, { from: passwordHash, to: fresh });
  return isReplaced ? fresh : passwordHash;
}

async function issueLoginToken(ctx: Context, user: LoginUser, kind: Way['kind']): Promise<IssuedToken> {
  const { customerId, userId, passwordHash } = user;
  return inTransaction(ctx, async (inner) => {
    const { db } = inner;
    // A change of password or second factor ends all tokens: none may be created after it with the old ones.
    if (!(await holdPassword(db, { customerId, userId, passwordHash }))) throw wrongCredentials();
    const factor = await findTwoFactor(db, { customerId, userId });
    if (factor?.isConfirmed && !(user.secondFactor && user.secondFactor.equals(factor.sealedSecret)))
      throw codeRequired();
    await pruneLoginTokens(db, { customerId, userId });
    const { sessionDays } = ctx.installation.limits;
    const name = `${kind === 'login' ? 'Login' : 'Session'} ${ctx.clock.now().toISOString().slice(0, 16).replace('T', ' ')}`;
    const issued = await insertApiToken(db, {
      ...{ customerId, userId, kind, name, scopes: [EVERY_SCOPE], sessionDays },
    });
    await auditInTransaction(inner, { customerId, userId, targetUid: issued.uid });
    return issued;
  });
}
