/** Records failed logins and failed proofs of a password or a code. */
import { ExpectedError, RateLimitedError } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import type { Account } from '../security-event.ts';

export interface Failure {
  readonly operation: string;
  readonly account: Account | null;
  readonly error: unknown;
  /** Its name where the error's own code is too general. */
  readonly reason?: string;
  /** Of an unknown account. */
  readonly nameDigest?: string | undefined;
}

/** Records an expected error; a defect says nothing about the caller. */
export function noteFailure(ctx: Context, { operation, account, error, reason, nameDigest }: Failure): void {
  if (!(error instanceof ExpectedError)) return;
  const isLocked = error instanceof RateLimitedError;
  const isHalfDone = error.code === 'TWO_FACTOR_CODE_REQUIRED';
  ctx.securityEvents?.note(ctx, {
    kind: isLocked ? 'login_locked' : isHalfDone ? 'code_asked' : 'login_failed',
    ...{ operation, account, nameDigest, reason: isLocked ? error.code : (reason ?? error.code) },
    ...{ tokenUid: ctx.viewer?.tokenUid, tokenKind: ctx.viewer?.tokenKind },
  });
}
