/**
 * The drivers of vendors with a web interface beside the SMTP driver: messages a second, and processor time a message, where every answer
 * takes 20 ms. The other side is a program of its own. The SMTP server offers no pipelining, as one reply at a time is what HTTP can do, too;
 * and then pipelining. With `--memory` one driver sends many, and the memory is told every tenth of them.
 *
 *   node bench/vendor-drivers.ts [--smoke] [--messages 5000] [--repeat 3] [--connections 20] [--delay 20] [--bytes 11000] [--types mailgun-api]
 *   node bench/vendor-drivers.ts --memory 50000
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { connectSmtp } from '../plugins/mailwright/smtp/smtp-driver.ts';
import { validateSettings } from '../plugins/mailwright/smtp/settings.ts';
import { openOutboundPool } from '../src/lib/outbound-pool.ts';
import { silentLog } from '../src/lib/log.ts';
import type { Plugin, SendingDriver, SendingDriverRegistration } from '../src/plugin-api/index.ts';
import { createHookBus } from '../src/plugin-host/hook-bus.ts';
import { benchVendors } from './support/bench-vendors.ts';
import { median } from './support/median.ts';
import { startBenchSink } from './support/sink-process.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    messages: { type: 'string' },
    repeat: { type: 'string' },
    connections: { type: 'string', default: '20' },
    delay: { type: 'string', default: '20' },
    bytes: { type: 'string', default: '11000' },
    types: { type: 'string', default: benchVendors.map(({ type }) => type).join(',') },
    memory: { type: 'string' },
  },
});
const MESSAGES = Number(values.messages ?? (values.smoke ? 200 : 5_000));
const REPEAT = Number(values.repeat ?? (values.smoke ? 1 : 3));
const CONNECTIONS = Number(values.connections);
const DELAY_MS = Number(values.delay);
const TYPES = values.types.split(',');
/** Parts of a run for which the memory is told. */
const PARTS = 10;
const MEGABYTE = 1_048_576;
const options = { connectionsMax: CONNECTIONS, clientName: 'bench.invalid', replyTimeoutMs: 30_000 };
const CONTENTS = Array.from({ length: 200 }, (_, index) => contentOf(index));

let sent = 0;

interface Way {
  readonly name: string;
  readonly driver: SendingDriver;
  count(): Promise<number>;
  close(): void;
}

console.log(`Answers after ${DELAY_MS} ms, ${CONNECTIONS} connections; load ${(loadavg()[0] ?? 0).toFixed(1)}`);
if (values.memory === undefined) await compare();
else await watchMemory(Number(values.memory));

/** All ways in turns, so that all meet the same machine; the first round only warms up. */
async function compare(): Promise<void> {
  const ways = [await smtpWay('neither'), await smtpWay('pipelining')];
  for (const type of TYPES) ways.push(await vendorWay(type));
  const found = new Map(ways.map(({ name }) => [name, { rates: [] as number[], cpus: [] as number[] }]));
  for (let round = 0; round <= REPEAT; round++) {
    for (const way of ways) {
      const before = await way.count();
      const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
      await sendAll(way.driver, MESSAGES);
      const { user, system } = process.cpuUsage(cpu);
      const rate = (MESSAGES * 1_000) / (performance.now() - startedAt);
      const arrived = (await way.count()) - before;
      if (arrived < MESSAGES) throw new Error(`${way.name}: only ${arrived} of ${MESSAGES} messages arrived.`);
      if (round === 0 && REPEAT > 0) continue;
      found.get(way.name)?.rates.push(rate);
      found.get(way.name)?.cpus.push((user + system) / MESSAGES);
    }
  }
  const reference = median(found.get(ways[0]?.name ?? '')?.rates ?? []);
  for (const [name, { rates, cpus }] of found)
    console.log(
      `  ${name.padEnd(24)} ${median(rates).toFixed(0).padStart(6)} messages/s (${(median(rates) / reference).toFixed(2)}), ${median(cpus).toFixed(0)} us of processor a message`,
    );
  for (const way of ways) {
    await way.driver.close();
    way.close();
  }
}

async function watchMemory(messages: number): Promise<void> {
  for (const type of TYPES) {
    const way = await vendorWay(type);
    const sizes: string[] = [];
    for (let part = 0; part <= PARTS; part++) {
      sizes.push((process.memoryUsage().rss / MEGABYTE).toFixed(0));
      if (part < PARTS) await sendAll(way.driver, messages / PARTS);
    }
    console.log(`  ${type}: ${sizes.join(', ')} MB`);
    await way.driver.close();
    way.close();
  }
}

async function smtpWay(mode: 'neither' | 'pipelining'): Promise<Way> {
  const sink = await startBenchSink(mode, DELAY_MS);
  const settings = { host: '127.0.0.1', port: sink.port, encryption: 'none', max_connections: CONNECTIONS };
  const checked = validateSettings(settings);
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const driver = connectSmtp(checked.settings, options);
  return {
    ...{ name: mode === 'neither' ? 'smtp' : 'smtp with PIPELINING', driver },
    count: async () => (await sink.report()).messages,
    close: () => sink.close(),
  };
}

async function vendorWay(type: string): Promise<Way> {
  const known = benchVendors.find((vendor) => vendor.type === type);
  if (!known) throw new Error(`No such vendor: ${type}`);
  const program = path.join(import.meta.dirname, 'support/vendor-program.ts');
  const child = fork(program, ['--type', type, '--delay', String(DELAY_MS)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [{ port }] = await once(child, 'message');
  const registration = driverOf(known.plugin, type);
  const endpoint = `http://127.0.0.1:${port}`;
  const checked = registration.validate({ ...known.settings, endpoint, max_connections: CONNECTIONS });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const driver = registration.connect(checked.settings, { ...options, openHttp: openOutboundPool });
  return {
    ...{ name: type, driver },
    async count() {
      child.send('count');
      const [{ count }] = await once(child, 'message');
      return count;
    },
    close: () => void child.kill(),
  };
}

function driverOf(plugin: Plugin, type: string): SendingDriverRegistration {
  const bus = createHookBus(silentLog);
  bus.register(plugin);
  bus.boot(plugin);
  bus.goLive(plugin.name);
  const driver = bus.collect('register_sending_server_driver').find((entry) => entry.type === type);
  if (!driver) throw new Error(`The plugin registers no driver ${type}.`);
  return driver;
}

/** Keeps the driver's capacity filled, as a worker does. */
async function sendAll(driver: SendingDriver, messages: number): Promise<void> {
  const end = sent + messages;
  const lane = async (): Promise<void> => {
    while (sent < end) {
      const number = sent++;
      await driver.send({
        envelope: { from: 'bounces@bench.invalid', to: `person${number}@bench.invalid` },
        content: CONTENTS[number % CONTENTS.length] ?? Buffer.alloc(0),
        messageId: `<${number}@bench.invalid>`,
        idempotencyKey: `bench.${number}`,
        needsSmtpUtf8: false,
      });
    }
  };
  await Promise.all(Array.from({ length: driver.capacity }, lane));
}

function contentOf(index: number): Buffer {
  const line = `<p>All work and no play makes a dull inbox ${index}.</p>\r\n`;
  return Buffer.from(
    `From: Bench <news@bench.invalid>\r\nTo: <person@bench.invalid>\r\nSubject: bench ${index}\r\nMessage-ID: <${index}@bench.invalid>\r\n` +
      `List-Unsubscribe: <https://bench.invalid/u/${index}>\r\nMIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${line.repeat(Number(values.bytes) / line.length)}`,
  );
}
