/** Importing people from a file (decision D47): upload, progress, cancelling, and rejected lines. */
import { csvLine } from '../../lib/csv.ts';
import { created, done, ok, stream } from '../answer.ts';
import { customEndpoint, endpoint } from '../endpoint.ts';
import { RestError, invalid } from '../errors.ts';
import type { Input } from '../input.ts';
import type { DataOf } from '../operations.ts';
import type { Call } from '../row.ts';
import { presentImport } from './present.ts';
import { sendInPieces } from '../shared/send-in-pieces.ts';
import { answersBody, answersCreated, answersStream } from '../shapes.ts';
import { importBegunShape, importCancelledShape, oneImportShape } from './shapes.ts';

type Rejected = DataOf<'RejectedImportLines'>['listImport'];

export const importRows = [
  customEndpoint({
    method: 'POST',
    path: '/lists/:list_uid/import',
    access: 'token',
    summary: 'Imports people into a list from a CSV file.',
    answers: answersCreated(importBegunShape),
    required: ['file'],
    takesFile: true,
    operations: [
      ...(['StartListImport', 'AppendToListImport', 'FinishListImport', 'CancelListImport'] as const),
      ...(['List', 'UsableVerificationServers'] as const),
    ],
    async run(call) {
      // Read first, so that the reference knows them; the fields after the file are read again below.
      const { verify, verificationServer, undeliverable } = options(call.input);
      if (undeliverable === 'suppress' && !verify)
        call.input.refuse(
          'undeliverable',
          'The undeliverable needs `verify`: without a verification nobody is found undeliverable.',
        );
      call.input.check();
      // Refused before a file is taken.
      if (verify && verificationServer) await refuseOtherVerifier(call, verificationServer);
      const { upload } = call;
      if (!upload) throw invalid({ file: ['The file field is required: send it as multipart/form-data.'] });
      const input = { listUid: call.input.param('list_uid'), fileName: upload.file.name.slice(-FILE_NAME_MAX) };
      const { uid } = (await call.execute('StartListImport', { input })).startListImport;
      try {
        const finished = await uploadTo(call, uid);
        return created('The import has begun.', {
          import_uid: uid,
          import: presentImport(finished, call.view().apiUrl),
        });
      } catch (error) {
        // An incomplete upload is cancelled; the answer is the first fault, whether or not this succeeds.
        await call.execute('CancelListImport', { uid }).catch(() => undefined);
        throw error;
      }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/lists/:list_uid/imports/:import_uid',
    access: 'token',
    summary: 'Shows how far an import is.',
    answers: answersBody(oneImportShape),
    operation: 'ListImport',
    variables: (input) => ({ uid: input.param('import_uid') }),
    present({ listImport }, { apiUrl }, input) {
      refuseOtherList(listImport.list.uid, input);
      return ok({ import: presentImport(listImport, apiUrl) });
    },
  }),
  customEndpoint({
    method: 'DELETE',
    path: '/lists/:list_uid/imports/:import_uid',
    access: 'token',
    summary: 'Cancels an import; people who were added stay.',
    answers: answersBody(importCancelledShape),
    operations: ['ListImport', 'CancelListImport'],
    async run(call) {
      const uid = call.input.param('import_uid');
      refuseOtherList((await call.execute('ListImport', { uid })).listImport.list.uid, call.input);
      await call.execute('CancelListImport', { uid });
      return done('The import was cancelled.', { import_uid: uid });
    },
  }),
  customEndpoint({
    method: 'GET',
    path: '/lists/:list_uid/imports/:import_uid/rejected',
    access: 'token',
    summary: 'Downloads the rejected lines of an import, with the reasons.',
    answers: answersStream('text/csv'),
    operations: ['RejectedImportLines'],
    async run(call) {
      const uid = call.input.param('import_uid');
      const first = (await call.execute('RejectedImportLines', { uid, afterLine: 0 })).listImport;
      refuseOtherList(first.list.uid, call.input);
      return stream({
        contentType: 'text/csv; charset=utf-8',
        fileName: `rejected-${uid}.csv`,
        pieces: rejectedCsv(call, first),
      });
    },
  }),
];

/** The limit of file systems; of a longer name the end is kept. */
const FILE_NAME_MAX = 255;

async function refuseOtherVerifier(call: Call, uid: string): Promise<void> {
  const { nodes } = (await call.execute('UsableVerificationServers', {})).usableVerificationServers;
  if (nodes.some((server) => server.uid === uid)) return;
  // A list that is not the caller's is the first fault.
  await call.execute('List', { uid: call.input.param('list_uid') });
  throw invalid({
    verification_server: [
      'You cannot use this verification server: it does not exist, is inactive, or your plan does not give it.',
    ],
  });
}

function options(input: Input) {
  return {
    mapping: mappingOf(input),
    updateExisting: input.flag('update_existing') ?? true,
    tag: input.text('tag') ?? '',
    runAutomations: input.flag('run_automations') ?? false,
    verify: input.flag('verify') ?? false,
    verificationServer: input.nullableText('verification_server'),
    undeliverable: input.choice('undeliverable', ['keep', 'suppress']),
  };
}

/** An object, or its JSON text: multipart has only texts. */
function mappingOf(input: Input): Record<string, unknown> {
  const given = input.raw('mapping');
  if (typeof given !== 'string') return { ...input.plainObject('mapping') };
  if (given.trim() === '') return {};
  try {
    const parsed: unknown = JSON.parse(given);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  } catch {
    // Reported below.
  }
  input.refuse('mapping', 'The mapping must be a JSON object of header to field tag.');
  return {};
}

async function uploadTo(call: Call, uid: string) {
  const { upload } = call;
  if (!upload) throw new Error('There is no upload.');
  await sendInPieces(upload.file.content, (bytes, no) =>
    call.execute('AppendToListImport', { input: { uid, no, bytes } }),
  );
  const input = await upload.completeInput();
  const given = options(input);
  input.check();
  return (await call.execute('FinishListImport', { input: { uid, ...given } })).finishListImport;
}

/** The path names the list too: another list's import is not found. */
function refuseOtherList(listUid: string, input: Input): void {
  if (listUid !== input.param('list_uid'))
    throw new RestError(404, { message: 'The list has no import with this uid.' });
}

async function* rejectedCsv(call: Call, first: Rejected): AsyncGenerator<string> {
  yield csvLine(['line', 'reason', ...first.columns.map(({ header }, index) => header || `column ${index + 1}`)]);
  let page = first;
  while (page.rejectedLines.length > 0) {
    yield page.rejectedLines.map(({ line, reason, cells }) => csvLine([line, reason, ...cells])).join('');
    const afterLine = page.rejectedLines.at(-1)?.line ?? 0;
    page = (await call.execute('RejectedImportLines', { uid: page.uid, afterLine })).listImport;
  }
}
