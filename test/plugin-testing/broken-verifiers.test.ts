/** The conformance suite for verifiers finds what is wrong: a verifier that breaks one rule fails that rule. */
import { expect, test } from 'vitest';
import {
  VerifierError,
  type EmailVerifier,
  type EmailVerifierRegistration,
  type VerifiedAddress,
} from '../../src/plugin-api/index.ts';
import { emailVerifierConformance } from '../../src/plugin-testing/email-verifier-conformance.ts';
import { brokenRules } from '../support/broken-rules.ts';
import { rightVerifier } from '../support/http-verifier.ts';
import { startVerifierVendor, VENDOR_WAIT_SECONDS, vendorsAddresses } from '../support/verifier-vendor.ts';

const conformance = {
  startVendor: startVerifierVendor,
  wrongSettings: { api_key: '', endpoint: 'ftp://x' },
  addresses: vendorsAddresses,
  waitSeconds: VENDOR_WAIT_SECONDS,
};

const broken = (registration: EmailVerifierRegistration, only?: string) =>
  brokenRules(emailVerifierConformance(registration, conformance).filter(({ name }) => !only || name === only));

/** The right verifier with some members replaced. */
function withVerifier(change: (right: EmailVerifier) => Partial<EmailVerifier>): EmailVerifierRegistration {
  return {
    ...rightVerifier,
    connect(settings, options) {
      const right = rightVerifier.connect(settings, options);
      return { ...right, ...change(right) };
    },
  };
}

/** As the right one, but its answers are turned into others. */
function withAnswers(
  turn: (answers: readonly VerifiedAddress[], addresses: readonly string[]) => unknown,
): EmailVerifierRegistration {
  return withVerifier((right) => ({
    verify: async (addresses, options) =>
      turn(await right.verify(addresses, options), addresses) as readonly VerifiedAddress[],
  }));
}

/** As the right one, but what it throws becomes something else. */
function withFailure(turn: (error: VerifierError, addresses: readonly string[]) => unknown): EmailVerifierRegistration {
  return withVerifier((right) => ({
    async verify(addresses, options) {
      try {
        return await right.verify(addresses, options);
      } catch (error) {
        if (!(error instanceof VerifierError)) throw error;
        const turned = turn(error, addresses);
        if (turned instanceof Error) throw turned;
        return turned as readonly VerifiedAddress[];
      }
    },
  }));
}

const guess = (result: VerifiedAddress['result']) => (_error: unknown, addresses: readonly string[]) =>
  addresses.map(() => ({ result, reasons: [] }));
const failing = (how: string) => `verify() throws VerifierError, and guesses nothing, when the vendor ${how}`;
const { validate } = rightVerifier;

const RULE_OF: Readonly<Record<string, readonly [rule: string, EmailVerifierRegistration]>> = {
  'more addresses than the host gives': [
    'its limits are those that the host takes',
    { ...rightVerifier, addressesMax: 501 },
  ],
  'a secret that is no setting': ['the registration fits together', { ...rightVerifier, secretKeys: ['password'] }],
  'a setting of its own': [
    'validate() takes the settings, and its result once more',
    {
      ...rightVerifier,
      validate(input) {
        const checked = validate(input);
        return checked.ok ? { ok: true, settings: { ...checked.settings, more: 1 } } : checked;
      },
    },
  ],
  'a fault under another name': [
    'validate() names each wrong setting by its key',
    {
      ...rightVerifier,
      validate(input) {
        const checked = validate(input);
        return checked.ok ? checked : { ok: false, errors: { api_key: ['Something is wrong.'] } };
      },
    },
  ],
  'a validate() that throws': [
    'validate() never throws',
    {
      ...rightVerifier,
      validate: (input) => validate({ ...input, endpoint: new URL(String(input['endpoint'])).origin }),
    },
  ],
  'a question before it is needed': ['connect() opens nothing', withVerifier((right) => (void right.test(), {}))],
  'a test() that asks nobody': [
    'test() asks the vendor, and verifies no address',
    withVerifier(() => ({ test: async () => ({ ok: true }) })),
  ],
  'a test() that pays': [
    'test() asks the vendor, and verifies no address',
    withVerifier((right) => ({
      async test() {
        await right.verify(['p@deliverable.test'], { signal: new AbortController().signal });
        return { ok: true };
      },
    })),
  ],
  'a test() that throws': [
    'test() says that the vendor is away',
    withVerifier((right) => ({
      async test() {
        const tested = await right.test();
        if (!tested.ok) throw new Error(tested.message);
        return tested;
      },
    })),
  ],
  'a test() that overlooks that nothing is left': [
    'test() says that the vendor refuses',
    withVerifier((right) => ({
      async test() {
        const tested = await right.test();
        return !tested.ok && tested.message.includes('credits') ? { ok: true } : tested;
      },
    })),
  ],
  'answers in the order of the vendor': [
    'verify() answers once for each address, in their order',
    withAnswers((answers) => answers.toReversed()),
  ],
  'no answer where the vendor has none': [
    'verify() answers once for each address, in their order',
    withAnswers((answers) => answers.filter(({ result }) => result !== 'unknown')),
  ],
  'an answer too many': [
    'verify() answers once for each address, in their order',
    withAnswers((answers) => [...answers, ...answers.slice(0, 1)]),
  ],
  'only the first page of a call': [
    'verify() takes as many addresses as addressesMax',
    withAnswers((answers) => answers.slice(0, 20)),
  ],
  'answers that calls share': [
    'calls at the same time each get their own answers',
    withVerifier((right) => {
      const shared: { answers?: Promise<readonly VerifiedAddress[]> } = {};
      return {
        async verify(addresses, options) {
          shared.answers ??= Promise.resolve(right.verify(addresses, options));
          const answers = await shared.answers;
          return addresses.map((_, index) => answers[index] ?? { result: 'unknown', reasons: [] });
        },
      };
    }),
  ],
  'the words of the vendor': [
    'results and reasons are words of the contract',
    withAnswers((answers) => answers.map((one) => ({ ...one, reasons: ['Mailbox not found'] }))),
  ],
  'addresses in small letters': [
    'addresses reach the vendor as they are written',
    withVerifier((right) => ({
      verify: (addresses, options) =>
        right.verify(
          addresses.map((one) => one.toLowerCase()),
          options,
        ),
    })),
  ],
  'a slow vendor taken for one that is away': [
    'verify() waits for a slow vendor',
    withVerifier((right) => ({
      verify: (addresses) => right.verify(addresses, { signal: AbortSignal.timeout(50) }),
    })),
  ],
  'a signal that nobody follows': [
    'verify() ends when nobody waits any more',
    withVerifier((right) => ({
      verify: (addresses) => right.verify(addresses, { signal: new AbortController().signal }),
    })),
  ],
  'a close() that ends nothing': [
    'close() ends what is under way, and leaves nothing open',
    withVerifier(() => ({ close: async () => undefined })),
  ],
  'everybody is undeliverable without credits': [failing('refuses'), withFailure(guess('undeliverable'))],
  'unknown in the place of a failure': [failing('fails'), withFailure(guess('unknown'))],
  'an error of its own kind': [failing('is away'), withFailure(({ message }) => new TypeError(message))],
  'everybody is deliverable after a time-out': [failing('never answers'), withFailure(guess('deliverable'))],
  'a wait that is lost': [
    'verify() throws with the wait that the vendor asks for',
    withFailure(({ message }) => new VerifierError(message)),
  ],
};

test('a right verifier keeps all rules', async () => {
  expect(await broken(rightVerifier)).toEqual({});
});

test.each(Object.entries(RULE_OF))('%s is found', async (_what, [rule, registration]) => {
  expect(Object.keys(await broken(registration, rule))).toEqual([rule]);
});

test('each rule is broken by one of these verifiers', () => {
  const found = new Set(Object.values(RULE_OF).map(([rule]) => rule));
  const rules = emailVerifierConformance(rightVerifier, conformance).map(({ name }) => name);
  expect(rules.filter((name) => !found.has(name))).toEqual([]);
});
