/**
 * Messages per second of the SMTP driver, and the CPU that one costs, against Postfix's `smtp-sink` where there is one
 * (SMTP_SINK=/path, or on the PATH), else against a receiver of this program that swallows everything. Where
 * `smtp-source` lies beside the sink, it is measured in the same run.
 *
 *   node bench/smtp-driver.ts [--smoke] [--messages 20000] [--connections 5] [--window 10] [--bytes 11000]
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { connectSmtp } from '../plugins/mailwright/smtp/smtp-driver.ts';
import { validateSettings } from '../plugins/mailwright/smtp/settings.ts';
import type { SendingDriver } from '../src/plugin-api/index.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    messages: { type: 'string' },
    connections: { type: 'string', default: '5' },
    window: { type: 'string', default: '10' },
    bytes: { type: 'string', default: '11000' },
  },
});
const messageCount = Number(values.messages ?? (values.smoke ? 500 : 20_000));
const bodyBytes = Number(values.bytes);

await main();

async function main(): Promise<void> {
  const sinkPath = findSink();
  if (sinkPath !== undefined) await measureSink(sinkPath);
  const { server, port } = await startSwallower();
  await measureDriver('own receiver, CHUNKING', port);
  server.close();
}

async function measureSink(path: string): Promise<void> {
  const { sink, port } = await startSink(path);
  try {
    await measureDriver('smtp-sink', port);
    measureSource(join(dirname(path), 'smtp-source'), port);
    await measureDriver('smtp-sink again', port);
  } finally {
    sink.kill();
  }
}

async function measureDriver(name: string, port: number): Promise<void> {
  const checked = validateSettings({
    host: '127.0.0.1',
    port,
    encryption: 'none',
    connections: Number(values.connections),
    window: Number(values.window),
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const driver = connectSmtp(checked.settings, {
    connectionsMax: 100,
    clientName: 'bench.invalid',
    replyTimeoutMs: 30_000,
  });
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
  await sendAll(driver, messageCount);
  const seconds = (performance.now() - startedAt) / 1000;
  const used = process.cpuUsage(cpu);
  await driver.close();
  const cpuMicroseconds = (used.user + used.system) / messageCount;
  console.log(
    `${name}: ${Math.round(messageCount / seconds)} messages/s, ${cpuMicroseconds.toFixed(0)} us CPU a message`,
  );
}

/** Keeps the driver's capacity filled, as a worker does. */
async function sendAll(driver: SendingDriver, count: number): Promise<void> {
  const content = Buffer.from(
    `Subject: bench\r\n\r\n${'All work and no play makes a dull inbox.\r\n'.repeat(bodyBytes / 42)}`,
  );
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const number = next++;
      const envelope = { from: 'bounces@bench.invalid', to: `person${number}@bench.invalid` };
      await driver.send({
        envelope,
        content,
        messageId: `<${number}@bench.invalid>`,
        idempotencyKey: String(number),
        needsSmtpUtf8: false,
      });
    }
  };
  await Promise.all(Array.from({ length: driver.capacity }, lane));
}

function measureSource(path: string, port: number): void {
  if (!existsSync(path)) return;
  const startedAt = performance.now();
  const run = spawnSync(
    path,
    ['-s', values.connections, '-l', String(bodyBytes), '-m', String(messageCount), `127.0.0.1:${port}`],
    {
      env: postfixEnvironment(path),
      stdio: 'inherit',
    },
  );
  const seconds = (performance.now() - startedAt) / 1000;
  if (run.status === 0) console.log(`smtp-source: ${Math.round(messageCount / seconds)} messages/s`);
}

function findSink(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'smtp-sink'));
  return [process.env['SMTP_SINK'] ?? '', '/usr/sbin/smtp-sink', ...folders].find(
    (path) => path !== '' && existsSync(path),
  );
}

/** An unpacked package has its libraries beside its programs. */
function postfixEnvironment(path: string): NodeJS.ProcessEnv {
  return { ...process.env, LD_LIBRARY_PATH: join(dirname(path), '../lib/postfix') };
}

async function startSink(path: string): Promise<{ sink: ChildProcess; port: number }> {
  const port = await freePort();
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const sink = spawn(path, [...user, `127.0.0.1:${port}`, '1000'], { env: postfixEnvironment(path), stdio: 'inherit' });
  while (!(await answers(port))) await new Promise((resolve) => setTimeout(resolve, 50));
  return { sink, port };
}

async function freePort(): Promise<number> {
  const { server, port } = await listen(() => {});
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.destroy()).on('close', (failed) => resolve(!failed));
    socket.on('error', () => {});
  });
}

/** A receiver that offers PIPELINING and CHUNKING and forgets every message: it costs as little as can be. */
function startSwallower(): Promise<{ server: Server; port: number }> {
  return listen((socket) => {
    let rest: Buffer = Buffer.alloc(0);
    let skip = 0;
    socket.write('220 swallower\r\n');
    socket
      .on('error', () => {})
      .on('data', (chunk: Buffer) => {
        let replies = '';
        let bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
        for (;;) {
          const skipped = Math.min(skip, bytes.length);
          bytes = bytes.subarray(skipped);
          skip -= skipped;
          const end = bytes.indexOf(10);
          if (skip > 0 || end < 0) break;
          const command = bytes.toString('latin1', 0, end).trim();
          bytes = bytes.subarray(end + 1);
          if (command.startsWith('BDAT')) skip = Number(command.split(' ')[1]);
          replies += command.startsWith('EHLO')
            ? '250-swallower\r\n250-PIPELINING\r\n250 CHUNKING\r\n'
            : '250 2.0.0 Ok\r\n';
        }
        rest = bytes;
        if (replies !== '') socket.write(replies);
      });
  });
}

function listen(onSocket: (socket: Socket) => void): Promise<{ server: Server; port: number }> {
  return new Promise((resolve) => {
    const server = createServer(onSocket).listen(0, '127.0.0.1', () =>
      resolve({ server, port: (server.address() as AddressInfo).port }),
    );
  });
}
