/** What the draw brings too seldom: each change of clocks for a person of each zone, entries without end, and what a rule needs to be seen at all. */
import type { EntryData, FlowData, Happening, HistoryData, NodeData, PersonThere, TimedTrigger } from './flow-data.ts';

const HOUR_MS = 3_600_000;
/** Clocks change in New York on the 8th, in Berlin on the 29th of March, on Lord Howe Island (by half an hour) on the 5th of April. */
export const BEGIN = Date.parse('2026-03-04T10:00:00Z');
export const ZONES = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'Pacific/Apia'];
/** Local times that clocks in one of the zones skip or show twice, and a day that has passed. */
export const CLOCK_CHANGES = [
  { date: '2026-03-08', at: '02:30' },
  { date: '2026-03-29', at: '02:30' },
  { date: '2026-10-04', at: '02:15' },
  { date: '2026-04-05', at: '01:45' },
  { date: '2026-10-25', at: '02:30' },
  { date: '2026-11-01', at: '01:30' },
  { date: '2026-03-01', at: '09:00' },
];

type Change = Happening extends infer One ? (One extends Happening ? Omit<One, 'at'> : never) : never;
export const after = (hours: number, one: Change): Happening => Object.assign({ at: BEGIN + hours * HOUR_MS }, one);
export const enter = (hours: number, person = 0, payload = {}): Happening =>
  after(hours, { do: 'execute', person, payload });
export const work = (hours: number): Happening => after(hours, { do: 'work' });
export const works = (...hours: readonly number[]) => hours.map(work);

/** `a > b.port > c`: an edge for each arrow. */
export const way = (...ways: readonly string[]) =>
  ways.flatMap((one) => {
    const stops = one.split(' > ');
    return stops.slice(1).map((to, no) => {
      const [from = '', port = 'next'] = (stops[no] ?? '').split('.');
      return { from, port, to: to.split('.')[0] ?? '' };
    });
  });

interface Scene {
  readonly nodes: readonly NodeData[];
  readonly edges: FlowData['edges'];
  readonly happenings: readonly Happening[];
  readonly entry?: EntryData;
  readonly more?: Partial<FlowData>;
  readonly people?: readonly Readonly<Record<string, string>>[];
  readonly there?: readonly (PersonThere | undefined)[];
  readonly quiet?: HistoryData['quiet'];
}

function scene({
  nodes,
  edges,
  happenings,
  entry = { mode: 'once' },
  more = {},
  people = [{}],
  there,
  quiet,
}: Scene): HistoryData {
  const flow = { triggers: [{ type: 'execute' as const }], holidays: [], passesMax: 3, entry, nodes, edges, ...more };
  return { flows: [flow], people, happenings, ...(there && { there }), ...(quiet && { quiet }) };
}

export const waitFor = (id: string, hours: number): NodeData => ({ id, type: 'wait', for: { hours } });
export const mail = (id: string, more: object = {}): NodeData => ({ id, type: 'send_mail', templateUid: 'A', ...more });
export const tagged = (id: string, tag: string): NodeData => ({ id, type: 'add_tag', tag });

export function seldomHistories(): readonly HistoryData[] {
  return [...clocks(), ...entries(), ...mails(), ...acts(), ...changes(), ...dates()];
}

function clocks(): readonly HistoryData[] {
  return CLOCK_CHANGES.map((change) =>
    scene({
      nodes: [{ id: 'n0', type: 'wait_until', ...change }],
      edges: way('start > n0'),
      people: ZONES.map((ZONE) => ({ ZONE })),
      happenings: [...ZONES.map((_, person) => enter(0, person)), work(0)],
    }),
  );
}

function entries(): readonly HistoryData[] {
  const end: NodeData = { id: 'n0', type: 'end' };
  const asks: NodeData = {
    id: 'n0',
    type: 'condition',
    if: { person: { field: { tag: 'LEVEL', text: { is: 'Gold' } } } },
  };
  return [
    scene({
      nodes: [asks],
      edges: way('start > n0'),
      people: [{ LEVEL: 'gold' }, { LEVEL: 'Silver' }],
      happenings: [enter(0), enter(0, 1), work(0)],
    }),
    scene({
      nodes: [tagged('mark', 'vip'), { id: 'n0', type: 'condition', if: { person: { tags: { hasAny: ['VIP'] } } } }],
      edges: way('start > mark > n0'),
      happenings: [enter(0), work(0)],
    }),
    // Both variants lead back, and one pass is all.
    scene({
      nodes: [
        waitFor('rest', 5),
        {
          ...{ id: 'n0', type: 'split' },
          variants: [
            { name: 'a', percent: 50 },
            { name: 'b', percent: 50 },
          ],
        },
      ],
      edges: way('start > rest > n0.variant:a > rest', 'n0.variant:b > rest'),
      more: { passesMax: 1 },
      happenings: [enter(0), work(0), work(6)],
    }),
    scene({
      nodes: [end],
      edges: way('start > n0'),
      entry: { mode: 'after_end' },
      happenings: Array.from({ length: 22 }, () => [enter(0), work(0)]).flat(),
    }),
  ];
}

/** Who gets which mail when, and who none (D80 to D82). */
function mails(): readonly HistoryData[] {
  const leave: NodeData = { id: 'out', type: 'unsubscribe' };
  return [
    scene({
      nodes: [
        leave,
        mail('late'),
        mail('bye', { isGoodbye: true }),
        waitFor('rest', 2),
        mail('again', { isGoodbye: true }),
      ],
      edges: way('start > out > late > bye > rest > again'),
      happenings: [enter(0), work(0), after(1, { do: 'suppress', person: 0 }), work(3)],
    }),
    scene({
      nodes: [
        mail('one'),
        waitFor('rest', 30),
        mail('two', { notAgainWithinDays: 2 }),
        waitFor('more', 30),
        mail('three', { notAgainWithinDays: 2 }),
      ],
      edges: way('start > one > rest > two > more > three'),
      happenings: [enter(0), work(0), work(31), work(62)],
    }),
    scene({
      nodes: [mail('one'), waitFor('rest', 5)],
      edges: way('start > one > rest > one'),
      happenings: [enter(0), work(0), work(6), work(12), work(18)],
    }),
    // In Berlin it is 11 o’clock, in Apia it is night.
    scene({
      nodes: [mail('one'), mail('two', { templateUid: 'B' }), mail('three')],
      edges: way('start > two > one > three'),
      people: [{ ZONE: 'Europe/Berlin' }, { ZONE: 'Pacific/Apia' }, { ZONE: 'Asia/Kolkata' }],
      quiet: { from: '22:00', to: '07:00' },
      happenings: [...[0, 1, 2].map((person) => enter(0, person)), work(0), work(10), work(20), work(30)],
    }),
    // Two runs of one person wait for the same morning, each until a time of its own.
    scene({
      nodes: [mail('one')],
      edges: way('start > one'),
      entry: { mode: 'after_days', days: 1 },
      quiet: { from: '22:00', to: '07:00' },
      happenings: [enter(0), enter(24), work(32), work(41)],
    }),
  ];
}

/** Opens, clicks and events end waits, answer conditions, and are goals and exits (D77 to D79). */
function acts(): readonly HistoryData[] {
  const act = (hours: number, what: 'open' | 'click', more: { person?: number; isMachine?: boolean } = {}): Happening =>
    after(hours, { do: what, person: 0, node: 'one', isMachine: false, ...more });
  const order = (hours: number, payload = {}, name = 'order'): Happening =>
    after(hours, { do: 'event', person: 0, name, payload });
  const awaits = (event: object, more: object = {}): NodeData =>
    Object.assign(
      {
        id: 'ask',
        type: 'wait_for_event' as const,
        for: { hours: 24 },
        countsFrom: 'arrival' as const,
        event: { type: 'event' as const, name: 'order' },
      },
      { event },
      more,
    );
  const after5 = (event: object, more: object, happenings: readonly Happening[], entry: EntryData = { mode: 'once' }) =>
    scene({
      nodes: [mail('one'), waitFor('rest', 5), awaits(event, more), tagged('yes', 'got'), tagged('no', 'none')],
      edges: way('start > one > rest > ask > yes', 'ask.timeout > no'),
      entry,
      happenings: [enter(0, 0, { cart: 'a' }), work(0), ...happenings, work(31)],
    });
  const isOrder = { type: 'event', name: 'order' };
  const questions = [
    ['opened', { opened: { mail: 'one' } }],
    ['clicked', { clicked: { mail: 'one' } }],
    ['machine', { opened: { mail: 'one', machines: true } }],
  ] as const;
  const asking = [[act(1, 'open', { isMachine: true })], [act(1, 'open')], [act(1, 'click')], []].map((happenings) =>
    scene({
      nodes: [
        mail('one'),
        waitFor('rest', 5),
        ...questions.map(([id, question]): NodeData => ({ id, type: 'condition', if: question })),
      ],
      edges: way(
        'start > one > rest > opened > clicked > machine',
        'opened.yes > clicked',
        'opened.no > clicked',
        'clicked.yes > machine',
        'clicked.no > machine',
      ).filter(({ from, port }) => !(['opened', 'clicked'].includes(from) && port === 'next')),
      happenings: [enter(0), work(0), ...happenings, work(6)],
    }),
  );
  // Only the first of two mails of the same node is opened.
  const passes = scene({
    nodes: [
      mail('one'),
      waitFor('rest', 5),
      { id: 'opened', type: 'condition', if: { opened: { mail: 'one' } } },
      waitFor('more', 5),
    ],
    edges: way('start > one > rest > opened', 'opened.yes > more', 'more > one'),
    happenings: [enter(0), work(0), act(1, 'open'), work(6), work(12), work(18)],
  });
  return [
    ...asking,
    passes,
    after5({ type: 'clicked' }, {}, [work(6), act(7, 'click')]),
    after5({ type: 'opened', mail: 'one' }, { countsFrom: 'entry' }, [act(1, 'open'), work(6)]),
    after5(isOrder, {}, [order(1), work(6), order(7, {}, 'visit'), work(8)]),
    after5(isOrder, { countsFrom: 'entry' }, [order(1), work(6)]),
    after5(isOrder, {}, [work(6), order(9)]),
    after5({ ...isOrder, where: [{ path: 'total', number: { gte: 50 } }] }, {}, [work(6), order(9, { total: 10 })]),
    after5({ ...isOrder, sameKey: true }, {}, [work(6), order(9, { cart: 'b' })], { mode: 'per_key', key: 'cart' }),
    // While the flow is stopped nobody reads: the look back finds it.
    after5(isOrder, {}, [work(6), after(7, { do: 'pause' }), order(8), after(9, { do: 'activate' })]),
    after5(isOrder, {}, [work(6), order(30)]),
    scene({
      nodes: [waitFor('rest', 5), mail('one')],
      edges: way('start > rest > one'),
      more: {
        goals: [{ id: 'bought', event: { type: 'event', name: 'order' } }],
        exits: [{ id: 'away', event: { type: 'event', name: 'order' } }],
      },
      people: [{}, {}],
      happenings: [
        enter(0),
        enter(0, 1),
        work(0),
        order(1),
        after(1, { do: 'pause' }),
        after(2, { do: 'event', person: 1, name: 'order', payload: {} }),
        after(3, { do: 'activate' }),
        work(6),
      ],
    }),
    scene({
      nodes: [tagged('mark', 'vip'), mail('one'), waitFor('rest', 5)],
      edges: way('start > mark > one > rest'),
      more: { exits: [{ id: 'is-vip', person: { tags: { hasAny: ['vip'] } } }] },
      happenings: [enter(0), work(0)],
    }),
    scene({
      nodes: [waitFor('rest', 50), mail('one')],
      edges: way('start > rest > one'),
      more: { exits: [{ id: 'is-vip', person: { tags: { hasAny: ['vip'] } } }] },
      happenings: [enter(0), work(0), after(1, { do: 'tag', person: 0, tag: 'VIP' }), work(60)],
    }),
  ];
}

/** Changed dates, people who go while the flow is stopped or they are parked, and other lists (D76, D80, D85, D98). */
function changes(): readonly HistoryData[] {
  const until: NodeData = { id: 'until', type: 'wait_until', field: 'ENDS', at: '09:00' };
  const set = (hours: number, field: string, value: string): Happening =>
    after(hours, { do: 'set', person: 0, field, value });
  const dated = (happenings: readonly Happening[]) =>
    scene({
      nodes: [until, tagged('came', 'vip')],
      edges: way('start > until > came'),
      people: [{ ENDS: '2026-03-20', ZONE: 'Europe/Berlin' }],
      happenings: [enter(0), work(0), ...happenings, work(60), work(400)],
    });
  const copies = (['keep', 'overwrite', 'fill_empty'] as const).flatMap((onConflict) =>
    (['copy_to_list', 'move_to_list'] as const).map((type) =>
      scene({
        nodes: [tagged('mark', 'vip'), { id: 'go', type, onConflict }, waitFor('rest', 5), mail('one')],
        edges: way('start > mark > go > rest > one'),
        people: [{ LEVEL: 'gold' }, { LEVEL: 'gold' }, { LEVEL: 'gold' }, {}, { LEVEL: 'gold' }],
        there: [
          undefined,
          { status: 'subscribed', tags: ['old'], level: 'none' },
          { status: 'subscribed', tags: ['VIP'], level: '' },
          { status: 'subscribed', tags: [], level: 'none' },
          { status: 'unsubscribed', tags: [], level: '' },
        ],
        happenings: [
          ...[0, 1, 2, 3, 4].map((person) => enter(0, person)),
          work(0),
          after(1, { do: 'unsubscribe', person: 4 }),
          after(2, { do: 'delete', person: 0 }),
          work(6),
        ],
      }),
    ),
  );
  return [
    ...copies,
    dated([set(1, 'ENDS', '2026-03-06')]),
    dated([set(1, 'ZONE', 'America/New_York')]),
    dated([after(1, { do: 'pause' }), set(2, 'ENDS', '2026-03-06'), after(3, { do: 'activate' }), work(4)]),
    scene({
      nodes: [waitFor('rest', 50)],
      edges: way('start > rest'),
      people: [{}, {}],
      happenings: [
        enter(0),
        enter(0, 1),
        work(0),
        after(1, { do: 'pause' }),
        after(2, { do: 'unsubscribe', person: 0 }),
        after(2, { do: 'suppress', person: 1 }),
        after(3, { do: 'activate' }),
        work(4),
      ],
    }),
  ];
}

/** Dates and timetables bring people in, each local day once (D75, D76). */
function dates(): readonly HistoryData[] {
  const end: NodeData = { id: 'stop', type: 'end' };
  const fires = (
    trigger: TimedTrigger,
    happenings: readonly Happening[],
    people: readonly Readonly<Record<string, string>>[] = [{}],
  ) =>
    scene({
      nodes: [end],
      edges: way('start > stop'),
      entry: { mode: 'after_end' },
      more: { triggers: [{ type: 'execute' }, trigger] },
      people,
      happenings,
    });
  const onEnds = { type: 'date_field', field: 'ENDS', at: '09:00' } as const;
  const set = (hours: number, field: string, value: string): Happening =>
    after(hours, { do: 'set', person: 0, field, value });
  const ofZones = ZONES.map((ZONE) => ({ ZONE, ENDS: '2026-03-08' }));
  return [
    fires(onEnds, works(0, 60, 72, 90, 100), ofZones),
    fires({ type: 'weekly', weekdays: [7], at: '02:30' }, works(0, 80, 110, 130, 600), ofZones),
    fires({ type: 'monthly', day: 31, at: '09:00' }, works(0, 640, 642, 1360, 1362), [{}]),
    fires({ ...onEnds, yearly: true }, works(0, 24, 48), [
      { ENDS: '2024-02-29' },
      { ENDS: '1990-03-05' },
      { ENDS: '2026-03-05' },
    ]),
    fires({ ...onEnds, yearly: true, notInFirstYear: true }, works(0, 24, 48), [
      { ENDS: '1990-03-05' },
      { ENDS: '2026-03-05' },
    ]),
    fires({ ...onEnds, before: { days: 3 } }, works(0, 24, 48, 96), [{ ENDS: '2026-03-08' }]),
    // The date moves before it comes; after it has come it fires no more for another zone.
    fires(onEnds, [work(0), set(1, 'ENDS', '2026-03-06'), ...works(30, 48, 100)], [{ ENDS: '2026-03-08' }]),
    fires(
      { type: 'weekly', weekdays: [5], at: '09:00' },
      [work(0), set(45, 'ZONE', 'America/New_York'), ...works(48, 60)],
      [{ ZONE: 'Europe/Berlin' }],
    ),
    fires(
      { type: 'weekly', weekdays: [5], at: '09:00' },
      [work(0), work(47), set(48, 'ZONE', 'America/New_York'), ...works(60, 240)],
      [{ ZONE: 'Europe/Berlin' }],
    ),
    // Too late, and while the flow was stopped.
    fires({ type: 'weekly', weekdays: [5, 6], at: '09:00' }, works(0, 90, 110)),
    fires({ type: 'weekly', weekdays: [5], at: '09:00' }, [
      work(0),
      after(1, { do: 'pause' }),
      after(60, { do: 'activate' }),
      ...works(61, 230),
    ]),
    fires(
      { type: 'weekly', weekdays: [5], at: '09:00', if: { tags: { hasAny: ['vip'] } } },
      [after(0, { do: 'tag', person: 0, tag: 'vip' }), ...works(0, 48)],
      [{}, {}],
    ),
  ];
}
