/** The rules for a verifier whose vendor is well: one answer for each address, in order, in the words of the contract. */
import { openOutboundPool } from '../lib/outbound-pool.ts';
import {
  VERIFICATION_REASONS_MAX,
  VERIFICATION_RESULTS,
  type EmailVerifier,
  type EmailVerifierRegistration,
  type VerificationResult,
  type VerifiedAddress,
} from '../plugin-api/index.ts';
import { endsWithin, requireSoon, requireThat, type ConformanceRule } from './conformance-rule.ts';
import { disposable, settingsOf } from './settings-rules.ts';
import type { EmailVerifierConformance, TestVerifierVendor } from './test-verifier-vendor.ts';

/** The verifier is told to wait so long for an answer, also on a busy machine; where none comes, not so long. */
const REPLY_MS_MAX = 10_000;
const NO_REPLY_MS_MAX = 2_000;
/** A connection that is opened too early is seen by then, also on a busy machine. */
const EARLY_MS = 300;
/** In which everything must have ended, also on a busy machine. */
export const END_MS_MAX = 20_000;
/** In which a call ends when nobody waits any more: far below the time for an answer. */
const SIGNAL_MS_MAX = 3_000;
/** In which a question that should not be asked would have arrived. */
const QUIET_MS = 300;
const REASON = /^[a-z][a-z0-9_]{0,39}$/;
/** Valid, and changed by whoever puts them into an address of the web, a header or a form without care (RFC 5321, RFC 6531). */
const ODD_NAMES = ["o'hara+news", 'a%40b&c=d', 'a/b?c#d', '"a b"', 'jürgen', 'Upper.Case', '{x}~$^'];

export interface VerifierWorld {
  readonly vendor: TestVerifierVendor;
  readonly verifier: EmailVerifier;
  readonly registration: EmailVerifierRegistration;
  readonly addresses: EmailVerifierConformance['addresses'];
}

export type VerifierCheck = (world: VerifierWorld) => Promise<void>;

/** Runs a check with a vendor and a verifier of its own. */
export async function inVerifierWorld(
  registration: EmailVerifierRegistration,
  { startVendor, addresses }: EmailVerifierConformance,
  { check, isAnswered = true }: { readonly check: VerifierCheck; readonly isAnswered?: boolean },
): Promise<void> {
  await using vendor = disposable(await startVendor());
  const verifier = registration.connect(settingsOf(registration, vendor.settings), {
    replyTimeoutMs: isAnswered ? REPLY_MS_MAX : NO_REPLY_MS_MAX,
    dnsServers: vendor.dnsServers ?? [],
    openHttp: openOutboundPool,
  });
  try {
    await check({ vendor, verifier, registration, addresses });
  } finally {
    await endsWithin(verifier.close(), END_MS_MAX, 'close() does not end.');
  }
}

export function verifierRules(
  registration: EmailVerifierRegistration,
  conformance: EmailVerifierConformance,
): readonly ConformanceRule[] {
  const checks: Readonly<Record<string, VerifierCheck>> = {
    'connect() opens nothing': opensNothing,
    'test() asks the vendor, and verifies no address': testsVendor,
    'verify() answers once for each address, in their order': answersInOrder,
    'verify() takes as many addresses as addressesMax': takesFullCall,
    'calls at the same time each get their own answers': keepsCallsApart,
    'results and reasons are words of the contract': usesWords,
    'addresses reach the vendor as they are written': passesUnchanged,
    'verify() waits for a slow vendor': waitsForSlow,
    'verify() ends when nobody waits any more': endsBySignal,
    'close() ends what is under way, and leaves nothing open': closes,
  };
  return Object.entries(checks).map(([name, check]) => ({
    name,
    check: () => inVerifierWorld(registration, conformance, { check }),
  }));
}

/** Asks, and requires one answer for each. */
export async function verified(
  verifier: EmailVerifier,
  addresses: readonly string[],
): Promise<readonly VerifiedAddress[]> {
  const asking = Promise.resolve(verifier.verify(addresses, { signal: new AbortController().signal }));
  const answers = await endsWithin(asking, END_MS_MAX, 'verify() does not end.');
  requireThat(
    Array.isArray(answers) && answers.length === addresses.length,
    `verify() was given ${addresses.length} addresses and answers ${Array.isArray(answers) ? answers.length : typeof answers}.`,
  );
  return answers;
}

/** The results that the vendor can say, with addresses of which it says them. */
function known({ addresses }: VerifierWorld): readonly (readonly [VerificationResult, (no: number) => string])[] {
  return VERIFICATION_RESULTS.flatMap((result) => {
    const address = addresses[result];
    return address ? [[result, address] as const] : [];
  });
}

/** Addresses of all results in turn, with what must be said of them. */
function mixed(world: VerifierWorld, count: number, from = 0) {
  const kinds = known(world);
  return Array.from({ length: count }, (_, index) => {
    const kind = kinds[(from + index) % kinds.length];
    requireThat(kind !== undefined, 'The test gives no addresses.');
    return { address: kind[1](from + index), result: kind[0] };
  });
}

type Expected = ReturnType<typeof mixed>;

async function requireResults(verifier: EmailVerifier, wanted: Expected): Promise<void> {
  const answers = await verified(
    verifier,
    wanted.map(({ address }) => address),
  );
  for (const [index, { address, result }] of wanted.entries())
    requireThat(
      answers[index]?.result === result,
      `verify() says "${answers[index]?.result}" of ${address}, at place ${index} of ${wanted.length}; it must be "${result}".`,
    );
}

async function opensNothing({ vendor }: VerifierWorld): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, EARLY_MS));
  const isQuiet = vendor.requests() === 0 && (vendor.connections?.().ever ?? 0) === 0;
  requireThat(isQuiet, 'connect() asks or opens something: only verify() and test() may.');
}

async function testsVendor({ vendor, verifier }: VerifierWorld): Promise<void> {
  const tested = await endsWithin(verifier.test(), END_MS_MAX, 'test() does not end.');
  requireThat(tested.ok, `test() fails although the vendor is well: ${tested.ok ? '' : tested.message}`);
  requireThat(vendor.requests() > 0, 'test() does not ask the vendor.');
  requireThat(vendor.asked().length === 0, `test() verifies an address: ${vendor.asked().join(', ')}`);
}

async function answersInOrder(world: VerifierWorld): Promise<void> {
  const wanted = mixed(world, Math.min(12, world.registration.addressesMax));
  await requireResults(world.verifier, wanted);
  await requireResults(world.verifier, wanted.toReversed());
  for (const one of wanted.slice(0, 4)) await requireResults(world.verifier, [one]);
}

async function takesFullCall(world: VerifierWorld): Promise<void> {
  await requireResults(world.verifier, mixed(world, world.registration.addressesMax));
}

async function keepsCallsApart(world: VerifierWorld): Promise<void> {
  world.vendor.behave('slow');
  const { addressesMax, callsMax = 1 } = world.registration;
  const size = Math.min(3, addressesMax);
  const calls = Array.from({ length: callsMax }, (_, no) => mixed(world, size, no * size));
  await Promise.all(calls.map((call) => requireResults(world.verifier, call)));
}

async function usesWords(world: VerifierWorld): Promise<void> {
  for (const { address } of mixed(world, known(world).length)) {
    const [answer] = await verified(world.verifier, [address]);
    const { result, reasons } = answer ?? {};
    requireThat(
      result !== undefined && VERIFICATION_RESULTS.includes(result),
      `The result of ${address} is "${result}"; it must be one of ${VERIFICATION_RESULTS.join(', ')}.`,
    );
    requireThat(
      Array.isArray(reasons) && reasons.length <= VERIFICATION_REASONS_MAX,
      `The reasons of ${address} must be a list of at most ${VERIFICATION_REASONS_MAX}.`,
    );
    for (const reason of reasons)
      requireThat(
        typeof reason === 'string' && REASON.test(reason),
        `A reason of ${address} is "${String(reason)}"; it must be small letters, digits and "_".`,
      );
  }
}

async function passesUnchanged({ vendor, verifier, registration, addresses }: VerifierWorld): Promise<void> {
  const domain = addresses.deliverable(0).split('@').at(-1);
  const odd = ODD_NAMES.map((name) => `${name}@${domain}`);
  const answers: VerifiedAddress[] = [];
  for (let at = 0; at < odd.length; at += registration.addressesMax)
    answers.push(...(await verified(verifier, odd.slice(at, at + registration.addressesMax))));
  for (const [index, address] of odd.entries())
    requireThat(
      answers[index]?.result === 'deliverable',
      `verify() says "${answers[index]?.result}" of ${address}; it must be "deliverable".`,
    );
  const asked = new Set(vendor.asked());
  const seesAddresses = [...asked].some((one) => one.includes('@'));
  const missing = seesAddresses ? odd.filter((address) => !asked.has(address)) : [];
  requireThat(
    missing.length === 0,
    `The vendor was not asked about ${missing.join(', ')}, but ${[...asked].join(', ')}.`,
  );
}

async function waitsForSlow(world: VerifierWorld): Promise<void> {
  world.vendor.behave('slow');
  await requireResults(world.verifier, mixed(world, Math.min(4, world.registration.addressesMax)));
}

async function endsBySignal({ vendor, verifier, addresses }: VerifierWorld): Promise<void> {
  vendor.behave('never answers');
  const leaving = new AbortController();
  const ended = Promise.resolve(verifier.verify([addresses.deliverable(0)], { signal: leaving.signal })).then(
    () => undefined,
    () => undefined,
  );
  await requireSoon(() => vendor.requests() > 0, 'verify() does not ask the vendor.', END_MS_MAX);
  leaving.abort();
  await endsWithin(ended, SIGNAL_MS_MAX, 'verify() goes on although `signal` has fired.');
}

async function closes({ vendor, verifier, addresses }: VerifierWorld): Promise<void> {
  vendor.behave('never answers');
  const asking = verifier.verify([addresses.deliverable(0)], { signal: new AbortController().signal });
  const ended = Promise.resolve(asking).then(
    () => undefined,
    () => undefined,
  );
  await requireSoon(() => vendor.requests() > 0, 'verify() does not ask the vendor.', END_MS_MAX);
  await endsWithin(verifier.close(), END_MS_MAX, 'close() does not end.');
  await endsWithin(ended, SIGNAL_MS_MAX, 'close() leaves a call under way.');
  await requireSoon(() => (vendor.connections?.().now ?? 0) === 0, 'close() leaves a connection open.', END_MS_MAX);
  const before = vendor.requests();
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  requireThat(vendor.requests() === before, 'The vendor is asked again after close().');
}
