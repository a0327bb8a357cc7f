/** Uploads the file of a multipart form to the file store, piece by piece. */
import { sendInPieces } from '../shared/send-in-pieces.ts';
import type { IncomingFile } from '../multipart.ts';
import type { Call } from '../row.ts';

/** The operations that an uploading row must name. */
export const UPLOAD_OPERATIONS = ['StartFileUpload', 'AppendToFile', 'FinishFileUpload', 'DeleteFile'] as const;

/** Uploads the call's file; nothing is left of an upload that failed. */
export async function uploadIncoming(call: Call, subdirectory?: string) {
  if (!call.upload) throw new Error('There is no upload.');
  return uploadPart(call, call.upload.file, subdirectory);
}

/** The same for one of several files. */
export async function uploadPart(call: Call, file: IncomingFile, subdirectory: string | undefined) {
  const input = { name: file.name || 'file', subdirectory };
  const { uid } = (await call.execute('StartFileUpload', { input })).startFileUpload;
  try {
    await sendInPieces(file.content, (bytes, no) => call.execute('AppendToFile', { input: { uid, no, bytes } }));
    return (await call.execute('FinishFileUpload', { uid })).finishFileUpload;
  } catch (error) {
    // An incomplete file is deleted; the answer is the first fault, whether or not this succeeds.
    await call.execute('DeleteFile', { uid }).catch(() => undefined);
    throw error;
  }
}
