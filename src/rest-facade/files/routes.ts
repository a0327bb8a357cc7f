/** Files (specification 4.10, wire facts 11 and 12): a multipart form, or addresses to download; and the list of files. */
import { excessOf } from '../../lib/bounded-body.ts';
import { created, done, ok, page, type Answer } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { customEndpoint, endpoint } from '../endpoint.ts';
import { RestError, invalid } from '../errors.ts';
import type { Input } from '../input.ts';
import { FILES_MAX, type IncomingFile } from '../multipart.ts';
import type { Call } from '../row.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { presentFile } from './present.ts';
import { UPLOAD_OPERATIONS, uploadPart } from './upload-incoming.ts';
import { deletedFileShape, fetchedFileShape, fileShape, uploadShape } from './shapes.ts';

interface Wanted {
  readonly url: string;
  readonly subdirectory: string | undefined;
}

export const fileRows = [
  customEndpoint({
    method: 'POST',
    path: '/file/upload',
    access: 'token',
    summary:
      'Uploads the files of a multipart form (20 at most), or fetches the addresses in `files`. 422 with the same rows when none was stored.',
    refusesWithRows: fetchedFileShape,
    answers: answersCreated(uploadShape),
    takesFile: 'several',
    operations: [...UPLOAD_OPERATIONS, 'UploadFileFromUrl'],
    run: (call) => {
      const wanted = filesIn(call.input);
      const subdirectory = call.input.text('subdirectory');
      if (call.upload && wanted.length > 0)
        call.input.refuse('files', 'Send files in the form, or addresses in `files`, not both.');
      call.input.check();
      if (call.upload) return upload(call, call.upload.file, subdirectory);
      return fetchAll(call, wanted).then((body): Answer => ({ kind: 'created', body }));
    },
  }),
  customEndpoint({
    // The specification shows the method both ways.
    method: 'GET',
    path: '/file/upload',
    writes: true,
    access: 'token',
    summary: 'Fetches the addresses in `files`. 422 with the same rows when none was stored.',
    refusesWithRows: fetchedFileShape,
    answers: answersBody(fetchedFileShape.array()),
    required: ['files'],
    operations: ['UploadFileFromUrl'],
    run: (call) => {
      const wanted = filesIn(call.input);
      call.input.check();
      return fetchAll(call, wanted).then(ok);
    },
  }),
  endpoint({
    method: 'GET',
    path: '/files',
    access: 'token',
    summary: 'Lists the uploaded files, the newest first.',
    answers: answersPage(fileShape),
    operation: 'Files',
    variables: pageArguments,
    present: ({ filesPage }) => page(filesPage, presentFile),
  }),
  endpoint({
    method: 'DELETE',
    path: '/files/:uid',
    access: 'token',
    summary: 'Deletes an uploaded file; after that its address answers 404.',
    answers: answersBody(deletedFileShape),
    operation: 'DeleteFile',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deleteFile: { uid } }) => done('Deleted', { file_uid: uid }),
  }),
];

/** A result of one file. Of those that failed the status is 0. */
interface Outcome {
  readonly file: string;
  readonly status: 0 | 1;
  readonly message: string;
  readonly url?: string | null;
  readonly file_uid?: string;
}

/** One file is answered or refused by itself; of several each has its result. */
async function upload(call: Call, first: IncomingFile, subdirectory: string | undefined): Promise<Answer> {
  const attempts: { readonly outcome: Outcome; readonly refusal?: RestError }[] = [];
  try {
    for (let file: IncomingFile | undefined = first; file; file = await file.next())
      attempts.push(await attempt(file.name, uploadPart(call, file, subdirectory)));
  } catch (error) {
    await deleteStored(
      call,
      attempts.map(({ outcome }) => outcome),
    );
    throw error;
  }
  const outcomes = attempts.map(({ outcome }) => outcome);
  const [only] = attempts;
  if (attempts.length === 1 && only?.refusal) throw only.refusal;
  const stored = storedOf(outcomes);
  const { url, file_uid } = stored[0] ?? {};
  if (attempts.length === 1) return created('File uploaded', { url, file_uid });
  const message = `${stored.length} of ${outcomes.length} files uploaded`;
  return created(message, { url, file_uid, files: outcomes });
}

/** The caller of a request that fails as a whole learns no uids: nothing of it stays. */
async function deleteStored(call: Call, outcomes: readonly Outcome[]): Promise<void> {
  for (const { file_uid: uid } of outcomes)
    if (uid !== undefined) await call.execute('DeleteFile', { uid }).catch(() => undefined);
}

/** The results that name a stored file. Throws RestError 422 with all of them when there is none. */
function storedOf(outcomes: readonly Outcome[]): readonly Outcome[] {
  const stored = outcomes.filter(({ status }) => status === 1);
  if (stored.length === 0) throw new RestError(422, outcomes);
  return stored;
}

/** One after the other: a failure is the outcome of one address, not of all. */
async function fetchAll(call: Call, wanted: readonly Wanted[]): Promise<readonly Outcome[]> {
  if (wanted.length === 0) {
    await call.identify();
    throw invalid({
      files: ['Send a file as multipart/form-data, or `files` as a JSON array of {url, subdirectory}.'],
    });
  }
  const outcomes: Outcome[] = [];
  try {
    for (const { url, subdirectory } of wanted) {
      const fetched = call.execute('UploadFileFromUrl', { input: { url, subdirectory } });
      const { outcome } = await attempt(
        url,
        fetched.then(({ uploadFileFromUrl: file }) => file),
      );
      outcomes.push(outcome);
    }
  } catch (error) {
    await deleteStored(call, outcomes);
    throw error;
  }
  storedOf(outcomes);
  return outcomes;
}

/** The result of storing one file. Throws what is no fault of the file. */
async function attempt(
  name: string,
  storing: Promise<{ readonly url: string | null; readonly uid: string }>,
): Promise<{ outcome: Outcome; refusal?: RestError }> {
  try {
    const { url, uid } = await storing;
    return { outcome: { file: name, status: 1, message: 'File uploaded', url, file_uid: uid } };
  } catch (error) {
    if (!(error instanceof RestError) || error.status !== 422) throw error;
    return { outcome: { file: name, status: 0, message: reasonOf(error) }, refusal: error };
  }
}

/** The first message about a field is more precise than "the given data was invalid". */
function reasonOf({ body, message }: RestError): string {
  const errors = isObject(body) && 'errors' in body && isObject(body.errors) ? body.errors : {};
  const [first] = Object.values(errors).flat();
  return typeof first === 'string' ? first : message;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** A JSON text, which forms must send, or the array itself; also plain addresses. */
function filesIn(input: Input): Wanted[] {
  const given = input.raw('files');
  if (given === undefined || given === null || given === '') return [];
  const list = typeof given === 'string' ? parsed(given) : given;
  const items: readonly unknown[] = Array.isArray(list) ? list : [];
  const wanted = items.map(wantedOf);
  const whole = wanted.filter((one) => one !== undefined);
  if (!Array.isArray(list) || whole.length < wanted.length)
    input.refuse('files', 'The files must be a JSON array of objects with a url and, where wanted, a subdirectory.');
  if (wanted.length > FILES_MAX) input.refuse('files', `At most ${FILES_MAX} files can be fetched at once.`);
  return whole;
}

function parsed(text: string): unknown {
  if (excessOf(text) !== undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function wantedOf(item: unknown): Wanted | undefined {
  if (typeof item === 'string') return { url: item, subdirectory: undefined };
  if (!isObject(item) || !('url' in item) || typeof item.url !== 'string') return undefined;
  const subdirectory = 'subdirectory' in item ? item.subdirectory : undefined;
  if (subdirectory !== undefined && subdirectory !== null && typeof subdirectory !== 'string') return undefined;
  return { url: item.url, subdirectory: subdirectory ?? undefined };
}
