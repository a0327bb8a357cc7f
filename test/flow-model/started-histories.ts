/** Short histories of flows that start others (D70, D83): each shows one rule. */
import type { EntryData, FlowData, Happening, HistoryData, NodeData, Payload } from './flow-data.ts';
import { change, line, scene } from './moved-histories.ts';
import { after, enter, mail, tagged, waitFor, way, work, works } from './seldom-histories.ts';

const ONCE: EntryData = { mode: 'once' };
const BY_CART: EntryData = { mode: 'per_key', key: 'cart' };
const starts = (id: string, flow = 0): NodeData => ({ id, type: 'start_flow', flow });
const other = (nodes: readonly NodeData[], entry: EntryData = ONCE): FlowData => ({
  ...{ triggers: [{ type: 'execute' }], entry, holidays: [], passesMax: 3 },
  ...line(...nodes),
});
const resting = [waitFor('rest', 5), mail('one')];
const DEEP = 6;

export function startedHistories(): readonly HistoryData[] {
  return [entered(), keyed(), ...refused(), ...stopped(), deep(), moved()];
}

/** Each flow goes on by itself; who leaves the list leaves both. */
function entered(): HistoryData {
  return {
    ...scene({
      versions: [line(starts('go'), waitFor('rest', 8), mail('two'))],
      people: [{}, {}, {}],
      happenings: [
        ...[enter(0), enter(0, 1), enter(0, 2), work(0), after(1, { do: 'unsubscribe', person: 1 })],
        ...[after(2, { do: 'pause' }), work(6), after(7, { do: 'delete', person: 2 }), after(7, { do: 'activate' })],
        ...works(9, 20),
      ],
    }),
    started: [other(resting)],
  };
}

/** The payload gives the entry its key; without one nobody enters. */
function keyed(): HistoryData {
  const come = (person: number, payload: Payload) => enter(0, person, payload);
  return {
    ...scene({
      versions: [line(starts('go'), starts('again'), waitFor('rest', 8), mail('two'))],
      people: [{}, {}],
      happenings: [come(0, { cart: 'a' }), come(1, { total: 1 }), ...works(0, 6, 9)],
    }),
    started: [other(resting, BY_CART)],
  };
}

/** A refused entry is no fault. */
function refused(): readonly HistoryData[] {
  const modes: readonly EntryData[] = [ONCE, { mode: 'after_end' }, { mode: 'after_days', days: 1 }];
  return modes.map((entry) => ({
    ...scene({
      versions: [{ ...line(starts('go'), tagged('mark', 'vip')), entry: { mode: 'after_end' } }],
      happenings: [enter(0), work(0), enter(2), ...works(2, 5), enter(6), ...works(6, 12), enter(40), ...works(40, 50)],
    }),
    started: [other(resting, entry)],
  }));
}

/** A flow that is stopped lets nobody in: that is a fault of the node. */
function stopped(): readonly HistoryData[] {
  const stop = after(1, { do: 'stop' });
  const again = (what: 'retry' | 'skip'): Happening => after(3, { do: what, node: 'go' });
  return [
    ...(['retry', 'skip'] as const).map((what) => ({
      ...scene({
        versions: [line(starts('go'), waitFor('rest', 5), mail('two'))],
        people: [{}, {}],
        happenings: [enter(0), work(0), stop, enter(2, 1), work(2), again(what), ...works(3, 9)],
      }),
      started: [other(resting)],
    })),
    {
      ...scene({
        versions: [
          {
            nodes: [starts('go'), tagged('mark', 'vip'), tagged('fault', 'old')],
            edges: way('start > go > mark', 'go.error > fault'),
          },
        ],
        people: [{}, {}],
        happenings: [enter(0), work(0), stop, enter(2, 1), work(2)],
      }),
      started: [other(resting)],
    },
  ];
}

/** Each starts the next: the last is too deep. */
function deep(): HistoryData {
  return {
    ...scene({ versions: [line(starts('go'), waitFor('rest', 5))], happenings: [enter(0), ...works(0, 6)] }),
    started: Array.from({ length: DEEP }, (_, no) =>
      other([...(no + 1 < DEEP ? [starts('go', no + 1)] : []), waitFor('rest', 5)]),
    ),
  };
}

/** Who was let in by one version is not let in once more by the next. */
function moved(): HistoryData {
  const days: EntryData = { mode: 'after_days', days: 1 };
  return {
    ...scene({
      versions: [line(starts('go'), waitFor('rest', 50)), line(waitFor('rest', 40), starts('go'), mail('two'))],
      happenings: [enter(0), work(0), ...change(30), ...works(30, 45)],
    }),
    started: [other(resting, days)],
  };
}
