/** Deletes a file, or cancels its upload. Mails with the picture show nothing in its place. */
import { inTransaction, type Context } from '../context.ts';
import { removePicture } from '../accounts/customer-store.ts';
import { placeOfPicture } from './choose-picture.ts';
import { deleteFileRow, lockOwnedFile } from './file-store.ts';

/** Throws NotFoundError, ForeignResourceError. */
export async function deleteFile(ctx: Context, { uid }: { uid: string }): Promise<{ uid: string }> {
  return inTransaction(ctx, async (inner) => {
    const file = await lockOwnedFile(inner, uid);
    await deleteFileRow(inner.db, file);
    await removePicture(inner.db, placeOfPicture(file));
    return { uid };
  });
}
