/**
 * Hurts the product while it sends a campaign, writes one history, and judges it: who was lost, who got two, whether
 * the sums were right at every moment. The same seed hurts in the same order.
 *
 *   npm run chaos -- [--scenario kills|takeover|database|connections|receiver|disk|clocks|all] [--times 50] [--recipients 20000]
 *                    [--policy park|retry] [--seed 1] [--workers 1] [--connections 4] [--window 8] [--delay-ms 20]
 *                    [--lease-seconds 3] [--history file.jsonl] [--quick]
 *
 * `takeover` needs two workers or more. `--quick` is a minute's run of everything. The exit code is 1 when a promise did not hold.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startClients } from './clients.ts';
import { History } from './history.ts';
import { judge } from './judge.ts';
import { Processes, scenarios, torment } from './nemesis.ts';
import { seededRandom } from './random.ts';
import { printVerdicts } from './print-verdicts.ts';
import { usageOf } from './usage.ts';
import { createWorld, type World } from './world.ts';

const { values } = parseArgs({
  options: {
    scenario: { type: 'string', default: 'all' },
    times: { type: 'string' },
    recipients: { type: 'string' },
    policy: { type: 'string', default: 'retry' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '1' },
    connections: { type: 'string', default: '4' },
    window: { type: 'string', default: '8' },
    'delay-ms': { type: 'string', default: '20' },
    'lease-seconds': { type: 'string', default: '3' },
    history: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usageOf(import.meta.filename));
  process.exit(0);
}
const times = Number(values.times ?? (values.quick ? 8 : 50));
const recipients = Number(values.recipients ?? (values.quick ? 3_000 : 20_000));
const workers = Number(values.workers);
const [connections, window] = [Number(values.connections), Number(values.window)];
const policy = values.policy === 'park' ? 'park' : 'retry';
const SNAPSHOT_PAUSE_MS_MAX = 60;
/** However bad it was: an hour after the last disturbance everything is over, or never will be. */
const END_MS_MAX = 3_600_000;

if (!(values.scenario in scenarios)) {
  console.error(`There is no scenario "${values.scenario}": take one of ${Object.keys(scenarios).join(', ')}.`);
  process.exit(2);
}
await main();

async function main(): Promise<void> {
  const history = new History(values.history);
  const random = seededRandom(Number(values.seed));
  history.write({
    ...{ kind: 'plan', seed: Number(values.seed), policy, recipients, scenario: values.scenario },
    inFlightMax: connections * window * workers,
  });
  const settings = { SEND_BATCH_SIZE: '200', SEND_LEASE_SECONDS: values['lease-seconds'] };
  const world = await createWorld({
    ...{ recipients, policy, connections, window, settings },
    ...{ smallDisk: values.scenario === 'disk', shiftedClocks: values.scenario === 'clocks' },
    delayMs: Number(values['delay-ms']),
  });
  const processes = new Processes(world, history);
  // Cut short, it leaves nothing running behind.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void Promise.all([processes.killAll(), world.close()]).finally(() => process.exit(130)));
  }
  const startedAt = performance.now();
  try {
    const web = await processes.startWeb();
    await world.newCampaign(web, history);
    for (let n = 0; n < workers; n++) await processes.startWorker();
    await web.rest('POST', `/campaigns/${world.campaignUid}/run`);
    const watching = watch(world, history);
    const clients = startClients(world, history, () => processes.web);
    await torment({ world, history, random, processes }, { scenario: values.scenario, times, recipients });
    await untilDone(world);
    await clients.stop();
    await watching.stop();
    for (const row of await world.finalRows()) history.write(row);
    history.write({ kind: 'ended', status: (await world.snapshot()).status });
  } finally {
    await processes.stop();
    await world.close();
    await history.close();
  }
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  console.log(
    `scenario ${values.scenario}, ${times} times, ${recipients} recipients, policy ${policy}, seed ${values.seed}: ${seconds} s`,
  );
  if (!printVerdicts(judge(history.events), history.events)) process.exitCode = 1;
}

/** Looks at the ledger and its counters at odd moments, for as long as the run goes on. */
function watch(world: World, history: History): { stop(): Promise<void> } {
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      history.write(await world.snapshot());
      await sleep(Math.random() * SNAPSHOT_PAUSE_MS_MAX);
    }
  })();
  return {
    stop() {
      isOver = true;
      return watching;
    },
  };
}

async function untilDone(world: World): Promise<void> {
  const deadline = performance.now() + END_MS_MAX;
  while (performance.now() < deadline) {
    if ((await world.snapshot()).status === 'done') return;
    await sleep(100);
  }
}
