/** How many connections a server gets: rules over any sequence of rounds and refusals. */
import { describe, expect, it } from 'vitest';
import {
  afterPushBack,
  afterRound,
  connectionsWithin,
  firstGrowth,
  shareOf,
  type Bounds,
  type Growth,
} from '../../../src/domain/sending/routing/connection-growth.ts';
import { drawn, fc } from '../../support/property.ts';

type Step =
  | { readonly kind: 'round'; readonly ms: number; readonly rate: number; readonly wasFull: boolean }
  | { readonly kind: 'refusal'; readonly ms: number; readonly ageMs: number; readonly hasAccepted: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('round' as const),
    ms: fc.integer({ min: 1, max: 5_000 }),
    rate: fc.integer({ min: 0, max: 10_000 }),
    wasFull: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('refusal' as const),
    ms: fc.integer({ min: 0, max: 3_000 }),
    ageMs: fc.integer({ min: 0, max: 3_000 }),
    hasAccepted: fc.boolean(),
  }),
);
const bounds: fc.Arbitrary<Bounds> = fc.record({
  max: fc.integer({ min: 1, max: 100 }),
  processes: fc.integer({ min: 1, max: 8 }),
});

interface Seen {
  readonly step: Step;
  readonly at: number;
  readonly before: Growth;
  readonly after: Growth;
}

function played(steps: readonly Step[], within: Bounds): Seen[] {
  let at = 0;
  let growth = firstGrowth();
  return steps.map((one) => {
    at += one.ms;
    const before = growth;
    growth =
      one.kind === 'round'
        ? afterRound(growth, { at, rate: one.rate, wasFull: one.wasFull }, within)
        : afterPushBack(growth, { at, beganAt: at - one.ageMs, hasAccepted: one.hasAccepted }, within);
    return { step: one, at, before, after: growth };
  });
}

function always(check: (seen: Seen, within: Bounds) => void): void {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), bounds, (steps, within) => {
      for (const seen of played(steps, within)) check(seen, within);
    }),
    { numRuns: drawn(300) },
  );
}

/** What is used of a number. */
const used = ({ connections }: Growth, { max }: Bounds): number => connectionsWithin(connections, max);

describe('the number of connections', () => {
  it('is never below 2, nor above the largest number', () => {
    always(({ after }, within) => {
      expect(used(after, within)).toBeGreaterThanOrEqual(Math.min(2, within.max));
      expect(used(after, within)).toBeLessThanOrEqual(within.max);
    });
  });

  it('grows only in rounds in which all connections were in use, by a step', () => {
    always(({ step: one, before, after }, within) => {
      const grown = used(after, within) - used(before, within);
      if (one.kind === 'refusal' || !one.wasFull) expect(grown).toBeLessThanOrEqual(0);
      expect(grown).toBeLessThanOrEqual(Math.max(2, within.processes));
    });
  });

  it('is halved by a refusal, and only by one of what began after the last cut', () => {
    always(({ step: one, at, before, after }, within) => {
      if (one.kind !== 'refusal') return;
      const counts = at - one.ageMs > before.cutAt && at >= before.cutAt + 1_000;
      const half = connectionsWithin(Math.floor(used(before, within) / 2), within.max);
      expect(after).toEqual(counts ? expect.objectContaining({ connections: half, cutAt: at }) : before);
    });
  });

  it('stays at its ceiling while it is held there', () => {
    always(({ step: one, at, before, after }, within) => {
      if (one.kind !== 'round' || before.ceiling === null) return;
      if (before.heldUntil !== null && at >= before.heldUntil) return;
      expect(used(after, within)).toBeLessThanOrEqual(Math.max(before.ceiling, used(before, within)));
    });
  });

  it('is shared: each process has at least one, and all together no more than the number where that is possible', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 0, max: 20 }), (connections, processes) => {
        const share = shareOf(connections, processes);
        expect(share).toBeGreaterThanOrEqual(1);
        if (processes > 0 && connections >= processes) expect(share * processes).toBeLessThanOrEqual(connections);
      }),
    );
  });
});

/** A server that sends so many a second with so many connections; every round is full. Returns the number after each. */
function rounds(rateOf: (connections: number) => number, count: number, max = 20): number[] {
  let growth = firstGrowth();
  return Array.from({ length: count }, (_, index) => {
    growth = afterRound(
      growth,
      { at: index * 250, rate: rateOf(growth.connections), wasFull: true },
      { max, processes: 1 },
    );
    return growth.connections;
  });
}

describe('a server', () => {
  it('that sends more with more connections gets its largest number within nine rounds', () => {
    expect(rounds((connections) => 100 * connections, 9).at(-1)).toBe(20);
  });

  it('that sends as much with fewer connections keeps few', () => {
    expect(Math.max(...rounds(() => 100, 400))).toBeLessThanOrEqual(4);
  });

  it('that gets slower with more connections settles where it is fastest', () => {
    const numbers = rounds((connections) => 100 * connections * Math.max(0.05, 1 - (connections / 14) ** 2), 400);
    const late = numbers.slice(100).toSorted((a, b) => a - b);
    // Its best is 8.
    expect(late[Math.floor(late.length / 2)]).toBeGreaterThanOrEqual(6);
    expect(late[Math.floor(late.length / 2)]).toBeLessThanOrEqual(10);
  });

  it('that refuses more than ten connections settles at ten, and is asked for more less and less often', () => {
    let growth = firstGrowth();
    const refusedAt: number[] = [];
    const numbers: number[] = [];
    for (let at = 0; at < 600_000; at += 250) {
      if (growth.connections > 10) {
        const next = afterPushBack(growth, { at, beganAt: at - 1, hasAccepted: true }, { max: 20, processes: 1 });
        if (next !== growth) refusedAt.push(at);
        growth = next;
      }
      growth = afterRound(
        growth,
        { at, rate: 100 * Math.min(10, growth.connections), wasFull: true },
        { max: 20, processes: 1 },
      );
      numbers.push(growth.connections);
    }
    const settled = numbers.slice(200);
    expect(settled.filter((connections) => connections === 10).length).toBeGreaterThan(settled.length * 0.9);
    expect(refusedAt.length).toBeLessThanOrEqual(15);
    expect((refusedAt.at(-1) ?? 0) - (refusedAt.at(-2) ?? 0)).toBeGreaterThan(60_000);
  });

  it('that was down gets its connections back at once', () => {
    let growth: Growth = { ...firstGrowth(), connections: 20 };
    const within = { max: 20, processes: 1 };
    for (let at = 1_000; at <= 10_000; at += 2_000)
      growth = afterPushBack(growth, { at, beganAt: at - 1, hasAccepted: false }, within);
    expect(growth).toMatchObject({ connections: 2, ceiling: null });
    for (let at = 11_000; at <= 13_250; at += 250)
      growth = afterRound(growth, { at, rate: 100 * growth.connections, wasFull: true }, within);
    expect(growth.connections).toBe(20);
  });
});

const DAY_MS = 86_400_000;

interface Refusing {
  /** It takes so many connections, and refuses more. */
  readonly limit: number;
  /** With so many it sends as much as with more. */
  readonly enough: number;
  /** It takes no mail for so long after a refusal. */
  readonly restMs: number;
  /** A connection is opened, and refused, after so long. */
  readonly openingMs: number;
  readonly processes: number;
  readonly seed: number;
}

const refusing: fc.Arbitrary<Refusing> = fc.record({
  limit: fc.integer({ min: 4, max: 18 }),
  enough: fc.integer({ min: 2, max: 18 }),
  restMs: fc.constantFrom(0, 1_000, 60_000, 600_000),
  openingMs: fc.constantFrom(0, 1_000, 5_000),
  processes: fc.integer({ min: 1, max: 2 }),
  seed: fc.integer({ min: 1, max: 2 ** 31 - 2 }),
});

/** Mail waits all the time. Returns when the server refused, and how many connections were used after each second. */
function daysAt(server: Refusing, days: number): { refusedAt: number[]; numbers: number[] } {
  const within = { max: 20, processes: server.processes };
  const usedOf = ({ connections }: Growth): number => shareOf(connections, server.processes) * server.processes;
  let { seed } = server;
  const noise = (): number => 0.8 + (0.4 * (seed = (seed * 48_271) % (2 ** 31 - 1))) / 2 ** 31;
  let growth = firstGrowth();
  let openedAt = 0;
  const refusedAt: number[] = [];
  const numbers: number[] = [];
  for (let at = 2_000; at < days * DAY_MS; at += 1_000) {
    const used = usedOf(growth);
    if (used <= server.limit) openedAt = at;
    else if (at - openedAt > server.openingMs) {
      growth = afterPushBack(growth, { at, beganAt: at - 1, hasAccepted: true }, within);
      refusedAt.push(at);
      at += server.restMs;
      openedAt = at;
      continue;
    }
    numbers.push(used);
    const rate = 100 * Math.min(used, server.limit, server.enough) * noise();
    growth = afterRound(growth, { at, rate, wasFull: true }, within);
  }
  return { refusedAt, numbers };
}

describe('a server that always refuses more than some connections', () => {
  it('is asked for more a few times a day, however long it takes no mail after that', () => {
    fc.assert(
      fc.property(refusing, (server) => {
        const { refusedAt } = daysAt(server, 2);
        expect(refusedAt.length).toBeGreaterThan(server.enough > server.limit ? 1 : -1);
        expect(refusedAt.filter((at) => at < DAY_MS).length).toBeLessThanOrEqual(40);
        expect(refusedAt.filter((at) => at >= DAY_MS).length).toBeLessThanOrEqual(5);
      }),
      { numRuns: drawn(20) },
    );
  });

  it('has as many as it takes nearly all the time', () => {
    fc.assert(
      fc.property(refusing, (server) => {
        const { limit, processes } = server;
        const { numbers } = daysAt({ ...server, enough: limit }, 1);
        const most = shareOf(limit, processes) * processes;
        const late = numbers.slice(3_600);
        expect(late.filter((used) => used >= most).length).toBeGreaterThan(late.length * 0.9);
      }),
      { numRuns: drawn(10) },
    );
  });

  it('is tried again only after it has taken mail for as long as it took none, whenever that is', () => {
    const within = { max: 20, processes: 1 };
    const start = { ...firstGrowth(), connections: 11 };
    let growth = afterPushBack(start, { at: 1_000, beganAt: 999, hasAccepted: true }, within);
    const tried: number[] = [];
    for (let at = 601_000; at < 1_801_000; at += 250) {
      growth = afterRound(growth, { at, rate: 100 * growth.connections, wasFull: true }, within);
      if (growth.connections > 10) tried.push(at);
    }
    expect(tried[0]).toBe(1_201_000);
    // One connection more, and only that for some seconds.
    expect(growth.connections).toBeGreaterThan(11);
    expect(tried.length).toBeGreaterThan(40);
  });

  it('has its connections back soon after it refused any number for a minute', () => {
    const within = { max: 20, processes: 1 };
    let growth: Growth = { ...firstGrowth(), connections: 20 };
    for (let at = 1_000; at <= 60_000; at += 2_000)
      growth = afterPushBack(growth, { at, beganAt: at - 1, hasAccepted: true }, within);
    expect(growth.connections).toBe(2);
    for (let at = 61_000; at <= 120_000; at += 250)
      growth = afterRound(growth, { at, rate: 100 * growth.connections, wasFull: true }, within);
    expect(growth.connections).toBe(20);
  });
});
