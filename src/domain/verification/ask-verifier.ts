/** Asks a verifier about people: in calls of its size, so many at once, each limited in time, and what it answers is checked. */
import { z } from 'zod';
import { messageOf } from '../../lib/errors.ts';
import {
  VERIFICATION_REASONS_MAX,
  VERIFICATION_RESULTS,
  VerifierError,
  type EmailVerifier,
  type EmailVerifierRegistration,
  type VerifiedAddress,
} from '../../plugin-api/index.ts';
import type { PersonToVerify } from '../audience/verification-read-model.ts';
import type { VerifiedPerson } from '../audience/verification-result-store.ts';
import { CannotVerify } from './verification-errors.ts';

/** People who are with the verifier at once: all that is asked again after the death of a process. */
const PEOPLE_AT_ONCE_MAX = 500;
/** A service that looks at mailboxes takes seconds for each; whoever takes longer is away. */
const CALL_MS_MAX = 120_000;
/** A sentence of a plugin, as people read it. */
const REASON_LENGTH_MAX = 500;

const answerShape = z.strictObject({
  result: z.enum(VERIFICATION_RESULTS),
  reasons: z.array(z.string().regex(/^[a-z][a-z0-9_]{0,39}$/)).max(VERIFICATION_REASONS_MAX),
});

/** How many people are asked about together. */
export function peopleAtOnce({ addressesMax, callsMax = 1, callsPerMinuteMax }: EmailVerifierRegistration): number {
  return Math.min(addressesMax * Math.min(callsMax, callsPerMinuteMax ?? callsMax), PEOPLE_AT_ONCE_MAX);
}

export interface Answers {
  /** Those with an answer. */
  readonly people: readonly VerifiedPerson[];
  /** Why the others have none; undefined: all have one. */
  readonly failure: CannotVerify | undefined;
}

/** Never throws: answers of calls that went well are kept, whatever became of the others. */
export async function askVerifier(
  verifier: EmailVerifier,
  { addressesMax }: Pick<EmailVerifierRegistration, 'addressesMax'>,
  people: readonly PersonToVerify[],
): Promise<Answers> {
  const calls: (readonly PersonToVerify[])[] = [];
  for (let at = 0; at < people.length; at += addressesMax) calls.push(people.slice(at, at + addressesMax));
  const settled = await Promise.allSettled(calls.map((call) => askOnce(verifier, call)));
  const fault = settled.find((one) => one.status === 'rejected');
  return {
    people: settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])),
    failure: fault && reasonOf(fault.reason),
  };
}

async function askOnce(verifier: EmailVerifier, people: readonly PersonToVerify[]): Promise<VerifiedPerson[]> {
  const ending = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    ending.abort();
    late.reject(new VerifierError(`The verifier did not answer within ${CALL_MS_MAX / 1_000} seconds.`));
  }, CALL_MS_MAX);
  const addresses = people.map(({ email }) => email);
  try {
    const answers = await Promise.race([verifier.verify(addresses, { signal: ending.signal }), late.promise]);
    return matched(people, answers);
  } finally {
    clearTimeout(timer);
  }
}

/** A plugin may return anything. */
function matched(people: readonly PersonToVerify[], answers: readonly VerifiedAddress[]): VerifiedPerson[] {
  const checked = z.array(answerShape).length(people.length).safeParse(answers);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const place = issue?.path.map(String).join('.') ?? '';
    throw new VerifierError(
      `The verifier answered what it must not: ${place === '' ? '' : `${place}: `}${issue?.message}. Report it to its author.`,
    );
  }
  return checked.data.flatMap((answer, index) => {
    const person = people[index];
    return person ? [{ id: person.id, emailKey: person.emailKey, ...answer }] : [];
  });
}

function reasonOf(error: unknown): CannotVerify {
  const reason = messageOf(error)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  const retryAfterSeconds = error instanceof VerifierError ? error.retryAfterSeconds : undefined;
  return new CannotVerify(reason.slice(0, REASON_LENGTH_MAX) || 'The verifier failed.', retryAfterSeconds);
}
