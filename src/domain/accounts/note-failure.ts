/** Notes that somebody did not get in, or did not prove who he is: for the verbs that ask for a password or a code. */
import { ExpectedError, RateLimitedError } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import type { Account } from '../security-event.ts';

export interface Failure {
  readonly operation: string;
  readonly account: Account | null;
  readonly error: unknown;
  /** What it is called where the error's own code is too general. */
  readonly reason?: string;
  /** Of an unknown account. */
  readonly nameDigest?: string | undefined;
}

/** Notes an expected error; a defect is no sign of anybody. */
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
