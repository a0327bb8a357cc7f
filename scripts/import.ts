/**
 * `npm run import -- people.csv`: imports a CSV file into a list of the running product and shows the progress. A client like any
 * other, over HTTP. Ctrl-C asks, then cancels: what was read stays on the list.
 */
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { connect, type Client } from './demo/client.ts';
import { DemoError } from './demo/demo-error.ts';
import { count, counted, duration } from './demo/format.ts';
import { promptForToken } from './demo/log-in.ts';
import { progressBar } from './demo/progress-bar.ts';
import { findList, makeList } from './import/choose-list.ts';
import {
  APPEND,
  appended,
  CANCEL,
  cancelled,
  FINISH,
  finished,
  REPORT,
  report,
  START,
  started,
  WATCH,
  watched,
} from './import/operations.ts';
import { readOptions, USAGE, type ImportOptions } from './import/options.ts';

/** The product takes pieces of up to 1 MiB. */
const PIECE_BYTES = 1024 * 1024;

try {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options) await importFile(options);
  else console.log(USAGE);
} catch (error) {
  const isConnection = error instanceof TypeError && error.message === 'fetch failed';
  if (isConnection) console.error('\nNo Mailwright answers at this address. Is it running? Start it with: npm start');
  else
    console.error(
      `\n${error instanceof DemoError ? error.message : error instanceof Error ? error.stack : String(error)}`,
    );
  process.exitCode = 1;
}

async function importFile(options: ImportOptions): Promise<void> {
  const { size } = await stat(options.file).catch(() => {
    throw new DemoError(`There is no file ${options.file}.`);
  });
  const client = connect(options.url, options.token ?? (await promptForToken(options.url)));
  const list =
    options.newList === undefined
      ? await findList(client, options.list)
      : await makeList(client, options.newList, options.file);
  console.log(`Importing ${path.basename(options.file)} into “${list.name}”:\n`);
  const startedAt = performance.now();
  const { uid } = (
    await client.run(START, { input: { listUid: list.uid, fileName: path.basename(options.file) } }, started)
  ).startListImport;
  const stop = cancelOnSignal(client, uid);
  try {
    await upload(client, uid, options.file, size);
    const { notices } = (await client.run(FINISH, { input: { uid, ...options.reading } }, finished)).finishListImport;
    await watchToEnd(client, uid);
    for (const notice of notices) console.log(`  ${notice}`);
    await printReport(client, uid, performance.now() - startedAt);
  } catch (error) {
    if (!stop.isAsked()) throw error;
    await printReport(client, uid, performance.now() - startedAt);
  } finally {
    stop.end();
  }
}

async function upload(client: Client, uid: string, file: string, size: number): Promise<void> {
  const bar = progressBar('Upload');
  const handle = await open(file);
  try {
    const buffer = Buffer.alloc(PIECE_BYTES);
    let sent = 0;
    for (let no = 0; ; no++) {
      const { bytesRead } = await handle.read(buffer, 0, PIECE_BYTES);
      if (bytesRead === 0) break;
      await client.run(APPEND, { input: { uid, no, bytes: buffer.toString('base64', 0, bytesRead) } }, appended);
      sent += bytesRead;
      bar.show(sent / size, `${(sent / 1e6).toFixed(1)} of ${(size / 1e6).toFixed(1)} MB`);
    }
  } finally {
    await handle.close();
    bar.end();
  }
}

async function watchToEnd(client: Client, uid: string): Promise<void> {
  const bar = progressBar('Import');
  for await (const { listImport: now } of client.watch(WATCH, { uid }, watched)) {
    bar.show(now.isOver ? 1 : now.progress, `${count(now.processed)} of ${count(now.total)} people`);
    if (now.isOver) break;
  }
  bar.end();
}

async function printReport(client: Client, uid: string, tookMs: number): Promise<void> {
  const found = (await client.run(REPORT, { uid }, report)).listImport;
  const { status, added, updated, unchanged, rejected, rejectedLines, error, list } = found;
  console.log(
    `\n  ${status} after ${duration(tookMs)}: ${count(added)} new, ${count(updated)} changed, ${count(unchanged)} unchanged, ${counted(rejected, 'line')} rejected`,
  );
  if (error) console.log(`  ${error}`);
  for (const { line, reason } of rejectedLines) console.log(`    line ${line}: ${reason}`);
  if (rejected > 0)
    console.log(
      `  All rejected lines, with your token: ${client.url}/api/v1/lists/${list.uid}/imports/${uid}/rejected`,
    );
  if (status !== 'done') process.exitCode = 1;
}

/** The first Ctrl-C asks, or cancels at once without a terminal; a second one exits silently. */
function cancelOnSignal(client: Client, uid: string): { isAsked(): boolean; end(): void } {
  let isAsked = false;
  const stop = async (): Promise<void> => {
    process.once('SIGINT', () => process.exit(130));
    if (process.stdin.isTTY && !(await isSure())) return;
    isAsked = true;
    await client.run(CANCEL, { uid }, cancelled).catch(() => undefined);
  };
  const listener = () => void stop();
  process.once('SIGINT', listener);
  return { isAsked: () => isAsked, end: () => process.removeListener('SIGINT', listener) };
}

async function isSure(): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('\n  Cancel the import? People who were added stay on the list. [y/N] ');
  terminal.close();
  return /^y/i.test(answer.trim());
}
