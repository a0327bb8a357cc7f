/**
 * Runs a verification step by step (verify-some-people), so that after a kill at any moment the next run continues at the stored position. Asked
 * again are at most those who were with the verifier at that moment.
 */
import { ExpectedError, ValidationError } from '../../lib/errors.ts';
import { countPeopleToVerify, type PeopleToVerify } from '../audience/verification-read-model.ts';
import { inTransaction, type Context } from '../context.ts';
import { enqueueVerification } from './enqueue-verification.ts';
import { CannotVerify } from './verification-errors.ts';
import {
  endVerification,
  isBehindAnother,
  markVerificationRunning,
  openVerification,
  pauseVerification,
  writeTotal,
} from './verification-store.ts';
import type { Verification, VerificationKey } from './verification.ts';
import { verifySomePeople } from './verify-some-people.ts';
import { createVerifierOfRun, type VerifierOfRun } from './verifier-of-run.ts';

/** Verifications of one list follow each other: the later one then finds results. */
const WAIT_FOR_OTHER_SECONDS = 30;
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
    const step = await verifySomePeople(ctx, { ...run, afterId }, { who, verifiers });
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
