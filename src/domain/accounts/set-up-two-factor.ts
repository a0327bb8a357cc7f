/**
 * Switching the second factor on, in two steps: a secret for the authenticator app, then a code as proof that the app has it.
 * Until the second step logging in works as before.
 */
import { logInInput } from './log-in.ts';
import { ValidationError, WrongStateError } from '../../lib/errors.ts';
import { inTransaction, viewerOf, type Context, type Viewer } from '../context.ts';
import { auditInTransaction } from './audit-trail.ts';
import { confirmPassword } from './confirm-password.ts';
import { endOtherLogins } from './end-other-logins.ts';
import { GUESSES_OF_CODE, hiddenSubject, countNoLoginTry, reserveLoginTry } from './login-failures.ts';
import { noteFailure } from './note-failure.ts';
import { findTwoFactor, markTwoFactorConfirmed, writeTwoFactor } from './two-factor-store.ts';
import {
  newRecoveryCodes,
  newTwoFactorSecret,
  storeRecoveryCodes,
  takeSecondFactorCode,
  type NewSecret,
} from './two-factor.ts';
import { findUser } from './user-store.ts';

const alreadyOn = () =>
  new WrongStateError('TWO_FACTOR_IS_ON', 'Two-factor login is on already: switch it off before you set it up again.');
const notBegun = () =>
  new WrongStateError('TWO_FACTOR_NOT_BEGUN', 'Ask for a secret first, then confirm it with a code of the app.');
export const notOn = () => new WrongStateError('TWO_FACTOR_IS_OFF', 'Two-factor login is off.');

/** What proves the person: as when logging in. */
export const secondFactorInput = logInInput.pick({ password: true, code: true });

/** Recovery codes in clear: shown once. */
export interface RecoveryCodes {
  readonly recoveryCodes: readonly string[];
}

/**
 * A secret for the app, shown once; asking again replaces it. Throws ValidationError (password), WrongStateError
 * `TWO_FACTOR_IS_ON`.
 */
export async function beginTwoFactor(ctx: Context, { password }: { password: string }): Promise<NewSecret> {
  const { customerId, userId } = viewerOf(ctx);
  await confirmPassword(ctx, password);
  const user = await findUser(ctx.db, { customerId, userId });
  const { secret, uri, sealed } = newTwoFactorSecret(ctx, user?.email ?? '');
  if (!(await writeTwoFactor(ctx.db, { customerId, userId }, sealed))) throw alreadyOn();
  return { secret, uri };
}

/**
 * Switches it on with a code of the app, and returns the recovery codes. Every other login of the user ends. Throws
 * ValidationError (code), WrongStateError `TWO_FACTOR_IS_ON`, `TWO_FACTOR_NOT_BEGUN`.
 */
export async function confirmTwoFactor(ctx: Context, { code }: { code: string }): Promise<RecoveryCodes> {
  const viewer = viewerOf(ctx);
  const factor = await findTwoFactor(ctx.db, viewer);
  if (!factor) throw notBegun();
  if (factor.isConfirmed) throw alreadyOn();
  await checkCode(ctx, code);
  const recoveryCodes = newRecoveryCodes();
  await inTransaction(ctx, async (inner) => {
    if (!(await markTwoFactorConfirmed(inner.db, factor))) throw alreadyOn();
    await storeRecoveryCodes(inner, viewer, recoveryCodes);
    await endOtherLogins(inner.db, viewer);
    await auditInTransaction(inner, { customerId: viewer.customerId, targetUid: viewer.userUid });
  });
  return { recoveryCodes };
}

/**
 * Ten new recovery codes; the old ones become invalid. Throws ValidationError (password, code), WrongStateError
 * `TWO_FACTOR_IS_OFF`.
 */
export async function renewRecoveryCodes(
  ctx: Context,
  { password, code }: { password: string; code: string },
): Promise<RecoveryCodes> {
  const viewer = viewerOf(ctx);
  await refuseWhenOff(ctx);
  await confirmPassword(ctx, password);
  await checkCode(ctx, code);
  const recoveryCodes = newRecoveryCodes();
  await inTransaction(ctx, async (inner) => {
    await storeRecoveryCodes(inner, viewer, recoveryCodes);
    await auditInTransaction(inner, { customerId: viewer.customerId, targetUid: viewer.userUid });
  });
  return { recoveryCodes };
}

/** Resolves for a valid code of the caller, which is used from then on. Five wrong ones lock it for 15 minutes. */
export async function checkCode(ctx: Context, code: string): Promise<void> {
  const viewer = viewerOf(ctx);
  try {
    await takeCode(ctx, viewer, code);
  } catch (error) {
    noteFailure(ctx, { operation: 'confirmCode', account: viewer, error, reason: 'TWO_FACTOR_CODE_WRONG' });
    throw error;
  }
}

async function takeCode(ctx: Context, viewer: Viewer, code: string): Promise<void> {
  const key = hiddenSubject(ctx, `code-in-session:${viewer.userId}`);
  const reservation = await reserveLoginTry(ctx.database, [{ key, bounds: GUESSES_OF_CODE }]);
  const factor = await findTwoFactor(ctx.db, viewer);
  if (!factor || !(await takeSecondFactorCode(ctx, factor, code)))
    throw new ValidationError({ code: ['The code is wrong, or was used before.'] });
  await countNoLoginTry(ctx.database, reservation);
}

/** Throws WrongStateError `TWO_FACTOR_IS_OFF` when the caller has not switched it on. */
export async function refuseWhenOff(ctx: Context): Promise<void> {
  const factor = await findTwoFactor(ctx.db, viewerOf(ctx));
  if (!factor?.isConfirmed) throw notOn();
}
