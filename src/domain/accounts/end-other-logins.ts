/**
 * After a change of how a user logs in (password, second factor, rights), every earlier login ends at once, with its open
 * connections, and so do one-time links. API tokens made by hand are separate credentials and stay.
 */
import type { Queryable } from '../../db/database.ts';
import { endLogins, type UserKey } from './api-token-store.ts';
import { deleteLinksOfUser } from './login-link-store.ts';
import { lockUser } from './user-store.ts';

export interface LoggedInUser extends UserKey {
  /** The login that stays: the one of this request. */
  readonly tokenId?: bigint | undefined;
}

/** Ends all login tokens, sessions and one-time links of the user except one. */
export async function endOtherLogins(db: Queryable, user: LoggedInUser): Promise<void> {
  // A login in progress locks the user until its token exists; later logins see the change.
  await lockUser(db, user);
  // Links before sessions: one that is being used is waited for, and then its session is found.
  await deleteLinksOfUser(db, user);
  await endLogins(db, user);
}
