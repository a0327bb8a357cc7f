/** What httpVerifier does around the calls of a vendor: they end with their run, and leave nothing behind. */
import { getEventListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { httpVerifier, type VendorRequest, type VerifierOptions } from '../../src/plugin-api/index.ts';

/** Runs of a million people have more. */
const CALLS = 20_000;
/** AbortSignal.any left about 370 bytes a call. */
const BYTES_PER_CALL_MAX = 100;

const signals: (AbortSignal | undefined)[] = [];

/** A vendor that answers each address by one request; `answer` is what its connections do. */
function verifierOf(answer: (request: VendorRequest) => Promise<void>) {
  const options: VerifierOptions = {
    replyTimeoutMs: 1_000,
    dnsServers: [],
    openHttp: () => ({
      async request(request) {
        await answer(request);
        return { status: 200, headers: {}, body: Buffer.from('{}'), isComplete: true };
      },
      useConnections: () => undefined,
      close: () => undefined,
    }),
  };
  return httpVerifier(options, {
    ...{ origin: 'https://vendor.example', name: 'The vendor', connections: 1 },
    async verify(addresses, ask) {
      await Promise.all(addresses.map((address) => ask({ method: 'GET', path: `/${address}` })));
      return addresses.map(() => ({ result: 'deliverable', reasons: [] }));
    },
    test: () => Promise.resolve({ ok: true }),
  });
}

/** Answers when the request is ended, as a connection does. */
const untilEnded = ({ signal }: VendorRequest) =>
  new Promise<void>((_, reject) => {
    signals.push(signal);
    signal?.addEventListener('abort', () => reject(new Error('ended')));
  });

test('calls of a verifier that lives long leave nothing behind', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const verifier = verifierOf(async ({ signal }) => {
    // As a connection: it listens until it has the answer.
    const end = () => undefined;
    signal?.addEventListener('abort', end);
    await setImmediate();
    signal?.removeEventListener('abort', end);
  });
  const ending = new AbortController();
  const callOnce = () => verifier.verify(['a'], { signal: ending.signal });
  await callOnce();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let no = 0; no < CALLS; no++) await callOnce();
  collectGarbage();
  expect((process.memoryUsage().heapUsed - before) / CALLS).toBeLessThan(BYTES_PER_CALL_MAX);
  expect(getEventListeners(ending.signal, 'abort')).toEqual([]);
});

test('a call ends when nobody waits for it, when the verifier is closed, and with what it left under way', async () => {
  const ending = new AbortController();
  const waiting = verifierOf(untilEnded);
  const first = waiting.verify(['a', 'b'], { signal: ending.signal });
  ending.abort();
  await expect(first).rejects.toThrow('ended');
  await expect(waiting.verify(['a'], { signal: ending.signal })).rejects.toThrow('Nobody waits for The vendor');

  const closing = verifierOf(untilEnded);
  const second = closing.verify(['a'], { signal: new AbortController().signal });
  await closing.close();
  await expect(second).rejects.toThrow('ended');
  await expect(closing.verify(['a'], { signal: new AbortController().signal })).rejects.toThrow('Nobody waits');

  signals.length = 0;
  const failing = verifierOf((request) =>
    request.path === '/bad' ? Promise.reject(new Error('bad')) : untilEnded(request),
  );
  await expect(failing.verify(['a', 'bad'], { signal: new AbortController().signal })).rejects.toThrow('bad');
  expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
});
