/** Uploads the file of a multipart form to the file store, piece by piece. */
import { sendInPieces } from '../shared/send-in-pieces.ts';
import type { IncomingFile } from '../multipart.ts';
import type { Input } from '../input.ts';
import type { Call } from '../row.ts';

/** The operations that an uploading row must name. */
export const UPLOAD_OPERATIONS = ['StartFileUpload', 'AppendToFile', 'FinishFileUpload', 'DeleteFile'] as const;

/** Where pictures of users and customers are found in the list of files. */
const PICTURES_FOLDER = 'pictures';

/** Uploads the call's file; nothing is left of an upload that failed. */
export async function uploadIncoming(call: Call, subdirectory?: string) {
  if (!call.upload) throw new Error('There is no upload.');
  return uploadPart(call, call.upload.file, subdirectory);
}

/**
 * Runs `act` with the `image` of the request: the uid of an uploaded file, or the file of the form, which is uploaded first and
 * deleted again when `act` fails. The input has the fields after the file, too.
 */
export async function withImage<T>(
  call: Call,
  act: (input: Input, image: string | null | undefined) => Promise<T>,
): Promise<T> {
  const named = call.input.nullableText('image');
  if (!call.upload) return act(call.input, named);
  if (named) call.input.refuse('image', 'Send the image as a file or name one, not both.');
  call.input.check();
  const { uid } = await uploadIncoming(call, PICTURES_FOLDER);
  try {
    return await act(await call.upload.completeInput(), uid);
  } catch (error) {
    await call.execute('DeleteFile', { uid }).catch(() => undefined);
    throw error;
  }
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
