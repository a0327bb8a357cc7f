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
import { createGroupCommit } from '../../lib/group-commit.ts';
import type { Log } from '../../lib/log.ts';
import { SharedReads } from '../../lib/shared-reads.ts';
import { findCaller } from './api-token-store.ts';
import {
  deleteCall,
  findCall,
  keepAnswers,
  leaseCalls,
  renewLease,
  type CallKey,
  type Runner,
} from './idempotent-call-store.ts';

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

/** Calls that begin and end at the same time are written together. */
const TOGETHER_MAX = 50;
const REST_MS = 5;
/** Each is a waiting request: far more than can be open. */
const WAITING_MAX = 50_000;

/** Names calls by their callers. Calls that come at the same time are mostly of one token, which is looked up once for them. */
function createKeys({ database, secret }: Pick<Options, 'database' | 'secret'>) {
  const naming = deriveKey(secret, 'accounts.idempotency-key');
  const callers = new SharedReads<Awaited<ReturnType<typeof findCaller>>>();
  const callerOf = (text: string, isSession: boolean) =>
    callers.read(database, `${isSession} ${text}`, () => findCaller(database, { text, isSession }));
  /** Undefined: the caller is unknown. */
  return async ({ token, session, ipAddress, key, content }: KeyedCall): Promise<CallKey | undefined> => {
    const text = token ?? session;
    const caller = text === undefined ? undefined : await callerOf(text, token === null);
    if (text !== undefined && !caller) return undefined;
    const name = caller ? `token:${caller.tokenId}` : `address:${addressBlock(ipAddress)}`;
    return {
      customerId: caller?.customerId ?? NOBODY,
      id: mac(naming, `${name}\n${key}`, 32),
      // Keyed: the content may be an address and a password.
      fingerprint: mac(naming, sha256(content), 32),
    };
  };
}

/** Writes for many calls at once, in one statement of each kind. */
function createWrites(database: Database) {
  const options = { batchMax: TOGETHER_MAX, waitMs: 0, restMs: REST_MS, waitingMax: WAITING_MAX };
  const leases = createGroupCommit<Runner & { isLeased: boolean }>({
    ...options,
    async write(asked) {
      const leased = await leaseCalls(database, asked);
      for (const one of asked) one.isLeased = leased.has(one.runner);
    },
  });
  const answers = createGroupCommit<Runner & { readonly sealed: Buffer }>({
    ...options,
    write: (given) => keepAnswers(database, given),
  });
  return {
    /** True: the call is the runner's to run. */
    async lease(key: CallKey, runner: string): Promise<boolean> {
      const asked = { key, runner, isLeased: false };
      await leases.add(asked);
      return asked.isLeased;
    },
    keep: (answer: Runner & { readonly sealed: Buffer }) => answers.add(answer),
  };
}

/** Keeps calls in this database; `parse` reads a stored answer. */
export function createKeptCalls<Answer>(
  { database, secret, log, waitMsMax = WAIT_MS_MAX }: Options,
  parse: (json: string) => Answer,
): KeptCalls<Answer> {
  const sealing = deriveKey(secret, 'accounts.idempotent-call');
  const keyOf = createKeys({ database, secret });
  const writes = createWrites(database);
  /** Calls that run in this process, so that repeats of them need not ask the database. */
  const local = new Map<string, Promise<void>>();

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
        return ended(isShort ? writes.keep({ key, runner, sealed: seal(sealing, json, name) }) : Promise.resolve());
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
        if (await writes.lease(key, runner)) return firstOf(key, runner);
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
