/** Asks for the password again before an action that a stolen token alone must not allow. */
import { ValidationError } from '../../lib/errors.ts';
import { viewerOf, type Context } from '../context.ts';
import { PASSWORD_LENGTH_MAX } from './account-limits.ts';
import { GUESSES, hiddenSubject, countNoLoginTry, reserveLoginTry } from './login-failures.ts';
import { noteFailure } from './note-failure.ts';
import { verifyNobody, verifyPassword } from './password.ts';
import { findUser } from './user-store.ts';

/**
 * Resolves when this is the caller's password. Throws ValidationError on `field` when it is not; after ten failures in 15 minutes
 * RateLimitedError `LOGIN_RATE_LIMITED`.
 */
export async function confirmPassword(ctx: Context, password: string, field = 'password'): Promise<void> {
  const viewer = viewerOf(ctx);
  try {
    await confirm(ctx, { password, field });
  } catch (error) {
    noteFailure(ctx, { operation: 'confirmPassword', account: viewer, error, reason: 'WRONG_PASSWORD' });
    throw error;
  }
}

async function confirm(ctx: Context, { password, field }: { password: string; field: string }): Promise<void> {
  const { customerId, userId } = viewerOf(ctx);
  const subject = { key: hiddenSubject(ctx, `confirm:${userId}`), bounds: GUESSES };
  const reservation = await reserveLoginTry(ctx.database, [subject]);
  const user = await findUser(ctx.database, { customerId, userId });
  const typed = password.slice(0, PASSWORD_LENGTH_MAX + 1);
  const right = user ? await verifyPassword(typed, user.passwordHash) : await verifyNobody(typed);
  if (!right) throw new ValidationError({ [field]: ['The password is wrong.'] });
  await countNoLoginTry(ctx.database, reservation);
}
