/** The thread that makes signatures. It has no environment and stores no keys: they come with the messages. */
import { flushCompileCache } from 'node:module';
import { parentPort } from 'node:worker_threads';
import { signatureFields } from './signature-fields.ts';
import type { SigningAnswer, SigningBatch } from './signing-thread.ts';

parentPort?.on('message', (batch: SigningBatch) => void answer(batch));
// Its own part of the cache, for the next start of such a thread.
flushCompileCache();

async function answer({ number, memory, ends, identities, signers }: SigningBatch): Promise<void> {
  const now = new Date();
  const fieldsOf = async (end: number, index: number): Promise<string | Error> => {
    const start = ends[index - 1] ?? 0;
    const identity = identities[signers[index] ?? -1];
    if (!identity) return new Error('Nobody signs this message');
    return signatureFields(Buffer.from(memory, start, end - start), identity, now).catch(asError);
  };
  const fields = await Promise.all(ends.map(fieldsOf));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
  parentPort?.postMessage({ number, fields } satisfies SigningAnswer);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
