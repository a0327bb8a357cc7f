/**
 * Acts by which somebody could take over the installation need a login of the last minutes (hard case G6): a browser that was left open, or a
 * stolen cookie, is not enough. API tokens of programs are exempt: they have no person who could log in again.
 */
import { viewerOf, type Context } from '../context.ts';
import { loginTooOld } from './account-errors.ts';
import { isLoginRecent } from './api-token-store.ts';

/** As long as somebody works on one thing. */
const RECENT_LOGIN_MINUTES = 15;

/** For the descriptions of these acts. */
export const RECENT_LOGIN = `An administrator who uses no API token must have logged in within the last ${RECENT_LOGIN_MINUTES} minutes (\`LOGIN_TOO_OLD\`).`;

/** Throws ForbiddenError `LOGIN_TOO_OLD` when the caller has logged in longer ago. */
export async function requireRecentLogin(ctx: Context): Promise<void> {
  const { tokenKind, customerId, tokenId } = viewerOf(ctx);
  if (tokenKind !== 'session' && tokenKind !== 'login') return;
  if (!(await isLoginRecent(ctx.db, { customerId, tokenId, minutes: RECENT_LOGIN_MINUTES })))
    throw loginTooOld(RECENT_LOGIN_MINUTES);
}
