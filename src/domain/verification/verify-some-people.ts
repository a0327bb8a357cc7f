/**
 * One step of a verification: the next people, of whom those are asked about whose address is neither known from another list of the customer
 * nor being asked about by another of its runs. Results, counts and position are stored together.
 */
import type { Queryable } from '../../db/database.ts';
import { giveBackToWindows, takeFromWindows } from '../../db/rate-windows.ts';
import {
  nextPeopleToVerify,
  resultsElsewhere,
  type PeopleToVerify,
  type PersonToVerify,
} from '../audience/verification-read-model.ts';
import { writeVerifications, type VerifiedPerson } from '../audience/verification-result-store.ts';
import { suppressUndeliverable } from '../audience/suppression-store.ts';
import { inTransaction, type Context } from '../context.ts';
import { claimAddresses, releaseAddresses } from './address-claim-store.ts';
import { askVerifier, peopleAtOnce, type Answers } from './ask-verifier.ts';
import { requireVerifier } from './require-verifier.ts';
import type { VerificationServer } from './verification-server.ts';
import { advanceVerification } from './verification-store.ts';
import type { ResultCounts, Verification } from './verification.ts';
import type { VerifierOfRun } from './verifier-of-run.ts';

const MINUTE_SECONDS = 60;
/** A result of another list holds for so long, unless the run says what is too old. Addresses that exist die at about two percent a month. */
const REUSED_DAYS_MAX = 30;
/** Until another run of the customer has the answers that this one waits for. */
const WAIT_FOR_ANSWERS_SECONDS = 5;

/** `done`: nobody is left. `over`: somebody has cancelled it, or another process goes on with it. */
export type VerificationStep = 'done' | 'over' | { readonly waitSeconds: number } | { readonly doneTo: bigint };

export interface StepMeans {
  readonly who: PeopleToVerify;
  readonly verifiers: VerifierOfRun;
}

/** The plan and the server may have changed since the step before: both are looked up each time. Throws CannotVerify, and what `requireVerifier` throws. */
export async function verifySomePeople(
  ctx: Context,
  run: Verification,
  { who, verifiers }: StepMeans,
): Promise<VerificationStep> {
  const { customerId, afterId, serverUid } = run;
  const server = await requireVerifier(ctx.db, { customerId, uid: serverUid === '' ? null : serverUid });
  const { registration, verifier } = await verifiers.of(server);
  const perMinute = Math.min(server.perMinuteMax ?? Infinity, registration.perMinuteMax ?? Infinity);
  const limit = Math.min(peopleAtOnce(registration), perMinute);
  const people = await nextPeopleToVerify(ctx.db, who, { afterId, limit });
  if (people.length === 0) return 'done';
  const { known, toAsk } = await divide(ctx, run, { who, people, verifiedBy: server.type });
  const waitSeconds = await secondsToWait(ctx, server, [
    { name: 'verifications', max: perMinute, n: toAsk.length },
    {
      name: 'verification-calls',
      max: registration.callsPerMinuteMax ?? Infinity,
      n: Math.ceil(toAsk.length / registration.addressesMax),
    },
  ]);
  const answers =
    waitSeconds === undefined ? await askVerifier(verifier, registration, toAsk) : { people: [], failure: undefined };
  const doneTo = lastOfAnswered(people, [...known, ...answers.people]) ?? afterId;
  const status = await store(ctx, run, { known, answers, doneTo, verifiedBy: server.type });
  if (status !== 'running') return 'over';
  if (answers.failure) throw answers.failure;
  if (waitSeconds !== undefined) return { waitSeconds };
  return known.length + answers.people.length > 0 ? { doneTo } : { waitSeconds: WAIT_FOR_ANSWERS_SECONDS };
}

interface People {
  readonly who: PeopleToVerify;
  readonly people: readonly PersonToVerify[];
  readonly verifiedBy: string;
}

/** First the claim, then the look: whoever held an address before has stored its result by then. */
async function divide(ctx: Context, run: Verification, { who, people, verifiedBy }: People) {
  const emailKeys = people.map(({ emailKey }) => emailKey);
  const claimed = await claimAddresses(ctx.db, run, { emailKeys, verifiedBy });
  const { since, olderThanDays } = who;
  const found = await resultsElsewhere(ctx.db, run, {
    ...{ emailKeys, verifiedBy, since, days: olderThanDays ?? REUSED_DAYS_MAX },
  });
  const byKey = new Map(found.map((one) => [one.emailKey, one]));
  const known = people.flatMap(({ id, emailKey }): VerifiedPerson[] => {
    const { result, reasons, verifiedAt } = byKey.get(emailKey) ?? {};
    if (!result || !verifiedAt) return [];
    return [{ id, emailKey, result, reasons: reasons ? reasons.split(',') : [], verifiedAt }];
  });
  return { known, toAsk: people.filter(({ emailKey }) => claimed.has(emailKey) && !byKey.has(emailKey)) };
}

/** Everybody up to this person has an answer; undefined: the first one has none. */
function lastOfAnswered(people: readonly PersonToVerify[], answered: readonly VerifiedPerson[]): bigint | undefined {
  const ids = new Set(answered.map(({ id }) => id));
  const without = people.findIndex(({ id }) => !ids.has(id));
  return people.slice(0, without < 0 ? people.length : without).at(-1)?.id;
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
    if (max === Infinity || n === 0) continue;
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

interface Outcome {
  readonly known: readonly VerifiedPerson[];
  readonly answers: Answers;
  readonly doneTo: bigint;
  readonly verifiedBy: string;
}

/** In one transaction. Results stay also when the run was cancelled meanwhile. */
async function store(ctx: Context, run: Verification, { known, answers, doneTo, verifiedBy }: Outcome) {
  const people = [...known, ...answers.people];
  return inTransaction(ctx, async ({ db }) => {
    if (people.length > 0) await writeVerifications(db, run, { people, verifiedBy });
    const suppressed = await suppressFound(db, run, people);
    await releaseAddresses(db, run);
    return advanceVerification(db, run, {
      ...{ from: run.afterId, to: doneTo, counts: countsOf(people), reused: known.length, suppressed },
      // A step that asked nobody says nothing about the verifier.
      isWhole: answers.people.length > 0 && answers.failure === undefined,
    });
  });
}

/** Returns how many addresses were not suppressed before. */
async function suppressFound(db: Queryable, run: Verification, people: readonly VerifiedPerson[]): Promise<number> {
  const ids = people.filter(({ result }) => result === 'undeliverable').map(({ id }) => id);
  if (!run.suppresses || ids.length === 0) return 0;
  return suppressUndeliverable(db, run, { ids, note: `Found by the verification ${run.uid}.` });
}

function countsOf(people: readonly VerifiedPerson[]): ResultCounts {
  const counts = { deliverable: 0, undeliverable: 0, risky: 0, unknown: 0 };
  for (const { result } of people) counts[result] += 1;
  return counts;
}
