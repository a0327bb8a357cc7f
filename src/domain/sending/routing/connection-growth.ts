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
/** After a failed growth the next one waits; each further one twice as long. */
const HOLD_MS = 2_000;
const HOLD_MS_MAX = 600_000;
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
  /** More were too many, or sent no more; null: not known. */
  readonly ceiling: number | null;
  /** Until then the number stays at or below the ceiling. */
  readonly heldUntil: number;
  /** How long the next failed growth holds. */
  readonly holdMs: number;
  /** The latest cut. What began before says nothing about the number after it. */
  readonly cutAt: number;
  readonly mark: Mark | null;
}

/** The server's largest number, and how many processes share it. */
export interface Bounds {
  readonly max: number;
  readonly processes: number;
}

/** What one round showed (sending-round.ts). */
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
    ceiling: null,
    heldUntil: -Infinity,
    holdMs: HOLD_MS,
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
  const now = { ...growth, connections };
  // With less to send, rates say nothing about the number.
  if (!round.wasFull) return { ...now, mark: null };
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
  const cut = { ...growth, connections: connectionsWithin(Math.floor(before / 2), max), cutAt: at, mark: null };
  // A server that is down refuses any number.
  if (!hasAccepted) return cut;
  const isRepeated = growth.ceiling !== null && before > growth.ceiling;
  const holdMs = isRepeated ? growth.holdMs : HOLD_MS;
  return { ...cut, ceiling: connectionsWithin(before - 1, max), heldUntil: at + holdMs, holdMs: longer(holdMs) };
}

/** Has enough been gained since the mark? Else the number goes back there. */
function compared(growth: Growth, mark: Mark, round: Round, bounds: Bounds): Growth {
  const { connections } = growth;
  const best = Math.max(mark.best, round.rate);
  const rounds = mark.rounds + 1;
  if (best >= mark.rate * (1 + GAIN_MIN * (connections / mark.connections - 1))) {
    const isPassed = growth.ceiling !== null && connections > growth.ceiling;
    const free = isPassed ? { ...growth, ceiling: null, holdMs: HOLD_MS } : growth;
    return raised(free, markAt(connections, best), round, bounds);
  }
  if (rounds < ROUNDS_COMPARED) return { ...growth, mark: { ...mark, best, rounds } };
  const back = { connections: mark.connections, ceiling: mark.connections, mark: markAt(mark.connections, mark.rate) };
  return { ...growth, ...back, heldUntil: round.at + growth.holdMs, holdMs: longer(growth.holdMs) };
}

function raised(growth: Growth, mark: Mark, { at }: Round, bounds: Bounds): Growth {
  const step = Math.max(STEP_MIN, bounds.processes);
  const limit = limitOf(growth, at, bounds);
  const connections = Math.max(growth.connections, Math.min(growth.connections + step, limit));
  return { ...growth, connections, mark: { ...mark, best: 0, rounds: 0 } };
}

/** The first step beyond a ceiling is a single connection. */
function limitOf({ connections, ceiling, heldUntil }: Growth, at: number, { max }: Bounds): number {
  if (ceiling === null) return max;
  if (at < heldUntil) return Math.min(max, ceiling);
  return connections <= ceiling ? Math.min(max, ceiling + 1) : max;
}

const markAt = (connections: number, rate: number): Mark => ({ connections, rate, best: 0, rounds: 0 });
const longer = (holdMs: number): number => Math.min(HOLD_MS_MAX, holdMs * 2);
