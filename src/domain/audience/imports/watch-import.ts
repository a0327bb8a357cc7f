/** Follows an import across all processes. */
import type { Notifications } from '../../../db/listen.ts';
import type { Context } from '../../context.ts';
import { watchProgress } from '../watch-progress.ts';
import { IMPORT_CHANNEL, isOpen, type ListImport } from './list-import.ts';
import { findOwnedImport } from './find-owned-import.ts';

/** The import now, then its newest state after each progress, until it has ended or is gone. */
export function watchImport(
  ctx: Context,
  notifications: Notifications,
  uid: string,
): AsyncIterableIterator<ListImport> {
  return watchProgress(notifications, { channel: IMPORT_CHANNEL, uid, read: () => findOwnedImport(ctx, uid), isOpen });
}
