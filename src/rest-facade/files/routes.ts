/** Files (specification 4.10, wire facts 11 and 12): a multipart form, or addresses to download; and the list of files. */
import { excessOf } from '../../lib/bounded-body.ts';
import { created, done, ok, page, type Answer } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { customEndpoint, endpoint } from '../endpoint.ts';
import { RestError, invalid } from '../errors.ts';
import type { Input } from '../input.ts';
import type { Call } from '../row.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { presentFile } from './present.ts';
import { UPLOAD_OPERATIONS, uploadIncoming } from './upload-incoming.ts';
import { deletedFileShape, fetchedFileShape, fileShape, uploadShape } from './shapes.ts';

/** Each may take ten seconds. */
const FILES_MAX = 20;

interface Wanted {
  readonly url: string;
  readonly subdirectory: string | undefined;
}

export const fileRows = [
  customEndpoint({
    method: 'POST',
    path: '/file/upload',
    access: 'token',
    summary: 'Uploads a file of a multipart form, or fetches the addresses in `files`.',
    answers: answersCreated(uploadShape),
    takesFile: true,
    operations: [...UPLOAD_OPERATIONS, 'UploadFileFromUrl'],
    run: (call) => {
      const wanted = filesIn(call.input);
      const subdirectory = call.input.text('subdirectory');
      call.input.check();
      if (call.upload) return upload(call, subdirectory);
      return fetchAll(call, wanted).then((body): Answer => ({ kind: 'created', body }));
    },
  }),
  customEndpoint({
    // The specification shows the method both ways.
    method: 'GET',
    path: '/file/upload',
    writes: true,
    access: 'token',
    summary: 'Fetches the addresses in `files`.',
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

async function upload(call: Call, subdirectory: string | undefined) {
  const file = await uploadIncoming(call, subdirectory);
  return created('File uploaded', { url: file.url, file_uid: file.uid });
}

/** One after the other: a failure is the outcome of one address, not of all. */
async function fetchAll(call: Call, wanted: readonly Wanted[]): Promise<readonly unknown[]> {
  if (wanted.length === 0) {
    await call.identify();
    throw invalid({
      files: ['Send a file as multipart/form-data, or `files` as a JSON array of {url, subdirectory}.'],
    });
  }
  const outcomes: unknown[] = [];
  for (const input of wanted) outcomes.push(await fetchOne(call, input));
  return outcomes;
}

async function fetchOne(call: Call, { url, subdirectory }: Wanted) {
  try {
    const { uploadFileFromUrl: file } = await call.execute('UploadFileFromUrl', { input: { url, subdirectory } });
    return { file: url, status: 1, message: 'File uploaded', url: file.url, file_uid: file.uid };
  } catch (error) {
    if (!(error instanceof RestError) || error.status !== 422) throw error;
    return { file: url, status: 0, message: reasonOf(error) };
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
