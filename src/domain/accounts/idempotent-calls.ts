/**
 * Calls with an Idempotency-Key: of all calls with the same key and caller, one runs, and its answer is kept for a day,
 * encrypted, as it may contain a token. The call that runs holds a lease and renews it. When its process dies the lease ends, and
 * the call is never silently repeated.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import { addressBlock } from '../../lib/address-block.ts';
import { deriveKey, mac, sameBytes, seal, sha256, unseal } from '../../lib/crypto.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { findCaller } from './api-token-store.ts';
import { deleteCall, findCall, keepAnswer, leaseCall, renewLease, type CallKey } from './idempotent-call-store.ts';

export interface KeyedCall {
  readonly token: string | null;
  /** Used only without a token. */
  readonly session?: string | undefined;
  readonly ipAddress: string;
  readonly key: string;
  readonly content: string;
}

/** `Answer` is any type that can be written as JSON. */
export type BegunCall<Answer> =
  | { readonly kind: 'unknown-caller' }
  | { readonly kind: 'first'; keep(answer: Answer): Promise<void>; discard(): Promise<void> }
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'other-content' }
  | { readonly kind: 'running' }
  | { readonly kind: 'broken-off' };

export interface KeptCalls<Answer> {
  begin(call: KeyedCall): Promise<BegunCall<Answer>>;
}

/** Three in the time of a lease. */
const LEASE_RENEWED_EVERY_MS = 10_000;
/** Most answers exist within a second; a call that waited this long is told to retry. */
const WAIT_MS_MAX = 20_000;
const POLL_MS = { first: 25, most: 500, factor: 1.6 } as const;
/** An answer to a write is short; a longer one is recorded as given, not stored. */
const ANSWER_BYTES_MAX = 1024 * 1024;
/** The id for callers without a customer. */
const NOBODY = 0n;

interface Options {
  readonly database: Database;
  readonly secret: string;
  readonly log: Log;
  /** How long a repeated call waits for the first one's answer. */
  readonly waitMsMax?: number;
}

/** Keeps calls in this database; `parse` reads a stored answer. */
export function createKeptCalls<Answer>(
  { database, secret, log, waitMsMax = WAIT_MS_MAX }: Options,
  parse: (json: string) => Answer,
): KeptCalls<Answer> {
  const sealing = deriveKey(secret, 'accounts.idempotent-call');
  const naming = deriveKey(secret, 'accounts.idempotency-key');
  /** Calls that run in this process, so that repeats of them need not ask the database. */
  const local = new Map<string, Promise<void>>();

  async function keyOf({ token, session, ipAddress, key, content }: KeyedCall): Promise<CallKey | undefined> {
    const text = token ?? session;
    const caller = text === undefined ? undefined : await findCaller(database, { text, isSession: token === null });
    if (text !== undefined && !caller) return undefined;
    const name = caller ? `token:${caller.tokenId}` : `address:${addressBlock(ipAddress)}`;
    return {
      customerId: caller?.customerId ?? NOBODY,
      id: mac(naming, `${name}\n${key}`, 32),
      // Keyed: the content may be an address and a password.
      fingerprint: mac(naming, sha256(content), 32),
    };
  }

  function firstOf(key: CallKey, runner: string): Extract<BegunCall<Answer>, { kind: 'first' }> {
    const name = key.id.toString('base64');
    let end: () => void = () => undefined;
    local.set(name, new Promise((resolve) => (end = resolve)));
    const renewal = setInterval(() => {
      renewLease(database, key, runner).catch((error: unknown) =>
        log.warn('idempotency.lease_not_renewed', { message: messageOf(error) }),
      );
    }, LEASE_RENEWED_EVERY_MS).unref();
    const ended = async (act: Promise<unknown>) => {
      clearInterval(renewal);
      // If the answer cannot be stored, the caller gets it all the same.
      await act.catch((error: unknown) => log.warn('idempotency.not_kept', { message: messageOf(error) }));
      local.delete(name);
      end();
    };
    return {
      kind: 'first',
      keep: (answer) => {
        const json = JSON.stringify(answer);
        const isShort = Buffer.byteLength(json) <= ANSWER_BYTES_MAX;
        return ended(isShort ? keepAnswer(database, { key, runner }, seal(sealing, json, name)) : Promise.resolve());
      },
      discard: () => ended(deleteCall(database, key, runner)),
    };
  }

  return {
    async begin(call) {
      const key = await keyOf(call);
      if (!key) return { kind: 'unknown-caller' };
      const runner = randomUUID();
      const name = key.id.toString('base64');
      const startedAt = performance.now();
      for (let pause: number = POLL_MS.first; ; pause = Math.min(pause * POLL_MS.factor, POLL_MS.most)) {
        if (await leaseCall(database, key, runner)) return firstOf(key, runner);
        const row = await findCall(database, key);
        if (!row) continue;
        if (!sameBytes(row.fingerprint, key.fingerprint)) return { kind: 'other-content' };
        if (row.answer) return { kind: 'answered', answer: parse(unseal(sealing, row.answer, name)) };
        if (!row.isRunning) return { kind: 'broken-off' };
        if (performance.now() - startedAt > waitMsMax) return { kind: 'running' };
        const here = local.get(name);
        await (here ? Promise.race([here, sleep(waitMsMax, undefined, { ref: false })]) : sleep(pause));
      }
    },
  };
}
