/** Follows a verification across all processes. */
import type { Notifications } from '../../db/listen.ts';
import { watchProgress } from '../audience/watch-progress.ts';
import type { Context } from '../context.ts';
import { findOwnedVerification } from './find-owned-verification.ts';
import { isOpenVerification, VERIFICATION_CHANNEL, type Verification } from './verification.ts';

/** The verification now, then its newest state after each progress, until it has ended or is gone. */
export function watchVerification(
  ctx: Context,
  notifications: Notifications,
  uid: string,
): AsyncIterableIterator<Verification> {
  return watchProgress(notifications, {
    ...{ channel: VERIFICATION_CHANNEL, uid },
    read: () => findOwnedVerification(ctx, uid),
    isOpen: isOpenVerification,
  });
}
