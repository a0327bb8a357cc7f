/**
 * The SMTP driver alone: processor time and messages a second, against a receiver that is a program of its own. Beside it
 * stands what bare sockets cost (finished bytes, replies only counted), one message a write and six. What the receiver
 * offers and how late it answers is varied.
 *
 *   node bench/smtp-driver.ts [--smoke] [--messages 20000] [--modes chunking,pipelining,neither] [--delays 0,10] [--repeat 3]
 *     [--connections 10] [--window 20] [--bytes 11000]
 *   node bench/smtp-driver.ts --beside /path/to/another/checkout      its driver in turn with this one
 *
 * With a delay over 50 connections. With SMTP_SINK=/path/to/smtp-sink (Postfix) that receiver is used as well, and the
 * `smtp-source` beside it measured. The rate of the driver depends on the load, its processor time a little.
 */
import { existsSync } from 'node:fs';
import { loadavg } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { connectSmtp } from '../plugins/mailwright/smtp/smtp-driver.ts';
import { validateSettings } from '../plugins/mailwright/smtp/settings.ts';
import type { SendingDriver } from '../src/plugin-api/index.ts';
import { sendBare } from './support/bare-sender.ts';
import { median } from './support/median.ts';
import { runSmtpSource, startPostfixSink } from './support/postfix-sink.ts';
import { startBenchSink, type SinkMode } from './support/sink-process.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    messages: { type: 'string' },
    modes: { type: 'string', default: 'chunking,pipelining,neither' },
    delays: { type: 'string', default: '0,10' },
    repeat: { type: 'string' },
    connections: { type: 'string', default: '10' },
    window: { type: 'string', default: '20' },
    bytes: { type: 'string', default: '11000' },
    beside: { type: 'string' },
  },
});
const MESSAGES = Number(values.messages ?? (values.smoke ? 500 : 20_000));
const REPEAT = Number(values.repeat ?? (values.smoke ? 1 : 3));
const BYTES = Number(values.bytes);
const DELAYED_CONNECTIONS = 50;
/** Different messages, more than the processor's caches hold: a campaign's are. */
const CONTENTS = Array.from({ length: 500 }, (_, index) => contentOf(index));

type Connect = typeof connectSmtp;
/** One way to send all messages. */
type Way = (port: number, connections: number) => Promise<void>;

interface Measured {
  readonly rate: number;
  readonly cpuMicroseconds: number;
}

await main();

async function main(): Promise<void> {
  const ways: Record<string, Way> = { driver: driverWay(connectSmtp) };
  if (values.beside !== undefined) ways['beside'] = driverWay(await driverOf(values.beside));
  for (const delayMs of values.delays.split(',').map(Number)) {
    for (const mode of values.modes.split(',')) {
      if (mode !== 'chunking' && mode !== 'pipelining' && mode !== 'neither') throw new Error(`No such mode: ${mode}`);
      await compare(mode, delayMs, ways);
    }
  }
  const sinkPath = process.env['SMTP_SINK'] ?? '';
  if (existsSync(sinkPath)) await comparePostfix(sinkPath, ways);
}

/** The driver of another checkout of this repository. */
async function driverOf(folder: string): Promise<Connect> {
  const found = await import(path.resolve(folder, 'plugins/mailwright/smtp/smtp-driver.ts'));
  return found.connectSmtp;
}

async function compare(mode: SinkMode, delayMs: number, ways: Readonly<Record<string, Way>>): Promise<void> {
  const connections = delayMs === 0 ? Number(values.connections) : DELAYED_CONNECTIONS;
  console.log(`\n${mode}, replies after ${delayMs} ms, ${connections} connections; load ${load()}`);
  const sink = await startBenchSink(mode, delayMs);
  const bare =
    mode === 'chunking' && delayMs === 0 ? { 'bare sockets': bareWay(1), 'bare, six a write': bareWay(6) } : {};
  const all = { ...bare, ...ways };
  await isFairlyQueued(all, async (way) => {
    await way(sink.port, connections);
    const { messages } = await sink.report('reset');
    if (messages < MESSAGES) throw new Error(`Only ${messages} of ${MESSAGES} messages arrived`);
  });
  sink.close();
}

async function comparePostfix(sinkPath: string, ways: Readonly<Record<string, Way>>): Promise<void> {
  const connections = Number(values.connections);
  console.log(`\nsmtp-sink, ${connections} connections; load ${load()}`);
  const sink = await startPostfixSink(sinkPath);
  try {
    await isFairlyQueued(ways, (way) => way(sink.port, connections));
    const seconds = runSmtpSource(sinkPath, { port: sink.port, connections, bytes: BYTES, messages: MESSAGES });
    if (seconds !== undefined) console.log(`  smtp-source: ${Math.round(MESSAGES / seconds)} messages/s`);
  } finally {
    sink.close();
  }
}

/** All ways after one another, several times, so that all meet the same machine; the first time only warms up. */
async function isFairlyQueued(ways: Readonly<Record<string, Way>>, run: (way: Way) => Promise<void>): Promise<void> {
  const found = new Map<string, Measured[]>(Object.keys(ways).map((name) => [name, []]));
  for (let round = 0; round <= REPEAT; round++) {
    for (const [name, way] of Object.entries(ways)) {
      const measured = await measure(() => run(way));
      if (round > 0) found.get(name)?.push(measured);
    }
  }
  for (const [name, of] of found)
    console.log(
      `  ${name}, median of ${of.length}: ${median(of.map(({ rate }) => rate)).toFixed(0)} messages/s, ${median(of.map(({ cpuMicroseconds }) => cpuMicroseconds)).toFixed(1)} us of processor a message`,
    );
}

async function measure(run: () => Promise<void>): Promise<Measured> {
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
  await run();
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { rate: MESSAGES / seconds, cpuMicroseconds: (user + system) / MESSAGES };
}

function bareWay(perWrite: number): Way {
  return (port, connections) => sendBare({ port, connections, perWrite, messages: MESSAGES, bytes: BYTES });
}

function driverWay(connectDriver: Connect): Way {
  return async (port, connections) => {
    const checked = validateSettings({
      host: '127.0.0.1',
      port,
      encryption: 'none',
      connections,
      window: Number(values.window),
    });
    if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
    const driver = connectDriver(checked.settings, {
      connectionsMax: connections,
      clientName: 'bench.invalid',
      replyTimeoutMs: 30_000,
    });
    await sendAll(driver);
    await driver.close();
  };
}

/** Keeps the driver's capacity filled, as a worker does. */
async function sendAll(driver: SendingDriver): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < MESSAGES) {
      const number = next++;
      await driver.send({
        envelope: { from: 'bounces@bench.invalid', to: `person${number}@bench.invalid` },
        content: CONTENTS[number % CONTENTS.length] ?? Buffer.alloc(0),
        messageId: `<${number}@bench.invalid>`,
        idempotencyKey: String(number),
        needsSmtpUtf8: false,
      });
    }
  };
  await Promise.all(Array.from({ length: driver.capacity }, lane));
}

function contentOf(index: number): Buffer {
  const line = `All work and no play makes a dull inbox ${index}.\r\n`;
  return Buffer.from(`Subject: bench\r\n\r\n${line.repeat(BYTES / line.length)}`);
}

function load(): string {
  return (loadavg()[0] ?? 0).toFixed(1);
}
