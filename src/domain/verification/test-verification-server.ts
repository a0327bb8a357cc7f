/** Tests a stored verification server for its owner, without verifying an address. */
import { takeFromWindows } from '../../db/rate-windows.ts';
import type { Context } from '../context.ts';
import { endChecks } from '../context.ts';
import { findOwnedVerificationServer } from './find-owned-verification-server.ts';
import { openStoredVerifier, testVerifier } from './open-verifier.ts';
import { tooManyVerifierTests } from './verification-server-errors.ts';

/** Each test asks somebody else's service: enough for a person who repairs a server. */
export const VERIFIER_TESTS_PER_HOUR_MAX = 60;
const HOUR_SECONDS = 3_600;

export interface VerifierTest {
  readonly uid: string;
  readonly isPassed: boolean;
  /** Why it failed; null when it passed. */
  readonly fault: string | null;
}

/**
 * A failed test is an answer. Throws ValidationError on `type` when no active plugin provides the verifier, RateLimitedError
 * `TOO_MANY_TESTS`, NotFoundError, ForeignResourceError.
 */
export async function testVerificationServer(ctx: Context, { uid }: { uid: string }): Promise<VerifierTest> {
  const server = await findOwnedVerificationServer(ctx, uid);
  const { verifier } = openStoredVerifier(ctx, server);
  endChecks(ctx);
  const key = `verifier-tests:${server.customerId}`;
  const { refusedBy } = await takeFromWindows(ctx.db, [
    { key, max: VERIFIER_TESTS_PER_HOUR_MAX, seconds: HOUR_SECONDS },
  ]);
  if (refusedBy) throw tooManyVerifierTests(VERIFIER_TESTS_PER_HOUR_MAX, refusedBy.endsInSeconds);
  const test = await testVerifier(verifier);
  return { uid, isPassed: test.ok, fault: test.ok ? null : test.message };
}
