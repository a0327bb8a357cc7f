/** The thread that signs: bursts, mixed senders, large messages, keys that cannot sign, and what is lost with a thread. */
import { generateKeyPairSync, hash, verify, type KeyObject } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, test, vi } from 'vitest';
import type { DkimIdentity } from '../../../src/domain/sending/signing/dkim-identity.ts';
import { signMessage } from '../../../src/domain/sending/signing/sign-message.ts';
import { signInThread, type SigningBatch } from '../../../src/domain/sending/signing/signing-thread.ts';

const ed25519 = generateKeyPairSync('ed25519');
const identityOf = (domain: string, privateKey: KeyObject = ed25519.privateKey): DkimIdentity => ({
  domain,
  keys: [{ selector: 's', algorithm: 'ed25519-sha256', privateKey }],
});
const mail = (body: string): Buffer => Buffer.from(`From: a@example.org\r\n\r\n${body}\r\n`);

/** Holds the fields against the one header and the body that they are to sign. */
function expectSigned(fields: string, domain: string, body: string): void {
  const unfolded = fields.replaceAll('\r\n ', ' ').trimEnd();
  expect(unfolded).toContain(`d=${domain};`);
  expect(unfolded).toContain(`bh=${hash('sha256', `${body}\r\n`, 'base64')};`);
  const [, value = '', signature = ''] = /^DKIM-Signature: (.* b=)(.*)$/.exec(unfolded) ?? [];
  const signed = hash('sha256', `from:a@example.org\r\ndkim-signature:${value}`, 'buffer');
  const bytes = Buffer.from(signature.replaceAll(' ', ''), 'base64');
  expect(verify(null, signed, ed25519.publicKey, bytes)).toBe(true);
}

const made: Worker[] = [];
const post = Worker.prototype.postMessage;

/** Lets something happen to the thread whenever it is handed a batch. */
function whenHandedOver(happens: (worker: Worker, batches: number) => void): void {
  let batches = 0;
  vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, message: unknown) {
    if (!made.includes(this)) made.push(this);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
    post.call(this, message);
    happens(this, ++batches);
  });
}

afterEach(() => {
  vi.restoreAllMocks();
  made.length = 0;
});

test('a burst of two senders, with a message larger than what batches share: each gets its own', async () => {
  const bodies = Array.from({ length: 300 }, (_, n) => (n === 150 ? 'x'.repeat(2_000_000) : `Hello ${n}`));
  const senders = [identityOf('one.example'), identityOf('two.example')];
  const signed = await Promise.all(bodies.map((body, n) => signInThread(mail(body), senders[n % 2] ?? identityOf(''))));
  for (const [n, fields] of signed.entries())
    expectSigned(fields, n % 2 === 0 ? 'one.example' : 'two.example', bodies[n] ?? '');
});

test('what is lost with a thread is signed by the next one', async () => {
  whenHandedOver((worker, batches) => {
    if (batches === 1) void worker.terminate();
  });
  const bodies = Array.from({ length: 200 }, (_, n) => `Hello ${n}`);
  const signed = await Promise.all(bodies.map((body) => signInThread(mail(body), identityOf('one.example'))));
  for (const [n, fields] of signed.entries()) expectSigned(fields, 'one.example', bodies[n] ?? '');
  expect(made).toHaveLength(2);
});

test('a message that takes two threads with it fails, and none of those that were lost with it', async () => {
  let batches = 0;
  vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, message: SigningBatch) {
    batches++;
    // It ends as soon as it sees that one.
    if (Buffer.from(message.memory, 0, message.ends.at(-1)).includes('bad')) void this.terminate();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
    else post.call(this, message);
  });
  const bodies = ['first', 'bad', 'second', 'third'];
  const signed = await Promise.allSettled(bodies.map((body) => signInThread(mail(body), identityOf('one.example'))));
  expect(signed.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(signed[1]).toMatchObject({ reason: { message: expect.stringContaining('ended') } });
  expect(batches).toBe(1 + bodies.length);
});

test('a key that cannot sign fails its own messages only', async () => {
  const wrong = identityOf('wrong.example', generateKeyPairSync('x25519').privateKey);
  const [failed, signed] = await Promise.allSettled([
    signInThread(mail('one'), wrong),
    signInThread(mail('two'), identityOf('one.example')),
  ]);
  expect(failed.status).toBe('rejected');
  expectSigned(signed.status === 'fulfilled' ? signed.value : '', 'one.example', 'two');
});

test('a message that RSA alone signs goes through no thread, one that Ed25519 signs, too, does', async () => {
  whenHandedOver(() => undefined);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const rsa = { selector: 'r', algorithm: 'rsa-sha256', privateKey } as const;
  const { domain, keys } = identityOf('one.example');
  const signed = await signMessage(mail('Hello'), { domain, keys: [rsa] });
  expect(made).toHaveLength(0);
  const unfolded = signed.toString('latin1').replaceAll('\r\n ', ' ');
  const [, value = '', signature = ''] = /^DKIM-Signature: (.* b=)(.*)\r\n/.exec(unfolded) ?? [];
  const text = Buffer.from(`from:a@example.org\r\ndkim-signature:${value}`);
  expect(verify('sha256', text, publicKey, Buffer.from(signature.replaceAll(' ', ''), 'base64'))).toBe(true);
  const both = await signMessage(mail('Hello'), { domain, keys: [rsa, ...keys] });
  expect(made).toHaveLength(1);
  expect(both.toString('latin1').match(/^DKIM-Signature:/gm)).toHaveLength(2);
});
