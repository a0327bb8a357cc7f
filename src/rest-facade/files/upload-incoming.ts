/** The file of a multipart form into the file store, piece after piece. */
import { sendInPieces } from '../shared/send-in-pieces.ts';
import type { Call } from '../row.ts';

/** The operations that a row which uploads has to name. */
export const UPLOAD_OPERATIONS = ['StartFileUpload', 'AppendToFile', 'FinishFileUpload', 'DeleteFile'] as const;

/** Uploads the call's file; nothing is left of an upload that failed. */
export async function uploadIncoming(call: Call, subdirectory: string | undefined) {
  const { upload: incoming } = call;
  if (!incoming) throw new Error('There is no upload.');
  const input = { name: incoming.file.name || 'file', subdirectory };
  const { uid } = (await call.execute('StartFileUpload', { input })).startFileUpload;
  try {
    await sendInPieces(incoming.file.content, (bytes, no) =>
      call.execute('AppendToFile', { input: { uid, no, bytes } }),
    );
    return (await call.execute('FinishFileUpload', { uid })).finishFileUpload;
  } catch (error) {
    // Half a file is of no use to anybody; what was wrong is the answer, not what becomes of it now.
    await call.execute('DeleteFile', { uid }).catch(() => undefined);
    throw error;
  }
}
