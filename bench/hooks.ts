/**
 * What hooks cost where the product calls them: nanoseconds over a plain call, for no listener, one and three.
 *
 *   node bench/hooks.ts [--smoke] [--calls 2000000] [--rounds 9]
 *
 * A plain call is one of a function with the same arguments, awaited where the hook is. Each figure is the median of the rounds; in
 * each round everything is measured in turn. Fails where no listener costs 100 ns or more, or one 1,000 ns or more; not with
 * `--smoke`, which is too short to say.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { skippedByPlugin } from '../src/domain/delivery/campaigns/skipped-by-plugin.ts';
import { silentLog } from '../src/lib/log.ts';
import type { HookRegistration, MenuItem } from '../src/plugin-api/index.ts';
import { createHookBus, type HookBus } from '../src/plugin-host/hook-bus.ts';
import { median } from './support/median.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    calls: { type: 'string' },
    rounds: { type: 'string' },
  },
});
const CALLS = Number(values.calls ?? (values.smoke ? 20_000 : 2_000_000));
const ROUNDS = Number(values.rounds ?? (values.smoke ? 3 : 9));
/** Nanoseconds over a plain call, by the number of listeners. */
const GOALS: Readonly<Record<number, number>> = { 0: 100, 1: 1_000 };
const COUNTS = [0, 1, 3];

declare module '../src/plugin-api/index.ts' {
  interface FilterHooks {
    bench_items: readonly MenuItem[];
  }
}

/** A hook of plugins: what Mailwright's own FILTERs return is also checked, by rules of their own. */
const DECLARES = { bench_items: { pattern: 'FILTER' } } as const;

const ITEMS: readonly MenuItem[] = [{ label: 'Lists', href: '/lists' }];
let seen = 0;

interface Pattern {
  readonly register: (hooks: HookRegistration) => void;
  readonly call: (bus: HookBus) => unknown;
  /** The same work without a bus. */
  readonly plain: () => unknown;
  readonly isAwaited?: true;
}

const listener = ({ uid }: { uid: string }): void => void (seen += uid.length);
const UIDS = { campaignUid: 'a1', listUid: 'b2', customerUid: 'c3' };
const DELIVERY = {
  ...{ recipientId: 7n, occurrence: 0n, listId: 1n, epoch: 1, attempts: 0 },
  ...{ email: 'person@example.org', fields: {} },
};
/** A new one for each event, as the product makes it. */
const terminated = () => ({ uid: 'a1', customerUid: 'b2', planUid: 'c3' });

const PATTERNS: Readonly<Record<string, Pattern>> = {
  'EVENT, fire': {
    register: (hooks) => hooks.on('subscription_terminated', listener),
    call: (bus) => bus.fire('subscription_terminated', terminated()),
    plain: () => listener(terminated()),
    isAwaited: true,
  },
  'FILTER, filter': {
    register: (hooks) => hooks.modify('bench_items', (items) => items),
    call: (bus) => bus.filter('bench_items', ITEMS),
    plain: () => ITEMS,
  },
  'FILTER, a message before it is sent': {
    register: (hooks) => hooks.modify('before_message_sent', (message) => message),
    call: (bus) => skippedByPlugin({ hooks: bus }, { uids: UIDS }, DELIVERY),
    plain: () => undefined,
  },
  'REGISTRY, collect': {
    register: (hooks) => hooks.add('admin.sidebar.groups', { label: 'More', items: ITEMS }),
    call: (bus) => bus.collect('admin.sidebar.groups'),
    plain: () => ITEMS,
  },
};

function busWith(listeners: number, { register }: Pattern): HookBus {
  const bus = createHookBus(silentLog);
  for (let number = 0; number < listeners; number++) {
    const plugin = { name: `bench/plugin-${number}`, declares: DECLARES, boot: register };
    bus.register(plugin);
    bus.boot(plugin);
    bus.goLive(plugin.name);
  }
  return bus;
}

/** Nanoseconds of one call. */
async function measure(act: () => unknown, isAwaited: boolean): Promise<number> {
  const startedAt = performance.now();
  if (isAwaited) for (let call = 0; call < CALLS; call++) await act();
  else for (let call = 0; call < CALLS; call++) act();
  return ((performance.now() - startedAt) * 1e6) / CALLS;
}

async function compare(name: string, pattern: Pattern): Promise<boolean> {
  const { call, plain, isAwaited = false } = pattern;
  const acts = [plain, ...COUNTS.map((listeners) => busWith(listeners, pattern)).map((bus) => () => call(bus))];
  const figures = acts.map((): number[] => []);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, act] of acts.entries()) {
      const nanoseconds = await measure(act, isAwaited);
      // The first round warms up.
      if (round > 0) figures[index]?.push(nanoseconds);
    }
  }
  const [base = 0, ...costs] = figures.map(median);
  const over = costs.map((cost) => Math.max(0, cost - base));
  const words = over.map((cost, index) => `${COUNTS[index]}: ${cost.toFixed(0)} ns`);
  console.log(`${name}: a plain call ${base.toFixed(0)} ns; over it, by listeners: ${words.join(', ')}`);
  return over.every((cost, index) => cost < (GOALS[COUNTS[index] ?? 0] ?? Infinity));
}

console.log(`${CALLS} calls, ${ROUNDS} rounds; load ${(loadavg()[0] ?? 0).toFixed(1)}`);
let isWithin = true;
for (const [name, pattern] of Object.entries(PATTERNS)) isWithin = (await compare(name, pattern)) && isWithin;
console.log(`${seen > 0 ? '' : 'No listener was called. '}${isWithin ? 'Within the goals.' : 'NOT within the goals.'}`);
if (seen === 0 || !(isWithin || values.smoke)) process.exitCode = 1;
