/** The judge of the chaos runs must see what is broken: each case is a whole history with one fault in it. */
import { expect, test } from 'vitest';
import type { FinalRow, HistoryEvent, Snapshot } from './history.ts';
import { judge } from './judge.ts';

const people = ['a@example.org', 'b@example.org'];
const taken = (to: string, messageId = `<${to}>`): HistoryEvent => ({ kind: 'accepted', to, messageId });
const row = (email: string, more: Partial<FinalRow> = {}): FinalRow => {
  return { kind: 'row', email, state: 'sent', ambiguousCount: 0, attempts: 1, ...more };
};
const snapshot = (more: Partial<Snapshot> = {}): Snapshot => ({
  kind: 'snapshot',
  status: 'sending',
  rows: { sent: 1, queued: 1 },
  counters: { audience: 2, open: 1, sent: 1, failed: 0, skipped: 0, suppressed: 0, unknown: 0 },
  ...more,
});
const plan = (policy: 'park' | 'retry'): HistoryEvent => {
  return { kind: 'plan', seed: 1, policy, recipients: 2, inFlightMax: 1, scenario: 'kills' };
};

interface Changes {
  readonly policy?: 'park' | 'retry';
  readonly accepted?: readonly HistoryEvent[];
  readonly rows?: readonly HistoryEvent[];
  readonly more?: readonly HistoryEvent[];
  readonly status?: string;
}

function broken({ policy = 'retry', accepted, rows, more = [], status = 'done' }: Changes): string[] {
  const events: HistoryEvent[] = [
    plan(policy),
    ...(accepted ?? people.map((email) => taken(email))),
    snapshot(),
    ...more,
    ...(rows ?? people.map((email) => row(email))),
    { kind: 'ended', status },
  ];
  return judge(events).flatMap((verdict) => (verdict.holds ? [] : [verdict.row]));
}

const kill: HistoryEvent = { kind: 'killed', what: 'worker' };
const [first = '', second = ''] = people;

test('a run in which all went well holds', () => {
  expect(broken({})).toEqual([]);
});

test.each<[string, Changes, string[]]>([
  ['somebody said to be sent got nothing', { accepted: [taken(first)] }, ['A1']],
  ["somebody failed of nobody's fault", { rows: [row(first), row(second, { state: 'failed' })] }, ['A1']],
  ['a second copy nobody was in doubt about', { accepted: [...people, first].map((to) => taken(to)) }, ['A3']],
  [
    'more in doubt than were in flight',
    { rows: people.map((email) => row(email, { ambiguousCount: 1 })), more: [kill] },
    ['A2'],
  ],
  [
    'two Message-IDs for one person',
    {
      accepted: [taken(first), taken(second), taken(first, '<other>')],
      rows: [row(first, { ambiguousCount: 1 }), row(second)],
      more: [kill],
    },
    ['ledger rule 3'],
  ],
  [
    'a second copy though it is parked',
    {
      policy: 'park',
      accepted: [...people, first].map((to) => taken(to)),
      rows: [row(first, { ambiguousCount: 1 }), row(second)],
      more: [kill],
    },
    ['A4'],
  ],
  ['counters that differ from the rows', { more: [snapshot({ rows: { sent: 2 } })] }, ['A9']],
  ['done while somebody is open', { more: [snapshot({ status: 'done' })] }, ['A10']],
  ['an end that is none', { status: 'sending' }, ['A10']],
  ['somebody who is not in the ledger', { rows: [row(first)] }, ['A10']],
  [
    'an acknowledged click that is gone',
    {
      more: [
        { kind: 'acknowledged', what: 'click', id: '1' },
        { kind: 'found', what: 'click', count: 0 },
      ],
    },
    ['H2'],
  ],
  ['an answer that nobody should see', { more: [{ kind: 'wrong-answer', what: '500' }] }, ['H1']],
])('sees %s', (_name, changes, rows) => {
  expect(broken(changes)).toEqual(rows);
});

test('a second copy of one in doubt is explained', () => {
  const accepted = [...people, first].map((to) => taken(to));
  expect(broken({ accepted, rows: [row(first, { ambiguousCount: 1 }), row(second)], more: [kill] })).toEqual([]);
});
