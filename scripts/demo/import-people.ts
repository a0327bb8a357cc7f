/** Uploads the file piece by piece, as a browser would, and follows the import. */
import { z } from 'zod';
import type { Client } from './client.ts';
import { DemoError } from './demo-error.ts';
import { count } from './format.ts';
import { progressBar } from './progress-bar.ts';

/** The product takes pieces of up to 1 MiB. */
const PIECE_BYTES = 512 * 1024;
/** Reasons shown in the report. */
const REJECTED_SHOWN_MAX = 20;

export interface ImportReport {
  readonly added: number;
  readonly updated: number;
  readonly rejected: number;
  readonly rejectedLines: readonly { readonly line: number; readonly reason: string }[];
  readonly tookMs: number;
}

const START = `mutation DemoImport($listUid: String!) {
  startListImport(input: { listUid: $listUid, fileName: "friends.csv" }) {
    __typename
    ... on MailListImport { uid }
    ... on Error { message }
  }
}`;
const started = z.object({ startListImport: z.object({ uid: z.string() }) });

const APPEND = `mutation DemoPiece($uid: String!, $no: Int!, $bytes: Base64!) {
  appendToListImport(input: { uid: $uid, no: $no, bytes: $bytes }) {
    __typename
    ... on ImportPieceReceived { uid }
    ... on Error { message }
  }
}`;
const appended = z.object({ appendToListImport: z.object({ uid: z.string() }) });

const FINISH = `mutation DemoUploaded($uid: String!) {
  finishListImport(input: { uid: $uid }) {
    __typename
    ... on MailListImport { status }
    ... on Error { message }
    ... on ValidationError { fields { field messages } }
  }
}`;
const finished = z.object({ finishListImport: z.object({ status: z.string() }) });

const WATCH = `subscription DemoImporting($uid: String!) {
  listImport(uid: $uid) { status isOver progress processed total }
}`;
const watched = z.object({
  listImport: z.object({
    status: z.string(),
    isOver: z.boolean(),
    progress: z.number(),
    processed: z.number(),
    total: z.number(),
  }),
});

const REPORT = `query DemoImported($uid: String!) {
  listImport(uid: $uid) {
    __typename
    ... on MailListImport {
      status added updated rejected error
      rejectedLines(perPage: ${REJECTED_SHOWN_MAX}) { line reason }
    }
    ... on Error { message }
  }
}`;
const report = z.object({
  listImport: z.object({
    status: z.string(),
    added: z.number(),
    updated: z.number(),
    rejected: z.number(),
    error: z.string().nullable(),
    rejectedLines: z.array(z.object({ line: z.number(), reason: z.string() })),
  }),
});

/** Imports the file into the list. Throws DemoError when it does not end as done. */
export async function importPeople(client: Client, listUid: string, csv: string): Promise<ImportReport> {
  const startedAt = performance.now();
  const { uid } = (await client.run(START, { listUid }, started)).startListImport;
  await upload(client, uid, Buffer.from(csv));
  await client.run(FINISH, { uid }, finished);
  await watchToEnd(client, uid);
  const { status, error, ...figures } = (await client.run(REPORT, { uid }, report)).listImport;
  if (status !== 'done') throw new DemoError(`The import ended as ${status}: ${error ?? 'no reason given'}`);
  return { ...figures, tookMs: performance.now() - startedAt };
}

async function upload(client: Client, uid: string, file: Buffer): Promise<void> {
  for (let no = 0; no * PIECE_BYTES < file.length; no++) {
    const bytes = file.subarray(no * PIECE_BYTES, (no + 1) * PIECE_BYTES).toString('base64');
    await client.run(APPEND, { uid, no, bytes }, appended);
  }
}

async function watchToEnd(client: Client, uid: string): Promise<void> {
  const bar = progressBar('Import');
  for await (const { listImport: now } of client.watch(WATCH, { uid }, watched)) {
    bar.show(
      now.isOver ? 1 : now.progress,
      now.total === 0 ? 'waiting' : `${count(now.processed)} of ${count(now.total)} lines`,
    );
    if (now.isOver) break;
  }
  bar.end();
}
