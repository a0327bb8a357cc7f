/** What goes wrong, and when: all of it chosen by the seed. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Product } from '../../bench/support/product.ts';
import type { SinkMood } from './faulty-sink.ts';
import type { History } from './history.ts';
import type { Random } from './random.ts';
import type { WorkerProcess } from './worker-process.ts';
import type { World } from './world.ts';

/** The processes of the product that run now; the nemesis kills them and starts them again. */
export class Processes {
  readonly #world: World;
  readonly #history: History;
  #web: Product | undefined;
  readonly #workers: WorkerProcess[] = [];

  constructor(world: World, history: History) {
    this.#world = world;
    this.#history = history;
  }

  get web(): Product | undefined {
    return this.#web;
  }

  async startWeb(): Promise<Product> {
    this.#web = await this.#world.startWeb();
    this.#history.write({ kind: 'started', what: 'web' });
    return this.#web;
  }

  async startWorker(): Promise<void> {
    this.#workers.push(await this.#world.startWorker());
    this.#history.write({ kind: 'started', what: 'worker' });
  }

  async killWeb(): Promise<void> {
    const web = this.#web;
    this.#web = undefined;
    if (web) await this.#kill(web, 'web');
  }

  async killWorker(): Promise<void> {
    const worker = this.#workers.shift();
    if (worker) await this.#kill(worker, 'worker');
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all().map((product) => product.stop()));
  }

  async killAll(): Promise<void> {
    await Promise.all(this.#all().map((product) => product.kill()));
  }

  #all(): (Product | WorkerProcess)[] {
    return [...this.#workers.splice(0), ...(this.#web ? [this.#web] : [])];
  }

  async #kill(product: Product | WorkerProcess, what: string): Promise<void> {
    this.#history.write({ kind: 'killed', what });
    await product.kill();
  }
}

export interface Ground {
  readonly world: World;
  readonly history: History;
  readonly random: Random;
  readonly processes: Processes;
}

export type Disturbance = (ground: Ground) => Promise<void>;

const BAD_MOODS: readonly SinkMood[] = ['refuse', 'stall', 'close-in-content', 'closing', 'silent-accept'];
const MOOD_MS_MAX = 2_000;
/** Nothing is answered any more by then. */
const DATABASE_DIES_MS = 300;
const DISK_FULL_MS = 10_000;
/** An hour and a day, both ways: summer time, and somebody who sets the date. */
const CLOCK_OFFSETS_SECONDS = [0, 3_600, -3_600, 86_400, -86_400];

const killWorker: Disturbance = async (ground) => {
  const { processes, world } = ground;
  await processes.killWorker();
  const [startedAt, before] = [performance.now(), world.sink.acceptedCount];
  await processes.startWorker();
  await noteResumed(ground, { startedAt, before, since: 'kill of a worker, start of the next included' });
};

/** Nobody replaces it: the others take over what it had begun. Only where there are others. */
const loseWorker: Disturbance = async ({ processes, world, history }) => {
  await processes.killWorker();
  const startedAt = performance.now();
  const left = await world.underWay();
  while ((await world.stillUnderWay(left)) > 0) await sleep(50);
  const since = 'kill of a worker, all that it had taken over by others';
  history.write({ kind: 'resumed', afterMs: performance.now() - startedAt, since });
  await processes.startWorker();
};

const killWeb: Disturbance = async ({ processes }) => {
  await processes.killWeb();
  await processes.startWeb();
};

const cutDatabase: Disturbance = async (ground) => {
  const { world, history } = ground;
  history.write({ kind: 'fault', what: 'database cut' });
  await world.cutDatabase();
  await sleep(DATABASE_DIES_MS);
  await world.query('SELECT 1');
  const [startedAt, before] = [performance.now(), world.sink.acceptedCount];
  await noteResumed(ground, { startedAt, before, since: 'return of the database' });
};

/** Waits for the next message. The campaign may have had its last one already. */
async function noteResumed(
  { world, history }: Ground,
  { startedAt, before, since }: { startedAt: number; before: number; since: string },
): Promise<void> {
  while (world.sink.acceptedCount === before && (await world.snapshot()).status !== 'done') await sleep(20);
  if (world.sink.acceptedCount > before)
    history.write({ kind: 'resumed', afterMs: performance.now() - startedAt, since });
}

const cutConnections: Disturbance = async ({ world, history }) => {
  history.write({ kind: 'fault', what: 'all connections of the database ended' });
  await world.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
  );
};

const spoilSink: Disturbance = async ({ world, history, random }) => {
  const mood = random.pick(BAD_MOODS);
  history.write({ kind: 'fault', what: `receiver: ${mood}` });
  world.sink.mood = mood;
  await sleep(100 + random.below(MOOD_MS_MAX));
  world.sink.mood = 'well';
};

/** Fills the database's disk for a while: only on one that was made for it (`startSmallDisk`). */
const fillDisk: Disturbance = async ({ world, history }) => {
  history.write({ kind: 'fault', what: 'disk full' });
  const empty = await world.fillDisk();
  await sleep(DISK_FULL_MS);
  await empty();
};

/** Sets the clock of each process wrong, and each otherwise: only of those that were started with such clocks. */
const shiftClocks: Disturbance = async ({ world, history, random }) => {
  const offsets = Array.from({ length: 3 }, () => random.pick(CLOCK_OFFSETS_SECONDS));
  history.write({ kind: 'fault', what: `clocks: ${offsets.join(', ')} seconds` });
  world.setClocks(offsets);
};

/** Which disturbances a scenario is made of; one is picked each time. */
export const scenarios: Readonly<Record<string, readonly Disturbance[]>> = {
  kills: [killWorker, killWorker, killWorker, killWeb],
  takeover: [loseWorker],
  database: [cutDatabase],
  connections: [cutConnections],
  receiver: [spoilSink],
  disk: [fillDisk],
  clocks: [shiftClocks],
  all: [killWorker, killWeb, cutDatabase, cutConnections, spoilSink],
};

/** Hurts so often as it is told, each time after the campaign has moved on a little, or has ended. */
export async function torment(
  ground: Ground,
  { scenario, times, recipients }: { scenario: string; times: number; recipients: number },
): Promise<void> {
  const disturbances = scenarios[scenario] ?? [];
  const { world, random } = ground;
  for (let time = 1; time <= times; time++) {
    const share = recipients / (times + 1);
    const target = share * time + random.below(share / 2);
    while (world.sink.acceptedCount < target && !(await isOver(world))) await sleep(10);
    if (await isOver(world)) return;
    await random.pick(disturbances)(ground);
  }
}

async function isOver(world: World): Promise<boolean> {
  return (await world.snapshot()).status === 'done';
}
