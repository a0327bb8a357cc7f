/** The rules for a verifier whose vendor cannot be used: it says so, guesses nothing, and goes on when the vendor is well again. */
import { VerifierError, type EmailVerifierRegistration } from '../plugin-api/index.ts';
import { endsWithin, requireThat, type ConformanceRule } from './conformance-rule.ts';
import type { EmailVerifierConformance, VerifierVendorBehaviour } from './test-verifier-vendor.ts';
import { END_MS_MAX, inVerifierWorld, verified, type VerifierCheck, type VerifierWorld } from './verifier-rules.ts';

/** Enough that a verifier of many parts sees that all of them fail. */
const ADDRESSES = 5;

const FAILURES = ['refuses', 'fails', 'is away', 'never answers'] as const satisfies readonly VerifierVendorBehaviour[];
type Failure = (typeof FAILURES)[number];

export function verifierFailureRules(
  registration: EmailVerifierRegistration,
  conformance: EmailVerifierConformance,
): readonly ConformanceRule[] {
  const rule = (name: string, check: VerifierCheck, isAnswered = true): ConformanceRule => ({
    name,
    check: () => inVerifierWorld(registration, conformance, { check, isAnswered }),
  });
  const { waitSeconds } = conformance;
  return [
    rule('test() says that the vendor refuses', testSays('refuses')),
    rule('test() says that the vendor is away', testSays('is away')),
    ...FAILURES.map((how) =>
      rule(
        `verify() throws VerifierError, and guesses nothing, when the vendor ${how}`,
        throwsWhen(how),
        how !== 'never answers',
      ),
    ),
    ...(waitSeconds === undefined
      ? []
      : [rule('verify() throws with the wait that the vendor asks for', passesWait(waitSeconds))]),
  ];
}

function testSays(how: Failure): VerifierCheck {
  return async ({ vendor, verifier }) => {
    vendor.behave(how);
    const testing = verifier.test().catch((error: unknown) => {
      throw new Error(`test() must answer { ok: false, message }, and throws: ${String(error)}`, { cause: error });
    });
    const tested = await endsWithin(testing, END_MS_MAX, `test() does not end when the vendor ${how}.`);
    requireThat(!tested.ok, `test() says that all is well while the vendor ${how}.`);
    requireThat(tested.message.length > 1, 'test() does not say what is wrong.');
  };
}

function throwsWhen(how: Failure): VerifierCheck {
  return async (world) => {
    world.vendor.behave(how);
    const error = await failureOf(world, how);
    requireThat(error.message.length > 1, 'The error does not say what happened.');
    await goesOn(world);
  };
}

function passesWait(waitSeconds: number): VerifierCheck {
  return async (world) => {
    world.vendor.behave('is busy');
    const { retryAfterSeconds } = await failureOf(world, 'is busy');
    requireThat(
      retryAfterSeconds !== undefined && retryAfterSeconds >= waitSeconds,
      `The vendor asks to wait ${waitSeconds} seconds; retryAfterSeconds is ${retryAfterSeconds}.`,
    );
  };
}

/** Throws a sentence when the call did not fail, or with something else than a VerifierError. */
async function failureOf(world: VerifierWorld, how: VerifierVendorBehaviour): Promise<VerifierError> {
  const asked = someAddresses(world);
  // A synchronous throw is one, too.
  const failing = Promise.resolve()
    .then(() => world.verifier.verify(asked, { signal: new AbortController().signal }))
    .then(
      (answers) => new Error(`The vendor ${how}, and verify() answers ${JSON.stringify(answers)}.`),
      (error: unknown) =>
        error instanceof VerifierError
          ? error
          : new Error(`verify() throws what is no VerifierError: ${String(error)}`),
    );
  const error = await endsWithin(failing, END_MS_MAX, `verify() does not end when the vendor ${how}.`);
  if (!(error instanceof VerifierError)) throw error;
  return error;
}

/** When the vendor is well again, addresses are verified at the second try at the latest. */
async function goesOn(world: VerifierWorld): Promise<void> {
  world.vendor.behave('answers');
  const asked = someAddresses(world);
  const answers = await verified(world.verifier, asked).catch(() => verified(world.verifier, asked));
  requireThat(
    answers.every(({ result }) => result === 'deliverable'),
    `The vendor is well again, and verify() answers ${JSON.stringify(answers)}.`,
  );
}

function someAddresses({ registration, addresses }: VerifierWorld): readonly string[] {
  return Array.from({ length: Math.min(ADDRESSES, registration.addressesMax) }, (_, no) => addresses.deliverable(no));
}
