/** Short histories of late people (D85), of nodes that failed (D87), of who is taken out, of caps (D82) and of acts on many people (D71): each shows one rule. */
import type { FlowData, Happening, HistoryData, LateChoice, NodeData, PersonThere } from './flow-data.ts';
import { change, line, scene } from './moved-histories.ts';
import { after, enter, mail, tagged, waitFor, way, work, works } from './seldom-histories.ts';

const pause = (hours: number): Happening => after(hours, { do: 'pause' });
const activate = (hours: number, late?: LateChoice): Happening =>
  after(hours, { do: 'activate', ...(late && { late }) });
const spread: LateChoice = { mode: 'spread', hours: 10 };
const skipMails: LateChoice = { mode: 'skip_mails', hours: 3 };
const waitAnew: LateChoice = { mode: 'wait_anew', hours: 1 };

export function pausedHistories(): readonly HistoryData[] {
  return [...late(), ...movedLate(), ...failed(), ...takenOut(), ...capped(), quiet(), ...many()];
}

/** Their waits end in the fifth, sixth and seventh hour; in the eighth the flow goes on. */
function late(): readonly HistoryData[] {
  const flow = line(waitFor('rest', 5), mail('one'), waitFor('more', 2), mail('two'));
  const stopped = (choice: LateChoice, more: readonly Happening[] = []) =>
    scene({
      versions: [flow],
      people: [{}, {}, {}],
      happenings: [
        ...[enter(0), enter(1, 1), enter(2.5, 2), work(3), pause(4), work(7), ...more, activate(8, choice)],
        ...works(8, 10, 13, 18, 20, 30),
      ],
    });
  const ask: NodeData = {
    id: 'ask',
    type: 'wait_for_event',
    event: { type: 'event', name: 'order' },
    for: { hours: 5 },
    countsFrom: 'arrival',
  };
  const order = (hours: number): Happening => after(hours, { do: 'event', person: 0, name: 'order', payload: {} });
  const anew = (node: NodeData, happenings: readonly Happening[]) =>
    scene({
      versions: [line(node, tagged('end', 'vip'))],
      people: [{ ENDS: '2026-03-05' }],
      happenings: [
        enter(0),
        work(0),
        pause(1),
        activate(30, waitAnew),
        work(30),
        ...happenings,
        ...works(32, 36, 60, 200),
      ],
    });
  return [
    ...[spread, skipMails, waitAnew].map((choice) => stopped(choice)),
    // One leaves before the turn.
    stopped(spread, [after(7, { do: 'unsubscribe', person: 0 })]),
    // The next pause asks anew.
    scene({
      versions: [line(waitFor('rest', 5), mail('one'))],
      people: [{}, {}, {}],
      happenings: [
        ...[0, 1, 2].map((person) => enter(0, person)),
        ...[work(0), pause(1), activate(8, spread), work(8), pause(9), activate(10, waitAnew), ...works(10, 12, 16)],
      ],
    }),
    // Who has not changed waits on.
    scene({
      versions: [line({ id: 'until', type: 'wait_until', date: '2026-03-20', at: '09:00' }, tagged('end', 'vip'))],
      people: [{}, {}],
      happenings: [
        ...[
          enter(0),
          enter(0, 1),
          work(0),
          pause(1),
          after(2, { do: 'set', person: 1, field: 'ZONE', value: 'Asia/Kolkata' }),
        ],
        ...[activate(3), pause(4), work(5), activate(6), ...works(6, 500)],
      ],
    }),
    anew(waitFor('rest', 5), []),
    anew(ask, [order(31)]),
    anew(ask, [order(37)]),
    anew({ id: 'until', type: 'wait_until', at: '09:00', weekdays: [4] }, []),
    anew({ id: 'until', type: 'wait_until', at: '09:00', field: 'ENDS' }, []),
  ];
}

/** Who was late is moved before the turn has come (D84). */
function movedLate(): readonly HistoryData[] {
  const rest = waitFor('rest', 5);
  const before = line(rest, mail('one'));
  const moved = (
    choice: LateChoice,
    { next, more = [] }: { readonly next: ReturnType<typeof line>; readonly more?: readonly Happening[] },
    versions: readonly ReturnType<typeof line>[] = [],
  ) =>
    scene({
      versions: [before, next, ...versions],
      people: [{}, {}, {}],
      happenings: [
        ...[enter(0), enter(0, 1), enter(1, 2), work(2), pause(3), activate(10, choice)],
        ...[...change(10, { named: { rest: next.nodes[0]?.id ?? '' } }), ...more, ...works(10, 14, 16, 20, 21, 30, 40)],
      ],
    });
  return [
    moved(spread, { next: line(tagged('mark', 'vip'), mail('one')) }),
    moved(skipMails, { next: line(mail('two'), waitFor('more', 1), mail('one')) }),
    // Moved once more: mails are passed over still.
    moved(skipMails, { next: line(mail('two')), more: change(10, { named: { two: 'three' } }) }, [
      line(mail('three'), waitFor('more', 1), mail('one')),
    ]),
    moved(waitAnew, { next: line(waitFor('rest', 3), mail('one')) }),
    // They wait for longer there: nobody is late any more.
    moved(skipMails, { next: line(waitFor('rest', 12), mail('one')) }),
    moved(waitAnew, { next: line(waitFor('rest', 12), mail('one')) }),
  ];
}

/** Who is parked tries again, or passes over the node. */
function failed(): readonly HistoryData[] {
  const copy: NodeData = { id: 'go', type: 'copy_to_list', onConflict: 'keep' };
  const ask: NodeData = { id: 'ask', type: 'condition', if: { payload: { path: 'total', isPresent: true } } };
  const split: NodeData = {
    ...{ id: 'part', type: 'split' },
    variants: [
      { name: 'a', percent: 50 },
      { name: 'b', percent: 50 },
    ],
  };
  const there: readonly PersonThere[] = [{ status: 'unsubscribed', tags: [], level: '' }];
  const first = line(copy, waitFor('rest', 5), mail('one'));
  const asked = (what: 'retry' | 'skip', then: readonly Happening[] = [], next?: Pick<FlowData, 'nodes' | 'edges'>) =>
    scene({
      versions: [first, ...(next ? [next] : [])],
      there,
      happenings: [enter(0), work(0), after(1, { do: what, node: 'go' }), ...then, ...works(1, 8)],
    });
  const away = (target: NodeData, edges: FlowData['edges']) =>
    scene({
      versions: [first, { nodes: [target, tagged('yes', 'vip'), tagged('no', 'old')], edges }],
      there,
      happenings: [
        ...[enter(0, 0, { total: 1 }), work(0), ...change(1, { whenAsked: { go: target.id } }), work(1)],
        ...[after(2, { do: 'skip', node: target.id }), work(2)],
      ],
    });
  return [
    asked('retry'),
    asked('skip'),
    // Somebody else gets their place: what was asked was asked about the node.
    asked('skip', change(1, { whenAsked: { go: 'mark' } }), line(tagged('mark', 'vip'), waitFor('rest', 5))),
    // Moved to a wait, they wait there; the time since they came to the node before it counts.
    scene({
      versions: [first, line(waitFor('rest', 5), mail('one'))],
      there,
      happenings: [
        ...[enter(0), work(0), ...change(1, { whenAsked: { go: 'rest' } }), work(1)],
        ...[after(2, { do: 'retry', node: 'rest' }), ...works(2, 4, 5, 8)],
      ],
    }),
    away(ask, way('start > ask', 'ask.yes > yes', 'ask.no > no')),
    away(split, way('start > part', 'part.variant:a > yes', 'part.variant:b > no')),
  ];
}

/** By hand: who is parked, waits, is late, or is held back until the morning. In a flow that is stopped, too. */
function takenOut(): readonly HistoryData[] {
  const out = (hours: number, person = 0): Happening => after(hours, { do: 'take_out', person });
  const resting = line(waitFor('rest', 5), mail('one'));
  const isOut: PersonThere = { status: 'unsubscribed', tags: [], level: '' };
  return [
    scene({
      versions: [line({ id: 'go', type: 'copy_to_list', onConflict: 'keep' }, waitFor('rest', 5), mail('one'))],
      people: [{}, {}, {}],
      there: [isOut],
      happenings: [
        ...[enter(0), enter(0, 1), enter(0, 2), work(0), out(1), out(1, 1), after(1, { do: 'retry', node: 'go' })],
        ...[after(2, { do: 'delete', person: 2 }), out(2, 2), ...works(2, 8)],
      ],
    }),
    scene({
      versions: [{ ...resting, entry: { mode: 'after_end' } }],
      happenings: [enter(0), work(0), pause(1), out(2), activate(3), work(3), enter(4), ...works(4, 8, 10)],
    }),
    scene({
      versions: [{ ...resting, entry: { mode: 'per_key', key: 'cart' } }],
      happenings: [
        ...[enter(0, 0, { cart: 'a' }), enter(0, 0, { cart: 'b' }), work(0), out(1), enter(2, 0, { cart: 'a' })],
        ...works(2, 8),
      ],
    }),
    // The others keep their turns.
    scene({
      versions: [resting],
      people: [{}, {}, {}],
      happenings: [
        ...[enter(0), enter(1, 1), enter(2, 2), work(3), pause(4), activate(10, spread), work(10), out(11, 1)],
        ...works(14, 16, 20, 30),
      ],
    }),
    scene({
      versions: [line(mail('one'))],
      people: [{ ZONE: 'Pacific/Apia' }],
      quiet: { from: '22:00', to: '07:00' },
      happenings: [enter(0), work(0), out(1), ...works(1, 20)],
    }),
  ];
}

/** A campaign was handed over before: the flow's mail waits, or is not sent. */
function capped(): readonly HistoryData[] {
  const campaign = (hours: number): Happening => after(hours, { do: 'campaign', person: 0 });
  const leave: NodeData = { id: 'out', type: 'unsubscribe' };
  const elsewhere = (hours: number): Happening => after(hours, { do: 'campaign', person: 0, isElsewhere: true });
  const capOf = (messages: number, days: number, holdDays: number) => ({ messages, days, holdDays });
  const mailed = (caps: Pick<HistoryData, 'cap' | 'customerCap'>, ...before: readonly Happening[]) => ({
    ...scene({
      versions: [line(mail('two', { templateUid: 'B' }), mail('one'))],
      happenings: [...before, enter(20), ...works(20, 30, 60, 100)],
    }),
    ...caps,
  });
  const both = { cap: capOf(1, 2, 3), customerCap: capOf(1, 3, 3) };
  return [
    mailed({ cap: capOf(1, 1, 1) }, campaign(10)),
    mailed({ cap: capOf(2, 1, 1) }, campaign(10)),
    mailed({ cap: capOf(2, 1, 1) }, campaign(10), campaign(11)),
    // It would wait for too long.
    mailed({ cap: capOf(1, 3, 1) }, campaign(10)),
    // What readers of other lists get counts for the customer's cap.
    ...[{ cap: capOf(1, 1, 1) }, { customerCap: capOf(1, 1, 1) }, both].map((caps) => mailed(caps, elsewhere(10))),
    mailed(both, elsewhere(5), campaign(10)),
    mailed({ cap: capOf(1, 2, 3), customerCap: capOf(1, 2, 1) }, campaign(5), elsewhere(10)),
    {
      ...scene({
        versions: [line(leave, mail('bye', { isGoodbye: true }))],
        happenings: [campaign(10), enter(20), ...works(20, 60)],
      }),
      cap: capOf(1, 1, 1),
    },
  ];
}

/** In New York the night ends two hours after the entry, whatever the time of the people is. */
function quiet(): HistoryData {
  return scene({
    versions: [line(mail('one'))],
    people: [{}, { ZONE: 'Europe/Berlin' }, { ZONE: 'Pacific/Apia' }],
    quiet: { from: '22:00', to: '07:00', timezone: 'America/New_York' },
    happenings: [...[0, 1, 2].map((person) => enter(0, person)), ...works(0, 1, 2.5, 4)],
  });
}

/** Everybody at once: who is on the list already, and a bulk act that is read in one go while the process dies. */
function many(): readonly HistoryData[] {
  const exits = [{ id: 'is-vip', person: { tags: { hasAny: ['vip'] } } }];
  const tag = (person: number, more: object = {}): Happening =>
    Object.assign(after(3, { do: 'tag', person, tag: 'vip' }), more);
  return [
    scene({
      versions: [{ ...line(waitFor('rest', 5), mail('one')), exits }],
      people: [{}, {}, {}, {}, {}],
      happenings: [
        ...[after(0, { do: 'unsubscribe', person: 3 }), after(0, { do: 'suppress', person: 4 }), enter(0), work(0)],
        Object.assign(after(1, { do: 'existing' }), { dies: 12 }),
        ...[tag(0, { isUnread: true }), tag(1, { dies: 9 }), work(4), pause(5), after(6, { do: 'existing' })],
        ...[activate(7, undefined), ...works(7, 20)],
      ],
    }),
  ];
}
