/** Making the folders of this machine agree with the packages in the database, which are those of the whole installation. */
import { lockUntilCommit } from '../../db/lock.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import { hostOf } from './find-plugin.ts';
import { keptPackages, readPackageArchive } from './plugin-package-store.ts';

/** Unpacks what is missing here, sets the links, and removes what is not used any more. A failure is logged, and tried again later. */
export async function syncPackages(ctx: Context): Promise<void> {
  const { packages } = hostOf(ctx);
  try {
    if (await packages.isInOrder(await keptPackages(ctx.database))) return;
    await ctx.database.transaction(async (tx) => {
      // One after the other, each with what is in the database then: none removes what another has just unpacked.
      await lockUntilCommit(tx, 'mailwright:plugin-folders');
      await packages.arrange(await keptPackages(tx), (kept) => readPackageArchive(tx, kept));
    });
  } catch (error) {
    ctx.log.error('plugins.not_unpacked', { message: messageOf(error) });
  }
}
