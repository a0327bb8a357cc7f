/** Short histories of flows that change while people are inside (D84): each shows one rule of moves, or of sending those who have finished. */
import type { EntryData, FlowData, Happening, HistoryData, MovesData, NodeData, PersonThere } from './flow-data.ts';
import { after, enter, mail, tagged, waitFor, way, work } from './seldom-histories.ts';

interface Version extends Partial<FlowData> {
  readonly nodes: readonly NodeData[];
  readonly edges: FlowData['edges'];
}

interface Scene {
  readonly versions: readonly Version[];
  readonly happenings: readonly Happening[];
  readonly people?: readonly Readonly<Record<string, string>>[];
  readonly there?: readonly (PersonThere | undefined)[];
  readonly quiet?: HistoryData['quiet'];
}

const ONCE: EntryData = { mode: 'once' };

export function scene({ versions, happenings, people = [{}], there, quiet }: Scene): HistoryData {
  const common = { triggers: [{ type: 'execute' as const }], entry: ONCE, holidays: [], passesMax: 3 };
  const flows = versions.map((one) => ({ ...common, ...one }));
  return { flows, people, happenings, ...(there && { there }), ...(quiet && { quiet }) };
}

/** Nodes one after the other. */
export const line = (...nodes: readonly NodeData[]): Version => ({
  nodes,
  edges: way(['start', ...nodes.map(({ id }) => id)].join(' > ')),
});

const publish = (hours: number, moves: Partial<MovesData> = {}): Happening =>
  after(hours, { do: 'publish', moves: { named: {}, whenAsked: {}, parked: true, ...moves } });
const move = (hours: number): Happening => after(hours, { do: 'move' });
const lastRound = (hours: number): Happening => after(hours, { do: 'move', isLast: true });
const send = (hours: number, node: string): Happening => after(hours, { do: 'send', node });
/** Published and moved at once. */
export const change = (hours: number, moves: Partial<MovesData> = {}): readonly Happening[] => [
  publish(hours, moves),
  move(hours),
];

export function movedHistories(): readonly HistoryData[] {
  return [...waits(), ...targets(), ...works(), ...rounds(), ...parked(), ...finished(), byKeys(), stillInside()];
}

/** The time that somebody has waited counts, and what has not changed waits as it did. */
function waits(): readonly HistoryData[] {
  const morning: NodeData = { id: 'rest', type: 'wait', for: { days: 2 }, at: '09:00' };
  const workday: NodeData = { id: 'rest', type: 'wait', for: { days: 1 }, skipHolidays: true };
  const rest = waitFor('rest', 5);
  const ask: NodeData = {
    id: 'ask',
    type: 'wait_for_event',
    event: { type: 'event', name: 'order' },
    for: { hours: 24 },
    countsFrom: 'arrival',
  };
  const moved = (before: NodeData, next: Version, named: MovesData['named'] = {}) =>
    scene({
      versions: [line(before), next],
      happenings: [enter(0), work(0), ...change(2, { named, whenAsked: named }), work(2), work(6), work(20)],
    });
  return [
    moved(rest, line(waitFor('rest', 10), tagged('end', 'vip'))),
    moved(rest, line(waitFor('rest', 1), tagged('end', 'vip'))),
    moved(rest, line(waitFor('other', 10), tagged('end', 'vip')), { rest: 'other' }),
    moved(rest, line(tagged('end', 'vip'), waitFor('other', 10)), { rest: 'end' }),
    // Of another zone it would end at another time; a wait moves with no zone.
    scene({
      versions: [line(morning), line(morning, tagged('end', 'vip'))],
      people: [{ ZONE: 'Europe/Berlin' }],
      happenings: [
        ...[enter(0), work(0), after(1, { do: 'set', person: 0, field: 'ZONE', value: 'America/New_York' })],
        ...[...change(2), work(2), work(60)],
      ],
    }),
    scene({
      versions: [line(workday), { ...line(workday), holidays: ['2026-03-05'] }],
      happenings: [enter(0), work(0), ...change(2), work(2), work(60)],
    }),
    // In Apia it is night: the mail goes in the morning for which it waits, or now if it is another mail.
    ...[mail('one'), mail('one', { templateUid: 'B' })].map((next) =>
      scene({
        versions: [line(mail('one')), line(next, tagged('end', 'vip'))],
        people: [{ ZONE: 'Pacific/Apia' }],
        quiet: { from: '22:00', to: '07:00' },
        happenings: [enter(0), work(0), ...change(1), work(1), work(20)],
      }),
    ),
    // What came while the person waited elsewhere counts: it has been waited for since.
    scene({
      versions: [line(rest), line(ask)],
      happenings: [
        ...[enter(0), work(0), after(1, { do: 'event', person: 0, name: 'order', payload: {} })],
        ...[...change(2, { whenAsked: { rest: 'ask' } }), work(2), work(30)],
      ],
    }),
    scene({
      versions: [line(rest), line(waitFor('rest', 10))],
      happenings: [
        ...[enter(0), work(0), after(1, { do: 'pause' }), ...change(2), work(6)],
        ...[after(7, { do: 'activate' }), work(8), work(12)],
      ],
    }),
  ];
}

/** Where people go: to the target, to the same node, or nowhere. */
function targets(): readonly HistoryData[] {
  const rest = waitFor('rest', 50);
  const late = after(3, { do: 'execute', person: 1, payload: {}, isLate: true });
  return [
    scene({
      versions: [line(rest), line(rest, waitFor('other', 60))],
      happenings: [enter(0), work(0), ...change(2, { named: { rest: 'other' } }), work(2), work(70)],
    }),
    scene({
      versions: [line(rest), line(tagged('rest', 'vip'), waitFor('more', 60))],
      happenings: [enter(0), work(0), ...change(2, { whenAsked: { rest: 'more' } }), work(2), work(70)],
    }),
    // Nobody was at the node when it was published, so it has no target: who comes there finishes on their version.
    scene({
      versions: [line(waitFor('rest', 5), waitFor('gone', 5), tagged('old', 'vip')), line(waitFor('rest', 5))],
      people: [{}, {}],
      happenings: [
        ...[enter(0), work(0), publish(2), enter(3, 1), work(6), move(7), work(7)],
        ...[lastRound(8), work(12), work(20)],
      ],
    }),
    scene({
      versions: [line(rest), line(waitFor('rest', 20))],
      people: [{}, {}],
      happenings: [...[enter(0), work(0), ...change(2), late, work(3), lastRound(4), work(4), work(30), work(60)]],
    }),
    // A second change waits for the first.
    scene({
      versions: [line(rest), line(waitFor('rest', 20)), line(waitFor('rest', 10))],
      happenings: [enter(0), work(0), publish(1), publish(1), move(2), work(2), ...change(3), work(3), work(12)],
    }),
  ];
}

/** Nothing done is done again. */
function works(): readonly HistoryData[] {
  const rest = waitFor('rest', 5);
  const copy: NodeData = { id: 'go', type: 'copy_to_list', onConflict: 'keep' };
  const set: NodeData = { id: 'set', type: 'set_field', field: 'ENDS', value: '2026-03-20' };
  const again = (before: Version, next: Version, more: Partial<Scene> = {}) =>
    scene({
      versions: [before, next],
      happenings: [enter(0), work(0), ...change(2), work(2), work(6), work(20)],
      ...more,
    });
  return [
    again(line(mail('one'), tagged('mark', 'vip'), rest), line(rest, mail('one'), tagged('mark', 'vip'), mail('two'))),
    again(line(waitFor('first', 1), rest), line(rest, waitFor('first', 1), mail('one')), {
      happenings: [enter(0), ...[0, 1].map(work), ...change(2), ...[2, 6, 6.5, 8, 20].map(work)],
    }),
    // Its work is still to be done.
    again(line(rest, mail('one')), line(waitFor('rest', 1), mail('one'))),
    again(line(mail('one')), line(mail('one', { templateUid: 'C' })), {
      people: [{ ZONE: 'Pacific/Apia' }],
      quiet: { from: '22:00', to: '07:00' },
    }),
    // A wait of the same id was no mail.
    again(line(waitFor('one', 1), rest), line(rest, mail('one')), {
      happenings: [enter(0), ...[0, 1].map(work), ...change(2), ...[2, 6, 20].map(work)],
    }),
    // Moved once more before it was passed over.
    scene({
      versions: [
        line(mail('one'), waitFor('gone', 50)),
        line(mail('one'), rest),
        line(mail('one'), waitFor('rest', 9)),
      ],
      happenings: [enter(0), work(0), ...change(2, { whenAsked: { gone: 'one' } }), ...change(2), work(2), work(20)],
    }),
    // The field has the person's own date since.
    again(line(set, rest), line(rest, set, { id: 'until', type: 'wait_until', field: 'ENDS', at: '09:00' }), {
      happenings: [
        ...[enter(0), work(0), after(1, { do: 'set', person: 0, field: 'ENDS', value: '2026-03-12' })],
        ...[...change(2), work(2), work(6), work(200)],
      ],
    }),
    // What failed is not done: it fails once more, and nothing leads on.
    again(
      { nodes: [copy, rest, tagged('end', 'vip')], edges: way('start > go > end', 'go.error > rest') },
      line(rest, copy),
      { there: [{ status: 'unsubscribed', tags: [], level: '' }] },
    ),
  ];
}

/** Ways round go on with their passes. */
function rounds(): readonly HistoryData[] {
  const rest = waitFor('rest', 5);
  const round = { nodes: [mail('one'), rest], edges: way('start > one > rest > one') };
  const later = { nodes: [rest, mail('one')], edges: way('start > rest > one > rest') };
  const works = (...hours: readonly number[]) => hours.map(work);
  return [
    scene({
      versions: [round, { ...round, passesMax: 4 }],
      happenings: [enter(0), ...works(0, 6), ...change(7), ...works(12, 18, 24, 30)],
    }),
    scene({
      versions: [line(mail('one'), rest), round],
      happenings: [enter(0), work(0), ...change(2), ...works(6, 12, 18, 24)],
    }),
    // It is no way round any more: what was done is done.
    scene({
      versions: [
        { nodes: [tagged('one', 'vip'), rest], edges: way('start > one > rest > one') },
        line(tagged('one', 'vip')),
      ],
      happenings: [enter(0), ...works(0), ...change(2, { whenAsked: { rest: 'one' } }), ...works(6, 12)],
    }),
    // A way round that is none for a while, and one that changes before the person has come there.
    scene({
      versions: [round, line(rest), round],
      happenings: [enter(0), work(0), ...change(1), ...change(2), ...works(6, 12, 18, 24)],
    }),
    scene({
      versions: [line(mail('one'), rest), later, { ...later, nodes: [waitFor('rest', 9), mail('one')] }],
      happenings: [enter(0), work(0), ...change(1), ...change(2), ...works(12, 24, 36, 48)],
    }),
    // Passes bar ways round only.
    scene({
      versions: [
        { nodes: [waitFor('one', 1), waitFor('two', 1)], edges: way('start > one > two > one') },
        { ...line(waitFor('one', 1), waitFor('two', 1), tagged('end', 'vip')), passesMax: 1 },
      ],
      happenings: [enter(0), ...works(0, 1, 2, 3, 4), ...change(4.5), ...works(5, 6, 7)],
    }),
    // The person is at the mail for the second time, and it still waits for the end of quiet hours.
    scene({
      versions: [round, line(mail('one', { templateUid: 'C' }))],
      people: [{ ZONE: 'Pacific/Apia' }],
      quiet: { from: '04:00', to: '06:00' },
      happenings: [enter(0), ...works(0, 6), ...change(6.5), ...works(6.5, 9, 20)],
    }),
    scene({
      versions: [line(waitFor('gone', 50)), { ...round, passesMax: 1 }],
      happenings: [enter(0), work(0), ...change(2, { whenAsked: { gone: 'one' } }), ...works(2, 8, 14)],
    }),
    scene({
      versions: [round, { ...round, nodes: [mail('one'), waitFor('rest', 10)], passesMax: 2 }],
      happenings: [enter(0), work(0), ...change(2), ...works(11, 22, 33)],
    }),
  ];
}

/** Who is parked stays parked, at the target or in their version. */
function parked(): readonly HistoryData[] {
  const copy: NodeData = { id: 'go', type: 'copy_to_list', onConflict: 'keep' };
  return [true, false].map((isMoved) =>
    scene({
      versions: [line(copy, waitFor('rest', 5)), line(tagged('mark', 'vip'), waitFor('rest', 9))],
      people: [{}, {}],
      there: [{ status: 'unsubscribed', tags: [], level: '' }, undefined],
      happenings: [
        ...[enter(0), enter(0, 1), work(0), ...change(2, { whenAsked: { go: 'mark' }, parked: isMoved }), work(6)],
        ...[after(7, { do: 'unsubscribe', person: 0 }), work(8), work(20)],
      ],
    }),
  );
}

/** Who has finished is let in by no change, and may be sent to a node. */
function finished(): readonly HistoryData[] {
  const rest = waitFor('rest', 5);
  const first = line(tagged('one', 'vip'));
  const longer = line(tagged('one', 'vip'), mail('two'), rest);
  return [
    // 0 finishes, 1 is on the list no more, 2 is suppressed, 3 comes to the new version and finishes that.
    scene({
      versions: [first, longer],
      people: [{}, {}, {}, {}],
      happenings: [
        ...[enter(0), enter(0, 1), enter(0, 2), work(0), send(0, 'one')],
        ...[after(1, { do: 'unsubscribe', person: 1 }), after(1, { do: 'suppress', person: 2 })],
        ...[...change(2), enter(2, 3), work(2), work(8), send(9, 'two'), work(9), send(10, 'two'), work(20)],
      ],
    }),
    // What was done for them is not done again.
    scene({
      versions: [first, longer],
      happenings: [enter(0), work(0), ...change(2), send(3, 'one'), work(3), work(9)],
    }),
    scene({
      versions: [line(mail('one')), line(mail('one'), rest), line(rest, mail('one'))],
      happenings: [enter(0), work(0), ...change(1), send(2, 'rest'), work(2), ...change(3), work(8)],
    }),
    // By an exit they have left, not finished; who is inside has not finished either.
    scene({
      versions: [
        { ...line(waitFor('rest', 50)), exits: [{ id: 'away', person: { tags: { hasAny: ['vip'] } } }] },
        line(waitFor('rest', 60), mail('two')),
      ],
      people: [{}, {}],
      happenings: [
        ...[enter(0), enter(0, 1), work(0), after(1, { do: 'tag', person: 0, tag: 'vip' }), work(1)],
        ...[after(2, { do: 'publish' }), send(3, 'two'), work(3), work(70), send(71, 'two'), work(72)],
      ],
    }),
    // Who has come back is inside.
    scene({
      versions: [
        { ...line(tagged('one', 'vip')), entry: { mode: 'after_end' } },
        { ...line(tagged('one', 'vip'), waitFor('rest', 50)), entry: { mode: 'after_end' } },
      ],
      happenings: [
        ...[enter(0), work(0), ...change(1), enter(2), work(2), send(3, 'one'), work(3)],
        ...[after(4, { do: 'pause' }), send(5, 'rest'), work(6)],
      ],
    }),
    scene({
      versions: [first, longer],
      happenings: [
        ...[enter(0), work(0), ...change(1), after(2, { do: 'pause' }), send(3, 'two'), work(3)],
        ...[after(4, { do: 'activate' }), work(4), send(5, 'rest'), work(5), work(20)],
      ],
    }),
  ];
}

/** Of several keys the last run counts; who has been in the live version by any of them is not sent. */
function byKeys(): HistoryData {
  const entry: EntryData = { mode: 'per_key', key: 'cart' };
  const ofCart = (hours: number, person: number, cart: string) => enter(hours, person, { cart });
  return scene({
    versions: [
      { ...line(tagged('one', 'vip')), entry },
      { ...line(tagged('one', 'vip'), tagged('two', 'old')), entry },
    ],
    people: [{}, {}],
    happenings: [
      ...[ofCart(0, 0, 'a'), ofCart(0, 0, 'b'), ofCart(0, 1, 'a'), work(0), ...change(1), ofCart(2, 1, 'b'), work(2)],
      ...[send(3, 'one'), work(3)],
    ],
  });
}

/** Who is inside by an earlier entry has not finished, though the last one has ended. */
function stillInside(): HistoryData {
  const ask: NodeData = { id: 'ask', type: 'condition', if: { payload: { path: 'total', isPresent: true } } };
  const asking = {
    nodes: [ask, waitFor('long', 120)],
    edges: way('start > ask', 'ask.yes > long'),
    entry: { mode: 'after_days', days: 1 } as const,
  };
  return scene({
    versions: [asking, { ...line(waitFor('rest', 5)), entry: asking.entry }],
    happenings: [
      ...[enter(0, 0, { total: 10 }), work(0), enter(30), work(30), after(31, { do: 'publish' }), send(32, 'rest')],
      ...[work(32), work(130), send(131, 'rest'), work(131), work(140)],
    ],
  });
}
