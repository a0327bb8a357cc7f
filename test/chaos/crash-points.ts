/**
 * Kills the sender at every step between claiming a recipient and recording the outcome, one after the other, each in
 * a campaign of its own, lets another worker finish it, and judges each: nobody lost, nobody doubled but who was in
 * flight, the sums right.
 *
 *   npm run chaos:points -- [--policy park|retry] [--every 1] [--from 1] [--recipients 8] [--quick]
 *
 * `--quick` tries a few steps, spread over all. The exit code is 1 when a promise did not hold at some step.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Product } from '../../bench/support/product.ts';
import { History } from './history.ts';
import { judge } from './judge.ts';
import { usageOf } from './usage.ts';
import { createWorld, type World } from './world.ts';

const { values } = parseArgs({
  options: {
    policy: { type: 'string', default: 'retry' },
    every: { type: 'string' },
    from: { type: 'string', default: '1' },
    recipients: { type: 'string', default: '8' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usageOf(import.meta.filename));
  process.exit(0);
}
const policy = values.policy === 'park' ? 'park' : 'retry';
const recipients = Number(values.recipients);
const [connections, window] = [1, 3];
const QUICK_POINTS = 5;
const DONE_MS_MAX = 60_000;
const PRELOAD = ['--import', path.resolve(import.meta.dirname, 'crash-here.ts')];
const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-points-'));
const stepsFile = path.join(folder, 'steps');

const world = await createWorld({
  recipients,
  policy,
  connections,
  window,
  delayMs: 5,
  settings: { SEND_LEASE_SECONDS: '2' },
});
const web = await world.startWeb();
try {
  await main();
} finally {
  await web.stop();
  await world.close();
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const steps = await countSteps();
  const every = Number(values.every ?? (values.quick ? Math.ceil(steps / QUICK_POINTS) : 1));
  let broken = 0;
  let tried = 0;
  for (let at = Number(values.from); at <= steps; at += every) {
    const faults = await crashAt(at);
    tried += 1;
    if (faults.length > 0) broken += 1;
    for (const fault of faults) console.log(`step ${at} of ${steps}: BROKEN ${fault}`);
  }
  console.log(`killed at ${tried} of ${steps} steps, policy ${policy}: ${broken} with a broken promise`);
  if (broken > 0) process.exitCode = 1;
}

/** How many steps an undisturbed campaign has. */
async function countSteps(): Promise<number> {
  const env = { CRASH_SINK_PORT: String(world.sink.port), CRASH_STEPS: stepsFile };
  await world.newCampaign(web, new History());
  const worker = await world.startWorker(env, PRELOAD);
  await run(web);
  await untilDone(world);
  await worker.stop();
  return Number(readFileSync(stepsFile, 'utf8'));
}

/** What was broken by a death at this step. */
async function crashAt(at: number): Promise<string[]> {
  const history = new History();
  history.write({
    kind: 'plan',
    seed: at,
    policy,
    recipients,
    scenario: `step ${at}`,
    inFlightMax: connections * window,
  });
  await world.newCampaign(web, history);
  const env = { CRASH_SINK_PORT: String(world.sink.port), CRASH_AT: String(at) };
  const doomed = await world.startWorker(env, PRELOAD);
  await run(web);
  // The last steps may come after the campaign's end: then nobody dies.
  const died = await Promise.race([doomed.ended.then(() => true), untilDone(world).then(() => false)]);
  if (died) history.write({ kind: 'died', what: 'worker' });
  else await doomed.stop();
  const survivor = await world.startWorker();
  await untilDone(world);
  await survivor.stop();
  history.write(await world.snapshot());
  for (const row of await world.finalRows()) history.write(row);
  history.write({ kind: 'ended', status: (await world.snapshot()).status });
  return judge(history.events).flatMap(({ holds, row, promise, measured }) =>
    holds ? [] : [`${row} ${promise}: ${measured}`],
  );
}

async function run(product: Product): Promise<void> {
  await product.rest('POST', `/campaigns/${world.campaignUid}/run`);
}

async function untilDone({ snapshot }: World): Promise<void> {
  const deadline = performance.now() + DONE_MS_MAX;
  while (performance.now() < deadline && (await snapshot()).status !== 'done') await sleep(50);
}
