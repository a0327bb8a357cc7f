/**
 * Runs a verification: reads people by key, asks the verifier, and stores results and position together, so that after a kill at any moment the
 * next run continues there. Asked again are at most those who were with the verifier at that moment.
 */
import { giveBackToWindows, takeFromWindows } from '../../db/rate-windows.ts';
import { ExpectedError, ValidationError } from '../../lib/errors.ts';
import { countPeopleToVerify, nextPeopleToVerify, type PeopleToVerify } from '../audience/verification-read-model.ts';
import { writeVerifications } from '../audience/verification-result-store.ts';
import { inTransaction, type Context } from '../context.ts';
import { askVerifier, peopleAtOnce, type Answers } from './ask-verifier.ts';
import { enqueueVerification } from './enqueue-verification.ts';
import { requireVerifier } from './require-verifier.ts';
import { CannotVerify } from './verification-errors.ts';
import type { VerificationServer } from './verification-server.ts';
import {
  advanceVerification,
  endVerification,
  isBehindAnother,
  markVerificationRunning,
  openVerification,
  pauseVerification,
  writeTotal,
} from './verification-store.ts';
import type { ResultCounts, Verification, VerificationKey } from './verification.ts';
import { createVerifierOfRun, type VerifierOfRun } from './verifier-of-run.ts';

/** Verifications of one list follow each other: the later one then finds results. */
const WAIT_FOR_OTHER_SECONDS = 30;
const MINUTE_SECONDS = 60;
/** After a failure it is tried again: after one minute, then two, four, up to an hour. */
const RETRY_SECONDS_MIN = 60;
const RETRY_SECONDS_MAX = 3_600;
/** Of a service that names a time itself. */
const RETRY_AFTER_SECONDS_MAX = 86_400;
/** Then somebody has to look: about five hours have passed. */
const FAILURES_MAX = 10;

export interface RunOptions {
  readonly abortSignal: AbortSignal;
  /** The queue does not try again: a fault of ours pauses the verification instead. */
  readonly isLastTry: boolean;
}

/** Runs it until its end, until it pauses, or until `abortSignal` fires: a new job continues. */
export async function runVerification(ctx: Context, key: VerificationKey, options: RunOptions): Promise<void> {
  if (await isBehindAnother(ctx.db, key)) return waitForOther(ctx, key);
  const run = await inTransaction(ctx, ({ db }) => markVerificationRunning(db, key));
  if (!run) return;
  const verifiers = createVerifierOfRun(ctx);
  try {
    await verifyPeople(ctx, run, { verifiers, abortSignal: options.abortSignal });
  } catch (error) {
    const reason = pauseReason(error, options);
    if (!reason) throw error;
    await pause(ctx, run, reason);
  } finally {
    await verifiers.close();
  }
}

async function waitForOther(ctx: Context, key: VerificationKey): Promise<void> {
  await inTransaction(ctx, async ({ db }) => {
    const run = await openVerification(db, key);
    if (run) await enqueueVerification(db, run, WAIT_FOR_OTHER_SECONDS);
  });
}

async function verifyPeople(
  ctx: Context,
  run: Verification,
  { verifiers, abortSignal }: { readonly verifiers: VerifierOfRun; readonly abortSignal: AbortSignal },
): Promise<void> {
  const who: PeopleToVerify = { ...run, since: run.startedAt ?? ctx.clock.now() };
  if (run.total === null) await writeTotal(ctx.db, run, await countPeopleToVerify(ctx.db, who, run.afterId));
  let { afterId } = run;
  for (;;) {
    if (abortSignal.aborted) return enqueueVerification(ctx.db, run);
    const step = await verifySome(ctx, { ...run, afterId }, { who, verifiers });
    if (step === 'over') return;
    if (step === 'done') {
      await inTransaction(ctx, ({ db }) => endVerification(db, run, 'done'));
      ctx.log.info('verification.done', { verification: run.uid });
      return;
    }
    if ('waitSeconds' in step) return enqueueVerification(ctx.db, run, step.waitSeconds);
    afterId = step.doneTo;
  }
}

type Step = 'done' | 'over' | { readonly waitSeconds: number } | { readonly doneTo: bigint };

interface StepMeans {
  readonly who: PeopleToVerify;
  readonly verifiers: VerifierOfRun;
}

/** The plan and the server may have changed since the step before: both are looked up each time. */
async function verifySome(ctx: Context, run: Verification, { who, verifiers }: StepMeans): Promise<Step> {
  const { customerId, afterId, serverUid } = run;
  const server = await requireVerifier(ctx.db, { customerId, uid: serverUid === '' ? null : serverUid });
  const { registration, verifier } = await verifiers.of(server);
  const perMinute = Math.min(server.perMinuteMax ?? Infinity, registration.perMinuteMax ?? Infinity);
  const limit = Math.min(peopleAtOnce(registration), perMinute);
  const people = await nextPeopleToVerify(ctx.db, who, { afterId, limit });
  if (people.length === 0) return 'done';
  const waitSeconds = await secondsToWait(ctx, server, [
    { name: 'verifications', max: perMinute, n: people.length },
    {
      name: 'verification-calls',
      max: registration.callsPerMinuteMax ?? Infinity,
      n: Math.ceil(people.length / registration.addressesMax),
    },
  ]);
  if (waitSeconds !== undefined) return { waitSeconds };
  const answers = await askVerifier(verifier, registration, people);
  const status = await store(ctx, run, { answers, verifiedBy: server.type });
  if (answers.failure && status === 'running') throw answers.failure;
  return status === 'running' ? { doneTo: answers.doneTo ?? afterId } : 'over';
}

interface MinuteLimit {
  readonly name: string;
  /** Infinity: none. */
  readonly max: number;
  /** How many are taken of it. */
  readonly n: number;
}

/** Undefined: they may be asked about now, and are counted. The limits are those of the server, whoever uses it in which process. */
async function secondsToWait(
  ctx: Context,
  { customerId, uid }: VerificationServer,
  limits: readonly MinuteLimit[],
): Promise<number | undefined> {
  const taken: { readonly key: string; readonly n: number }[] = [];
  for (const { name, max, n } of limits) {
    if (max === Infinity) continue;
    const limit = { key: `${name}:${customerId}:${uid}`, max, seconds: MINUTE_SECONDS };
    const { refusedBy } = await takeFromWindows(ctx.db, [limit], n);
    if (refusedBy) {
      for (const before of taken) await giveBackToWindows(ctx.db, [before], before.n);
      return Math.max(1, Math.ceil(refusedBy.endsInSeconds));
    }
    taken.push({ key: limit.key, n });
  }
  return undefined;
}

/** Results, counts and position in one transaction. Results stay also when the run was cancelled meanwhile. */
async function store(
  ctx: Context,
  run: Verification,
  { answers, verifiedBy }: { readonly answers: Answers; readonly verifiedBy: string },
) {
  const { people, doneTo, failure } = answers;
  return inTransaction(ctx, async ({ db }) => {
    if (people.length > 0) await writeVerifications(db, run, { people, verifiedBy });
    return advanceVerification(db, run, {
      ...{ from: run.afterId, to: doneTo ?? run.afterId },
      ...{ counts: countsOf(people), isWhole: failure === undefined },
    });
  });
}

function countsOf(people: Answers['people']): ResultCounts {
  const counts = { deliverable: 0, undeliverable: 0, risky: 0, unknown: 0 };
  for (const { result } of people) counts[result] += 1;
  return counts;
}

/** What people can do something about; undefined: a fault of ours, for the queue to try again. */
function pauseReason(error: unknown, { isLastTry }: RunOptions): CannotVerify | undefined {
  if (error instanceof CannotVerify) return error;
  if (error instanceof ExpectedError) return new CannotVerify(sentenceOf(error));
  return isLastTry ? new CannotVerify('It could not go on because of a fault. The log says more.') : undefined;
}

/** A ValidationError says it with the field. */
function sentenceOf(error: ExpectedError): string {
  return error instanceof ValidationError ? Object.values(error.fields).flat().join(' ') : error.message;
}

async function pause(ctx: Context, run: Verification, { message, retryAfterSeconds }: CannotVerify): Promise<void> {
  await inTransaction(ctx, async ({ db }) => {
    const { failures = 0 } = (await openVerification(db, run)) ?? {};
    const retryInSeconds = failures + 1 >= FAILURES_MAX ? null : retrySeconds(failures, retryAfterSeconds);
    const wasRunning = await pauseVerification(db, run, { reason: message, retryInSeconds });
    if (wasRunning && retryInSeconds !== null) await enqueueVerification(db, run, retryInSeconds);
  });
  ctx.log.warn('verification.paused', { verification: run.uid, reason: message });
}

function retrySeconds(failures: number, retryAfterSeconds = 0): number {
  const usual = Math.min(RETRY_SECONDS_MIN * 2 ** failures, RETRY_SECONDS_MAX);
  return Math.max(usual, Math.min(retryAfterSeconds, RETRY_AFTER_SECONDS_MAX));
}
