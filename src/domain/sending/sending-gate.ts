/**
 * The gate of a sending server: a sending loop asks it before messages are handed over, and tells it their outcomes. All that
 * holds mail back (the server's pace, its health, limits of a recipient's domain) is decided here. A gate never sleeps:
 * recipients that may not go now are told when to come again.
 */
import type { SendingError } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';
import { isPushBack, judgeReply, type ServerWitness, type Verdict, type Witnesses } from './replies/judge-reply.ts';
import { restsAtOnce } from './routing/health-rules.ts';
import { Line } from './routing/line.ts';
import type { MailboxGroups } from './routing/mailbox-group.ts';
import { Pacing, type PacedServer } from './routing/pacing.ts';
import { WHOLE_SERVER, type ServerHealth } from './routing/server-health.ts';
import { SetUpRefusals } from './routing/set-up-refusals.ts';
import type { WaitingRecipient, GateStop, Held } from './routing/waiting.ts';

/** Each recipient is in `go`, in `later`, or behind a `stop`: those in neither list stay with the loop, which ends. */
export interface Admission<Recipient> {
  /** Each has a slot, returned by `ended` or, unused, by `withdraw`. */
  readonly go: readonly Recipient[];
  /** They wait in the ledger until then; `reason` is for its readers. */
  readonly later: readonly Held<Recipient>[];
  readonly stop: GateStop | undefined;
}

export interface SendingGate {
  /** What holds all recipients back, checked before anybody is leased. Takes nothing. */
  denial(ctx: Context, customerId: bigint): Promise<GateStop | undefined>;
  /** Takes slots for as many of a customer's recipients as may go now. */
  admit<Recipient extends WaitingRecipient>(
    ctx: Context,
    customerId: bigint,
    recipients: readonly Recipient[],
  ): Promise<Admission<Recipient>>;
  /**
   * Judges the outcome of one that was handed over, and records it; without `error` the server accepted the message. Returns
   * whether the loop must stop, too. Cheap: observations are collected, not written one by one.
   */
  ended(ctx: Context, recipient: WaitingRecipient, ending: Ending): { verdict: Verdict; stop: GateStop | undefined };
  /** The same for a message that did not pass the gate (a notification, a test), because the server's health concerns all. */
  judgeOutcome(ctx: Context, domain: string, error: SendingError | undefined): Verdict;
  /** Returns slots of recipients that were not handed over. */
  withdraw(recipients: readonly WaitingRecipient[]): void;
}

export interface Ending extends Pick<Witnesses, 'attempts' | 'campaign'> {
  readonly error: SendingError | undefined;
}

/** What a gate keeps when its server's settings change: pauses continue. */
export interface GateMemory {
  readonly health: ServerHealth;
  readonly groups: MailboxGroups;
  /** Is told what the number of the server's connections depends on; absent: nothing does. */
  readonly connections?: ConnectionFeedback | undefined;
}

export interface ConnectionFeedback {
  /** It accepted a message that began then, by `performance.now()`. */
  accepted(beganAt: number): void;
  /** The server is asked too much at once. */
  pushedBack(beganAt: number): void;
}

/** Recipients that are refused while another process tries come again soon: a try is short. */
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
    async denial(ctx, customerId) {
      await health.refresh(ctx.database, ctx.log, [WHOLE_SERVER]);
      const stop = serverStop(health);
      if (stop) await health.written(ctx.database, ctx.log);
      return stop ?? pacing.denial(ctx.db, customerId);
    },

    async admit(ctx, customerId, recipients) {
      await health.refresh(ctx.database, ctx.log, [WHOLE_SERVER]);
      if (!health.isWell || pacing.isByGroup) await prepareGroups(ctx, memory, recipients);
      const healthy = byHealth(memory, line, recipients);
      // At once: others that ask while this one waits for the paces must find these slots taken.
      healthy.tried.forEach(hold);
      const request = { customerId, recipients: healthy.go, groupOf: groups.groupOf, line };
      const paced = await pacing.take(ctx.db, request).catch((error: unknown) => {
        healthy.tried.forEach(release);
        throw error;
      });
      const went = new Set(paced.go);
      for (const recipient of healthy.tried) if (!went.has(recipient)) release(recipient);
      health.writeSoon(ctx.database, ctx.log);
      return { go: paced.go, later: [...healthy.later, ...paced.later], stop: paced.stop ?? healthy.stop };
    },

    ended(ctx, recipient, ending) {
      release(recipient);
      const { verdict, stop } = judge(ctx, recipient, ending);
      const isUnavailable = verdict.recipient.kind === 'unavailable';
      if (isUnavailable) pacing.giveBack([recipient], groups.groupOf);
      pacing.ended(ctx, { isSent: ending.error === undefined, isHardBounce: verdict.server.isHardBounce });
      // A message that the server did not consider stops a loop, whoever is at fault: the next one asks again.
      const stopsLoop = isUnavailable && verdict.server.server !== undefined;
      return { verdict, stop: stop ?? (stopsLoop ? TRY_AGAIN : undefined) };
    },

    judgeOutcome: (ctx, domain, error) => judge(ctx, { domain }, { error, attempts: 0 }).verdict,

    withdraw(recipients) {
      for (const recipient of recipients) release(recipient);
      pacing.giveBack(recipients, groups.groupOf);
    },
  };
}

/** Judges outcomes, and records observations of the server and the recipients' providers. */
function createJudge({ health, groups, connections }: GateMemory) {
  const refusals = new SetUpRefusals();
  /** Replies come in order, so the first message that fails with an error is the one it belongs to. */
  const judged = new WeakSet<SendingError>();
  const witnessFor = (domain: string): ServerWitness => ({
    isToBlame(attempts) {
      const { restSeconds, slots } = health.healthOf(WHOLE_SERVER);
      const isUnwell = restSeconds > 0 || slots < Infinity;
      return refusals.isServers({ group: groups.groupOf(domain), attempts, isUnwell });
    },
    isEcho(error) {
      const isEcho = judged.has(error);
      judged.add(error);
      return isEcho;
    },
  });
  return (ctx: Context, { domain, beganAt }: WaitingRecipient, { error, ...witnesses }: Ending) => {
    const verdict = judgeReply(error, { ...witnesses, server: witnessFor(domain) });
    const { server: ofServer, mailboxes } = verdict.server;
    const group = groups.groupOf(domain);
    if (error === undefined) {
      refusals.taken(group);
      connections?.accepted(beganAt ?? performance.now());
    } else if (isPushBack(error, verdict.server)) connections?.pushedBack(beganAt ?? performance.now());
    let stop: GateStop | undefined;
    if (ofServer === 'well') health.taken(WHOLE_SERVER);
    else if (ofServer) {
      health.trouble(WHOLE_SERVER, ofServer);
      if (restsAtOnce(ofServer)) stop = serverStop(health);
    }
    if (mailboxes === 'well') health.taken(group);
    else if (mailboxes) health.trouble(group, mailboxes);
    health.writeSoon(ctx.database, ctx.log);
    return { verdict, stop };
  };
}

/** Recipients in flight to unhealthy groups; others are not counted. */
function createTries({ health, groups }: GateMemory) {
  const trying = new Map<WaitingRecipient, readonly string[]>();
  return {
    hold(recipient: WaitingRecipient): void {
      const unwell = [WHOLE_SERVER, groups.groupOf(recipient.domain)].filter(
        (group) => health.healthOf(group).slots < Infinity,
      );
      trying.set(recipient, unwell);
      for (const group of unwell) health.trying(group, 1);
    },
    release(recipient: WaitingRecipient): void {
      for (const group of trying.get(recipient) ?? []) health.trying(group, -1);
      trying.delete(recipient);
    },
  };
}

/** Looks up the recipients' providers, where that matters, and their health. */
async function prepareGroups(
  ctx: Context,
  { health, groups }: GateMemory,
  recipients: readonly WaitingRecipient[],
): Promise<void> {
  const domains = new Set(recipients.map(({ domain }) => domain));
  await groups.learn(domains);
  const wanted = new Set([WHOLE_SERVER, ...[...domains].map((domain) => groups.groupOf(domain))]);
  await health.refresh(ctx.database, ctx.log, wanted);
}

function serverStop(health: ServerHealth): GateStop | undefined {
  const { restSeconds, slots } = health.healthOf(WHOLE_SERVER);
  if (restSeconds > 0) return { reason: 'unavailable', waitSeconds: restSeconds };
  return slots > 0 ? undefined : { reason: 'unavailable', waitSeconds: PROBE_WAIT_SECONDS };
}

interface Healthy<Recipient> extends Admission<Recipient> {
  /** Those of `go` whose group is being tried. */
  readonly tried: readonly Recipient[];
}

/** Who may go by health. */
function byHealth<Recipient extends WaitingRecipient>(
  { health, groups }: GateMemory,
  line: Line,
  recipients: readonly Recipient[],
): Healthy<Recipient> {
  if (health.isWell) return { go: recipients, later: [], stop: undefined, tried: [] };
  const stop = serverStop(health);
  if (stop) return { go: [], later: [], stop, tried: [] };
  let places = health.healthOf(WHOLE_SERVER).slots;
  const free = new Map<string, number>();
  const go: Recipient[] = [];
  const later: Held<Recipient>[] = [];
  const tried: Recipient[] = [];
  for (const recipient of recipients) {
    const group = groups.groupOf(recipient.domain);
    const { restSeconds, slots } = health.healthOf(group);
    const left = free.get(group) ?? slots;
    if (restSeconds > 0 || left === 0) {
      later.push({ recipient, delaySeconds: line.place(group, restSeconds), reason: HEALTH_REASON });
    } else if (places > 0) {
      places -= 1;
      free.set(group, left - 1);
      go.push(recipient);
      if (slots < Infinity || health.healthOf(WHOLE_SERVER).slots < Infinity) tried.push(recipient);
    }
  }
  const isFull = go.length + later.length < recipients.length;
  return { go, later, tried, stop: isFull ? { reason: 'unavailable', waitSeconds: PROBE_WAIT_SECONDS } : undefined };
}
