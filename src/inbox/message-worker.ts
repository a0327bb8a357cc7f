/** The thread that parses received mails. It has no environment, no secret and no database, and can be ended at any moment. */
import { parentPort, workerData } from 'node:worker_threads';
import { PROGRESS_JOB } from '../lib/watched-thread.ts';
import { parseMessage, type ParsedMessage } from './parse-message.ts';

export interface ParseRequest {
  readonly id: number;
  readonly raw: Uint8Array;
}

export interface ParseAnswer {
  readonly id: number;
  readonly message: ParsedMessage;
}

const progress = new Int32Array(workerData.progress);

parentPort?.on('message', async ({ id, raw }: ParseRequest) => {
  Atomics.store(progress, PROGRESS_JOB, id);
  const answer: ParseAnswer = {
    id,
    message: await parseMessage(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)),
  };
  Atomics.store(progress, PROGRESS_JOB, 0);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
  parentPort?.postMessage(answer);
});
