/**
 * The gate of a sending server: what a sending loop asks before messages are handed over, and tells when they have
 * ended. Whatever holds mail back (the server's pace, its health, limits of a recipient's domain) speaks here, so the
 * loop knows none of it. A gate never sleeps: who may not go now is told when to come again.
 */
import type { SendingError } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';
import { judgeReply, type ServerWitness, type Verdict, type Witnesses } from './replies/judge-reply.ts';
import { restsAtOnce } from './routing/health-rules.ts';
import { Line } from './routing/line.ts';
import type { MailboxGroups } from './routing/mailbox-group.ts';
import { Pacing, type PacedServer } from './routing/pacing.ts';
import { WHOLE_SERVER, type ServerHealth } from './routing/server-health.ts';
import { SetUpRefusals } from './routing/set-up-refusals.ts';
import type { GateGuest, GateStop, Held } from './routing/waiting.ts';

/** Each guest is in `go`, in `later`, or behind a `stop`: whoever is in neither list stays with the loop, which ends. */
export interface Admission<Guest> {
  /** They have a place each, given back by `ended` or, unused, by `withdraw`. */
  readonly go: readonly Guest[];
  /** They go back into the ledger until then; `reason` is for its reader. */
  readonly later: readonly Held<Guest>[];
  readonly stop: GateStop | undefined;
}

export interface SendingGate {
  /** What is known to hold everybody back, before anybody is leased. Takes nothing. */
  obstacle(ctx: Context, customerId: bigint): Promise<GateStop | undefined>;
  /** Takes places for as many of a customer's guests as may go now. */
  admit<Guest extends GateGuest>(ctx: Context, customerId: bigint, guests: readonly Guest[]): Promise<Admission<Guest>>;
  /**
   * Judges how one that went has ended, and learns from it; `error` is undefined when the server took the message. Answers
   * whether the loop must stop, too. Cheap: what is learnt is gathered, not written one by one.
   */
  ended(ctx: Context, guest: GateGuest, ending: Ending): { verdict: Verdict; stop: GateStop | undefined };
  /** The same for a message that never asked here (a notice, a test): the server's health is everybody's. */
  heard(ctx: Context, domain: string, error: SendingError | undefined): Verdict;
  /** Gives back places of guests that were not handed over after all. */
  withdraw(guests: readonly GateGuest[]): void;
}

export interface Ending extends Pick<Witnesses, 'attempts' | 'campaign'> {
  readonly error: SendingError | undefined;
}

/** What a gate keeps when its server's settings change: who rests goes on resting. */
export interface GateMemory {
  readonly health: ServerHealth;
  readonly groups: MailboxGroups;
}

/** Whoever is turned away while another tries comes again soon: a try takes moments. */
const PROBE_WAIT_SECONDS = 1;
const TRY_AGAIN: GateStop = { reason: 'unavailable', waitSeconds: PROBE_WAIT_SECONDS };
const HEALTH_REASON = 'provider_paused';

/** The gate of one process for one server. */
export function createSendingGate(server: PacedServer, memory: GateMemory): SendingGate {
  const { health, groups } = memory;
  const pacing = new Pacing(server);
  const line = new Line();
  const { hold, release } = createTries(memory);
  const judge = createJudge(memory);

  return {
    async obstacle(ctx, customerId) {
      await health.refresh(ctx.database, ctx.log, [WHOLE_SERVER]);
      const stop = serverStop(health);
      if (stop) await health.told(ctx.database, ctx.log);
      return stop ?? pacing.obstacle(ctx.db, customerId);
    },

    async admit(ctx, customerId, guests) {
      await health.refresh(ctx.database, ctx.log, [WHOLE_SERVER]);
      if (!health.isWell || pacing.isByGroup) await meet(ctx, memory, guests);
      const healthy = byHealth(memory, line, guests);
      // At once: whoever asks while this one waits for the paces must find these places taken.
      healthy.tried.forEach(hold);
      const request = { customerId, guests: healthy.go, groupOf: groups.groupOf, line };
      const paced = await pacing.take(ctx.db, request).catch((error: unknown) => {
        healthy.tried.forEach(release);
        throw error;
      });
      const went = new Set(paced.go);
      for (const guest of healthy.tried) if (!went.has(guest)) release(guest);
      health.tell(ctx.database, ctx.log);
      return { go: paced.go, later: [...healthy.later, ...paced.later], stop: paced.stop ?? healthy.stop };
    },

    ended(ctx, guest, ending) {
      release(guest);
      const { verdict, stop } = judge(ctx, guest.domain, ending);
      const isUnavailable = verdict.recipient.kind === 'unavailable';
      if (isUnavailable) pacing.giveBack([guest], groups.groupOf);
      pacing.ended(ctx, { isSent: ending.error === undefined, isHardBounce: verdict.server.isHardBounce });
      // A message that the server would not even look at stops a loop, whoever is to blame: the next one asks again.
      const mustAskAgain = isUnavailable && verdict.server.server !== undefined;
      return { verdict, stop: stop ?? (mustAskAgain ? TRY_AGAIN : undefined) };
    },

    heard: (ctx, domain, error) => judge(ctx, domain, { error, attempts: 0 }).verdict,

    withdraw(guests) {
      for (const guest of guests) release(guest);
      pacing.giveBack(guests, groups.groupOf);
    },
  };
}

/** Judges how messages end, and keeps what is learnt of the server and the recipients' providers. */
function createJudge({ health, groups }: GateMemory) {
  const refusals = new SetUpRefusals();
  /** Replies come in order, so the first message that fails with an error is the one that was meant. */
  const judged = new WeakSet<SendingError>();
  const witnessFor = (domain: string): ServerWitness => ({
    isToBlame(attempts) {
      const { restSeconds, slots } = health.standing(WHOLE_SERVER);
      const isUnwell = restSeconds > 0 || slots < Infinity;
      return refusals.isServers({ group: groups.groupOf(domain), attempts, isUnwell });
    },
    isEcho(error) {
      const isEcho = judged.has(error);
      judged.add(error);
      return isEcho;
    },
  });
  return (ctx: Context, domain: string, { error, ...witnesses }: Ending) => {
    const verdict = judgeReply(error, { ...witnesses, server: witnessFor(domain) });
    const { server: ofServer, mailboxes } = verdict.server;
    const group = groups.groupOf(domain);
    if (error === undefined) refusals.taken(group);
    let stop: GateStop | undefined;
    if (ofServer === 'well') health.taken(WHOLE_SERVER);
    else if (ofServer) {
      health.trouble(WHOLE_SERVER, ofServer);
      if (restsAtOnce(ofServer)) stop = serverStop(health);
    }
    if (mailboxes === 'well') health.taken(group);
    else if (mailboxes) health.trouble(group, mailboxes);
    health.tell(ctx.database, ctx.log);
    return { verdict, stop };
  };
}

/** Guests on their way to groups that are not well; the others are not counted. */
function createTries({ health, groups }: GateMemory) {
  const trying = new Map<GateGuest, readonly string[]>();
  return {
    hold(guest: GateGuest): void {
      const unwell = [WHOLE_SERVER, groups.groupOf(guest.domain)].filter(
        (group) => health.standing(group).slots < Infinity,
      );
      trying.set(guest, unwell);
      for (const group of unwell) health.trying(group, 1);
    },
    release(guest: GateGuest): void {
      for (const group of trying.get(guest) ?? []) health.trying(group, -1);
      trying.delete(guest);
    },
  };
}

/** Learns whose mail it is, where that matters, and how those stand. */
async function meet(ctx: Context, { health, groups }: GateMemory, guests: readonly GateGuest[]): Promise<void> {
  const domains = new Set(guests.map(({ domain }) => domain));
  await groups.learn(domains);
  const wanted = new Set([WHOLE_SERVER, ...[...domains].map((domain) => groups.groupOf(domain))]);
  await health.refresh(ctx.database, ctx.log, wanted);
}

function serverStop(health: ServerHealth): GateStop | undefined {
  const { restSeconds, slots } = health.standing(WHOLE_SERVER);
  if (restSeconds > 0) return { reason: 'unavailable', waitSeconds: restSeconds };
  return slots > 0 ? undefined : { reason: 'unavailable', waitSeconds: PROBE_WAIT_SECONDS };
}

interface Healthy<Guest> extends Admission<Guest> {
  /** Those of `go` that go to somebody who is tried again. */
  readonly tried: readonly Guest[];
}

/** Who may go as far as health is concerned. */
function byHealth<Guest extends GateGuest>(
  { health, groups }: GateMemory,
  line: Line,
  guests: readonly Guest[],
): Healthy<Guest> {
  if (health.isWell) return { go: guests, later: [], stop: undefined, tried: [] };
  const stop = serverStop(health);
  if (stop) return { go: [], later: [], stop, tried: [] };
  let places = health.standing(WHOLE_SERVER).slots;
  const free = new Map<string, number>();
  const go: Guest[] = [];
  const later: Held<Guest>[] = [];
  const tried: Guest[] = [];
  for (const guest of guests) {
    const group = groups.groupOf(guest.domain);
    const { restSeconds, slots } = health.standing(group);
    const left = free.get(group) ?? slots;
    if (restSeconds > 0 || left === 0) {
      later.push({ guest, delaySeconds: line.place(group, restSeconds), reason: HEALTH_REASON });
    } else if (places > 0) {
      places -= 1;
      free.set(group, left - 1);
      go.push(guest);
      if (slots < Infinity || health.standing(WHOLE_SERVER).slots < Infinity) tried.push(guest);
    }
  }
  const isFull = go.length + later.length < guests.length;
  return { go, later, tried, stop: isFull ? { reason: 'unavailable', waitSeconds: PROBE_WAIT_SECONDS } : undefined };
}
