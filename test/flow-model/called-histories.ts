/** Short histories of API calls (D27): each shows one rule. */
import type { EntryData, Happening, HistoryData, LateChoice, NodeData, Payload, PersonThere } from './flow-data.ts';
import { change, line, scene } from './moved-histories.ts';
import { after, enter, mail, tagged, waitFor, way, work, works } from './seldom-histories.ts';

const paid = (hours?: number): NodeData => ({
  id: 'paid',
  type: 'api_call',
  ...(hours !== undefined && { for: { hours } }),
});
const call = (hours: number, person = 0, payload: Payload = {}): Happening =>
  after(hours, { do: 'call', node: 'paid', person, payload });
const callAll = (hours: number, payload: Payload = {}): Happening =>
  after(hours, { do: 'call_all', node: 'paid', payload });
const waitAnew: LateChoice = { mode: 'wait_anew', hours: 1 };

export function calledHistories(): readonly HistoryData[] {
  return [called(), everybody(), byKeys(), ...stopped(), ...moved(), ...doneBefore(), ...parked(), fired()];
}

const asking = (node: NodeData) => ({
  nodes: [
    node,
    { id: 'much', type: 'condition', if: { payload: { path: 'total', number: { gte: 50 } } } } as const,
    { id: 'named', type: 'condition', if: { payload: { path: 'cart', isPresent: true } } } as const,
    tagged('yes', 'vip'),
    tagged('no', 'none'),
    tagged('late', 'late'),
  ],
  edges: [
    ...way('start > paid > much', 'much.yes > named', 'much.no > no', 'named.yes > yes', 'named.no > late'),
    ...('for' in node ? way('paid.timeout > late') : []),
  ],
});

/** With a payload that is read afterwards; who is not called in time goes by `timeout`, and who is gone leaves. */
function called(): HistoryData {
  return scene({
    versions: [asking(paid(5))],
    people: [{}, {}, {}, {}],
    happenings: [
      ...[0, 1, 2, 3].map((person) => enter(0, person, { total: 10, cart: 'a' })),
      ...[work(0), call(1, 0, { total: 99 }), call(1, 3), after(2, { do: 'suppress', person: 2 }), call(3, 2)],
      // The wait is over, but nobody has worked.
      ...[call(6, 0), work(6), call(7, 1, { total: 99 }), work(7)],
    ],
  });
}

/** Without end; who comes later is not called. */
function everybody(): HistoryData {
  return scene({
    versions: [asking(paid())],
    people: [{}, {}, {}, {}],
    happenings: [
      ...[enter(0), enter(0, 1), work(0), callAll(500, { total: 60 }), enter(500, 2), ...works(500, 600)],
      ...[callAll(700, { total: 1 }), work(700), enter(700, 3), call(701, 3, { total: 70, cart: 'b' }), work(701)],
    ],
  });
}

function byKeys(): HistoryData {
  const entry: EntryData = { mode: 'per_key', key: 'cart' };
  return scene({
    versions: [{ ...asking(paid(5)), entry }],
    happenings: [
      ...[
        enter(0, 0, { cart: 'a' }),
        enter(0, 0, { cart: 'b' }),
        work(0),
        call(1, 0, { total: 99, cart: 'c' }),
        work(1),
      ],
      ...[enter(2, 0, { cart: 'c' }), ...works(2, 8)],
    ],
  });
}

/** A flow that is stopped is not called; when it goes on, late people may wait anew. */
function stopped(): readonly HistoryData[] {
  return [undefined, waitAnew].map((late) =>
    scene({
      versions: [asking(paid(5))],
      people: [{}, {}],
      happenings: [
        ...[enter(0), enter(0, 1), work(0), after(1, { do: 'pause' }), call(2, 0, { total: 99 }), callAll(3)],
        ...[after(8, { do: 'activate', ...(late && { late }) }), work(8), call(9, 0, { total: 99 }), ...works(9, 20)],
      ],
    }),
  );
}

/** The time that somebody has waited counts, also for who waits without end now, or did. */
function moved(): readonly HistoryData[] {
  const pairs = [
    [paid(5), paid(10)],
    [paid(5), paid(1)],
    [paid(5), paid()],
    [paid(), paid(5)],
    [waitFor('paid', 5), paid(10)],
    [paid(), waitFor('paid', 10)],
    [paid(), mail('paid')],
  ] as const;
  return pairs.map(([before, next]) =>
    scene({
      versions: [line(before, tagged('end', 'old')), line(next, tagged('end', 'vip'))],
      people: [{}, {}],
      happenings: [
        ...[enter(0), enter(0, 1), work(0), ...change(2, { whenAsked: { paid: 'paid' } })],
        ...[call(2), work(2), ...works(6, 8, 12)],
      ],
    }),
  );
}

/** A call is not waited for again, unless nobody made it; who passes over it is not called. */
function doneBefore(): readonly HistoryData[] {
  const rest = waitFor('rest', 50);
  const before = { nodes: [paid(5), rest], edges: way('start > paid > rest', 'paid.timeout > rest') };
  const next = { nodes: [waitFor('rest', 20), paid(30), mail('one')], edges: way('start > rest > paid > one') };
  return [
    scene({
      versions: [before, next],
      people: [{}, {}],
      happenings: [enter(0), enter(0, 1), work(0), call(1), ...works(1, 6), ...change(10), ...works(10, 30, 60)],
    }),
    scene({
      versions: [before, { nodes: [paid(30), mail('one')], edges: way('start > paid > one') }],
      people: [{}, {}],
      happenings: [
        ...[enter(0), enter(0, 1), work(0), call(1), ...works(1, 6), ...change(10, { whenAsked: { rest: 'paid' } })],
        ...[callAll(11), ...works(11, 40)],
      ],
    }),
    // A call brings them there, and nobody has worked.
    scene({
      versions: [before, line({ id: 'first', type: 'api_call' }, paid(30), mail('one'))],
      happenings: [
        ...[enter(0), work(0), call(1), work(1), ...change(10, { whenAsked: { rest: 'first' } })],
        ...[after(11, { do: 'call', node: 'first', person: 0, payload: {} }), callAll(11), ...works(11, 50)],
      ],
    }),
  ];
}

/** Who was parked, and moved to the call, does not wait there until they are tried again. */
function parked(): readonly HistoryData[] {
  const copy: NodeData = { id: 'go', type: 'copy_to_list', onConflict: 'keep' };
  const there: readonly PersonThere[] = [{ status: 'unsubscribed', tags: [], level: '' }];
  const again = (what: 'retry' | 'skip', more: readonly Happening[]) =>
    scene({
      versions: [line(copy), { nodes: [paid(20), tagged('end', 'vip')], edges: way('start > paid > end') }],
      there,
      happenings: [
        ...[enter(0), work(0), ...change(1, { whenAsked: { go: 'paid' } }), callAll(2), work(2)],
        ...[after(3, { do: what, node: 'paid' }), ...more],
      ],
    });
  return [
    again('retry', [call(4), work(4), call(5), work(5)]),
    again('retry', works(4, 19, 21)),
    again('retry', works(30)),
    again('skip', works(4, 30)),
  ];
}

/** Webhooks are fired for each person at a webhook node, and for who begins to wait for a call. */
function fired(): HistoryData {
  const hook: NodeData = { id: 'hook', type: 'webhook' };
  return scene({
    versions: [line(hook, waitFor('rest', 5), paid(5)), line(waitFor('rest', 8), hook, paid(5), tagged('end', 'vip'))],
    people: [{}, {}],
    happenings: [enter(0), work(0), ...change(2), enter(2, 1), work(2), ...works(9, 11, 20)],
  });
}
