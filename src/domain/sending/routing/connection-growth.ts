/**
 * How many connections a sending server gets, over all processes: more, step by step, while more connections send more; half as
 * many when the server shows that they are too many (421, 45x of rate, a time-out, a refused connection). Rules only, without
 * state, clock or database: times are milliseconds of one clock of the caller.
 */

/** One connection alone would stand still while it is opened again. */
export const CONNECTIONS_MIN = 2;
/** Unless its settings say otherwise; big receivers take twenty and more from one client. */
export const CONNECTIONS_MAX = 20;

/** From 2 to 20 in nine rounds; with more processes one for each, since fewer would leave the share of some as it was. */
const STEP_MIN = 2;
/** Rates of neighbouring numbers differ less than the noise: they are compared after half as many again. */
const COMPARED_FACTOR = 1.5;
/** Half as many again must bring a twentieth more. */
const GAIN_MIN = 0.1;
/** So many rounds may show the gain: one may meet a pause of the machine. */
const ROUNDS_COMPARED = 3;
/** After more connections sent no more, or were too many, the next growth waits; after each further failure twice as long. */
const HOLD_MS = 2_000;
/** A growth that sent no more costs nothing but itself. */
const HOLD_MS_MAX = 600_000;
/** A growth that is refused may cost a pause of the server: four a day at most where a server always takes the same number. */
const REFUSED_HOLD_MS_MAX = 6 * 3_600_000;
/** So long one connection more must work before there are more: a server may refuse it late, after a slow opening. */
const TRIAL_MS = 10_000;
/** The connections that a cut ends are still open for a moment: what is refused meanwhile is about their number. */
const CUT_PAUSE_MS = 1_000;
/** The weight of the latest round in the rate at an unchanged number. */
const LATEST_SHARE = 0.3;

/** The rate at the number from which growth began. */
interface Mark {
  readonly connections: number;
  readonly rate: number;
  /** At the present number: the best round, and how many there were. */
  readonly best: number;
  readonly rounds: number;
}

export interface Growth {
  readonly connections: number;
  /** More were refused; null: not known. */
  readonly ceiling: number | null;
  /** Until then the number stays at or below the ceiling, or at one more that is being tried. Null: from the next round on. */
  readonly heldUntil: number | null;
  /** How long the ceiling holds. */
  readonly holdMs: number;
  /** More sent no more; null: not known. */
  readonly enough: number | null;
  readonly enoughUntil: number;
  /** How long the next growth that sends no more holds. */
  readonly enoughMs: number;
  /** The latest cut. What began before says nothing about the number after it. */
  readonly cutAt: number;
  readonly mark: Mark | null;
}

/** The server's largest number, and how many processes share it. */
export interface Bounds {
  readonly max: number;
  readonly processes: number;
}

/** What one round showed (sending-round.ts): only messages that began after the latest cut. */
export interface Round {
  readonly at: number;
  /** Messages a second. */
  readonly rate: number;
  /** Messages waited. */
  readonly wasFull: boolean;
}

/** The server showed that it is asked too much. */
export interface PushBack {
  readonly at: number;
  /** When the refused message or connection began. */
  readonly beganAt: number;
  /** It has accepted messages since the latest cut: it works, and the number was too large. */
  readonly hasAccepted: boolean;
}

/** A server that nobody knows yet. */
export function firstGrowth(): Growth {
  return {
    connections: CONNECTIONS_MIN,
    ...{ ceiling: null, heldUntil: null, holdMs: HOLD_MS },
    ...{ enough: null, enoughUntil: -Infinity, enoughMs: HOLD_MS },
    cutAt: -Infinity,
    mark: null,
  };
}

/** The number within its bounds. */
export function connectionsWithin(connections: number, max: number): number {
  return Math.max(1, Math.min(max, Math.max(CONNECTIONS_MIN, connections)));
}

/** What one process may use of the number: at least one. */
export function shareOf(connections: number, processes: number): number {
  return Math.max(1, Math.floor(connections / Math.max(1, processes)));
}

/** After a round without trouble. */
export function afterRound(growth: Growth, round: Round, bounds: Bounds): Growth {
  const connections = connectionsWithin(growth.connections, bounds.max);
  const held = holdBegun({ ...growth, connections }, round);
  // With less to send, rates say nothing about the number.
  if (!round.wasFull) return { ...held, mark: null };
  const now = afterTrial(held, round);
  const { mark } = now;
  if (mark === null || mark.connections > connections)
    return raised(now, markAt(connections, round.rate), round, bounds);
  if (mark.connections === connections) {
    const rate = mark.rate + LATEST_SHARE * (round.rate - mark.rate);
    return raised(now, markAt(connections, rate), round, bounds);
  }
  const limit = limitOf(now, round.at, bounds);
  if (connections < Math.min(limit, Math.ceil(mark.connections * COMPARED_FACTOR)))
    return raised(now, mark, round, bounds);
  return compared(now, mark, round, bounds);
}

/** Once for what began after the latest cut. */
export function afterPushBack(growth: Growth, { at, beganAt, hasAccepted }: PushBack, { max }: Bounds): Growth {
  if (beganAt <= growth.cutAt || at < growth.cutAt + CUT_PAUSE_MS) return growth;
  const before = connectionsWithin(growth.connections, max);
  const connections = connectionsWithin(Math.floor(before / 2), max);
  const cut = { ...growth, connections, heldUntil: null, cutAt: at, mark: null };
  // A server that is down refuses any number.
  if (!hasAccepted) return cut;
  return { ...cut, ceiling: connectionsWithin(before - 1, max), holdMs: refusedHoldMs(growth, before) };
}

/** Twice as long when more than the ceiling was refused again. A refusal of fewer says that the ceiling is something else. */
function refusedHoldMs({ ceiling, holdMs }: Growth, before: number): number {
  if (ceiling === null) return HOLD_MS;
  return before > ceiling ? Math.min(REFUSED_HOLD_MS_MAX, holdMs * 2) : halfOf(holdMs);
}

/** The hold begins when the server takes mail again after a cut, and is not shorter than the time without mail. */
function holdBegun(growth: Growth, { at }: Round): Growth {
  const { ceiling, heldUntil, cutAt } = growth;
  if (ceiling === null || heldUntil !== null) return growth;
  const holdMs = Math.min(REFUSED_HOLD_MS_MAX, Math.max(growth.holdMs, Math.ceil(at - cutAt)));
  return { ...growth, heldUntil: at + holdMs, holdMs };
}

/** One connection beyond the ceiling has worked for long enough: the ceiling is higher, and in the end forgotten. */
function afterTrial(growth: Growth, { at }: Round): Growth {
  const { connections, ceiling, holdMs } = growth;
  if (ceiling === null || connections <= ceiling || isHeld(growth, at)) return growth;
  if (holdMs <= HOLD_MS) return { ...growth, ceiling: null, heldUntil: null, holdMs: HOLD_MS };
  return { ...growth, ceiling: connections, holdMs: halfOf(holdMs) };
}

/** Has enough been gained since the mark? Else the number goes back there. */
function compared(growth: Growth, mark: Mark, round: Round, bounds: Bounds): Growth {
  const { connections, enough, enoughMs } = growth;
  const best = Math.max(mark.best, round.rate);
  const rounds = mark.rounds + 1;
  if (best >= mark.rate * (1 + GAIN_MIN * (connections / mark.connections - 1))) {
    const isPassed = enough !== null && connections > enough;
    const free = isPassed ? { ...growth, enough: null, enoughMs: HOLD_MS } : growth;
    return raised(free, markAt(connections, best), round, bounds);
  }
  if (rounds < ROUNDS_COMPARED) return { ...growth, mark: { ...mark, best, rounds } };
  const back = { connections: mark.connections, enough: mark.connections, mark: markAt(mark.connections, mark.rate) };
  return { ...growth, ...back, enoughUntil: round.at + enoughMs, enoughMs: Math.min(HOLD_MS_MAX, enoughMs * 2) };
}

function raised(growth: Growth, mark: Mark, { at }: Round, bounds: Bounds): Growth {
  const step = Math.max(STEP_MIN, bounds.processes);
  const limit = limitOf(growth, at, bounds);
  const connections = Math.max(growth.connections, Math.min(growth.connections + step, limit));
  const isTrial = growth.ceiling !== null && growth.connections <= growth.ceiling && connections > growth.ceiling;
  const heldUntil = isTrial ? at + TRIAL_MS : growth.heldUntil;
  return { ...growth, connections, heldUntil, mark: { ...mark, best: 0, rounds: 0 } };
}

/** The first step beyond a ceiling, or beyond what was enough, is a single connection. */
function limitOf(growth: Growth, at: number, { max }: Bounds): number {
  const { connections, ceiling, enough, enoughUntil } = growth;
  let limit = max;
  if (ceiling !== null) limit = Math.min(limit, isHeld(growth, at) ? ceiling : ceiling + 1);
  if (enough !== null && at < enoughUntil) limit = Math.min(limit, enough);
  else if (enough !== null && connections <= enough) limit = Math.min(limit, enough + 1);
  return limit;
}

const isHeld = ({ heldUntil }: Growth, at: number): boolean => heldUntil === null || at < heldUntil;
const markAt = (connections: number, rate: number): Mark => ({ connections, rate, best: 0, rounds: 0 });
const halfOf = (holdMs: number): number => Math.max(HOLD_MS, Math.ceil(holdMs / 2));
