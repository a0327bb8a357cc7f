/** Reads a history and says which promises held (rows of the reliability table in docs/reliability.md). */
import type { FinalRow, HistoryEvent, Snapshot } from './history.ts';

export interface Verdict {
  readonly row: string;
  readonly promise: string;
  readonly measured: string;
  readonly holds: boolean;
}

type Of<Kind extends HistoryEvent['kind']> = Extract<HistoryEvent, { kind: Kind }>;

/** Judges a whole history. A history without an end is judged as a run that never ended. */
export function judge(events: readonly HistoryEvent[]): Verdict[] {
  const of = <Kind extends HistoryEvent['kind']>(kind: Kind): Of<Kind>[] =>
    events.filter((event): event is Of<Kind> => event.kind === kind);
  const plan = of('plan')[0];
  if (!plan) throw new Error('This is no history: it has no plan.');
  const rows = of('row');
  const copies = countCopies(of('accepted'));
  // Each death of a sender, and each fault of the receiver, may leave what is in flight in doubt.
  const disturbances = of('killed').length + of('died').length + of('fault').length;
  return [
    ended(of('ended')[0], rows, plan.recipients),
    nobodyLost(rows, copies),
    ...doubled(plan, { rows, copies, disturbances }),
    sameMessageId(of('accepted')),
    addsUp(of('snapshot')),
    neverFinishedEarly(of('snapshot')),
    ...kept(of('acknowledged'), of('found')),
    noWrongAnswers(of('wrong-answer')),
  ];
}

function countCopies(accepted: readonly Of<'accepted'>[]): Map<string, number> {
  const copies = new Map<string, number>();
  for (const { to } of accepted) copies.set(to, (copies.get(to) ?? 0) + 1);
  return copies;
}

function ended(end: Of<'ended'> | undefined, rows: readonly FinalRow[], recipients: number): Verdict {
  // People who were added while it was planned may be in it too.
  const open = rows.filter(({ state }) => ['queued', 'leased', 'sending'].includes(state)).length;
  const holds = end?.status === 'done' && open === 0 && rows.length >= recipients;
  const measured = `${end?.status ?? 'did not end'}, ${rows.length} for ${recipients} in the ledger, ${open} open`;
  return { row: 'A10', promise: 'ends as done, nothing open', measured, holds };
}

function nobodyLost(rows: readonly FinalRow[], copies: ReadonlyMap<string, number>): Verdict {
  const lost = rows.filter(({ state, email }) => state === 'sent' && !copies.has(email)).length;
  const unserved = rows.filter(({ state }) => !['sent', 'unknown'].includes(state)).length;
  const measured = `${lost} said to be sent and not received, ${unserved} neither sent nor listed as unknown`;
  return { row: 'A1', promise: 'nobody is lost', measured, holds: lost === 0 && unserved === 0 };
}

interface Delivered {
  readonly rows: readonly FinalRow[];
  readonly copies: ReadonlyMap<string, number>;
  readonly disturbances: number;
}

function doubled(plan: Of<'plan'>, { rows, copies, disturbances }: Delivered): Verdict[] {
  const counts = [...copies.values()];
  const twice = counts.filter((count) => count > 1).length;
  const most = Math.max(0, ...counts);
  const unexplained = rows.filter((row) => (copies.get(row.email) ?? 0) > 1 + row.ambiguousCount).length;
  const parked = rows.filter(({ state }) => state === 'unknown').length;
  const withUnknownOutcome = rows.reduce((sum, row) => sum + row.ambiguousCount, 0);
  const unknownMax = plan.inFlightMax * disturbances;
  const explained: Verdict = {
    row: 'A3',
    promise: 'each second copy is one that the ledger counts as in doubt',
    measured: `${unexplained} unexplained; ${twice} people got more than one, at most ${most} copies`,
    holds: unexplained === 0,
  };
  const bounded: Verdict = {
    row: 'A2',
    promise: `in doubt at most ${plan.inFlightMax} a disturbance`,
    measured: `${withUnknownOutcome} in ${disturbances} disturbances (at most ${unknownMax})`,
    holds: withUnknownOutcome <= unknownMax,
  };
  if (plan.policy === 'retry') return [bounded, explained];
  const parking: Verdict = {
    row: 'A4',
    promise: 'policy park never doubles, and lists each that is in doubt',
    measured: `${twice} doubled, ${parked} parked`,
    holds: twice === 0,
  };
  return [bounded, explained, parking];
}

function sameMessageId(accepted: readonly Of<'accepted'>[]): Verdict {
  const ids = new Map<string, Set<string>>();
  for (const { to, messageId } of accepted) ids.set(to, (ids.get(to) ?? new Set()).add(messageId));
  const several = [...ids.values()].filter((set) => set.size > 1 || set.has('')).length;
  const promise = 'all attempts at a person have one Message-ID';
  return { row: 'ledger rule 3', promise, measured: `${several} with several or none`, holds: several === 0 };
}

function addsUp(snapshots: readonly Snapshot[]): Verdict {
  const wrong = snapshots.filter((snapshot) => !isBalanced(snapshot)).length;
  const measured = `${wrong} of ${snapshots.length} snapshots do not add up`;
  return { row: 'A9', promise: 'counters equal the ledger at every instant', measured, holds: wrong === 0 };
}

function isBalanced({ rows, counters }: Snapshot): boolean {
  if (counters === null) return Object.keys(rows).length === 0;
  const count = (...states: string[]): number => states.reduce((sum, state) => sum + (rows[state] ?? 0), 0);
  const total = Object.values(rows).reduce((sum, value) => sum + value, 0);
  const ends = ['sent', 'failed', 'skipped', 'suppressed', 'unknown'];
  return (
    counters['audience'] === total &&
    counters['open'] === count('queued', 'leased', 'sending') &&
    ends.every((state) => counters[state] === count(state))
  );
}

function neverFinishedEarly(snapshots: readonly Snapshot[]): Verdict {
  const early = snapshots.filter(
    ({ status, rows }) => status === 'done' && ['queued', 'leased', 'sending'].some((state) => (rows[state] ?? 0) > 0),
  ).length;
  return { row: 'A10', promise: 'never done while a row is open', measured: `${early} times`, holds: early === 0 };
}

/** Whatever was acknowledged must be there; more may be: an answer can get lost on its way. */
function kept(acknowledged: readonly Of<'acknowledged'>[], found: readonly Of<'found'>[]): Verdict[] {
  return found.map(({ what, count }) => {
    const promised = acknowledged.filter((event) => event.what === what).length;
    const promise = `every acknowledged ${what} is there`;
    return { row: 'H2', promise, measured: `${promised} acknowledged, ${count} there`, holds: count >= promised };
  });
}

function noWrongAnswers(wrong: readonly Of<'wrong-answer'>[]): Verdict {
  const measured = wrong.length === 0 ? 'none' : `${wrong.length}, the first: ${wrong[0]?.what}`;
  const promise = 'clients see success, 503 or 507, or a lost connection';
  return { row: 'H1', promise, measured, holds: wrong.length === 0 };
}
