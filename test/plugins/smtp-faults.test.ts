/**
 * The SMTP driver and servers that do all that servers do (test/support/smtp-faults.ts), judged by the server's own list:
 * what the driver calls sent is there once, what it calls not sent is not there, and only where nobody can know it says
 * so. Whoever tries again gets every message through, and no socket is left.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fc } from '../support/property.ts';
import { describe, expect, it } from 'vitest';
import { connectSmtp } from '../../plugins/mailwright/smtp/smtp-driver.ts';
import { validateSettings } from '../../plugins/mailwright/smtp/settings.ts';
import { SendingError, type OutgoingMessage, type SendingDriver } from '../../src/plugin-api/index.ts';
import { scriptedSmtpServer, type ScriptedOptions, type ScriptedServer } from '../support/scripted-smtp-server.ts';
import { smtpFaults, type SmtpFault } from '../support/smtp-faults.ts';

const MESSAGES = 14;
const ROUNDS_MAX = 40;
const REPLY_TIMEOUT_MS = 250;
const EXTENSIONS = {
  lockstep: [],
  pipelined: ['PIPELINING', 'SIZE 30000000'],
  chunked: ['PIPELINING', 'CHUNKING', '8BITMIME'],
} as const;
type Mode = keyof typeof EXTENSIONS;

function driverFor(port: number, settings: Readonly<Record<string, unknown>> = {}): SendingDriver {
  const checked = validateSettings({ host: '127.0.0.1', port, encryption: 'none', connections: 2, ...settings });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  return connectSmtp(checked.settings, {
    connectionsMax: 10,
    clientName: 'client.test',
    replyTimeoutMs: REPLY_TIMEOUT_MS,
  });
}

function messageTo(number: number): OutgoingMessage {
  return {
    envelope: { from: 'bounce@house.test', to: `p${number}@there.test` },
    content: Buffer.from(`Subject: ${number}\r\n\r\nHello ${number}\r\nMAIL FROM:<evil@x.test>\r\n.\r\n`),
    messageId: `<${number}@house.test>`,
    idempotencyKey: String(number),
    needsSmtpUtf8: false,
  };
}

/** `sent`, or the kind of the error; anything that is no SendingError is a broken contract. */
function fate(driver: SendingDriver, number: number): Promise<string> {
  return driver.send(messageTo(number)).then(
    () => 'sent',
    (error: unknown) => {
      if (error instanceof SendingError) return error.kind;
      throw error;
    },
  );
}

interface Story {
  readonly ends: Map<number, string>;
  readonly rounds: number;
}

/** Sends as the ledger does: what was certainly not taken is sent again, what is unknown or refused is not. */
async function sendAll(driver: SendingDriver, afterFirst: () => void): Promise<Story> {
  const ends = new Map<number, string>(Array.from({ length: MESSAGES }, (_, number) => [number, 'unavailable']));
  let rounds = 0;
  for (; rounds < ROUNDS_MAX; rounds++) {
    const open = [...ends].filter(([, end]) => end === 'unavailable' || end === 'deferred').map(([number]) => number);
    if (open.length === 0) break;
    await Promise.all(open.map(async (number) => ends.set(number, await fate(driver, number))));
    afterFirst();
  }
  return { ends, rounds };
}

/** What the driver said against what the server has. */
function contradictions({ accepted }: ScriptedServer, ends: ReadonlyMap<number, string>): string[] {
  const copies = new Map<string, number>();
  for (const { to } of accepted) copies.set(to, (copies.get(to) ?? 0) + 1);
  return [...ends].flatMap(([number, end]) => {
    const count = copies.get(`p${number}@there.test`) ?? 0;
    const isTrue = end === 'sent' ? count === 1 : end === 'unknown' ? count <= 1 : count === 0;
    return isTrue ? [] : [`${number} is ${end} and there ${count} times`];
  });
}

async function play(fault: SmtpFault, mode: Mode): Promise<string[]> {
  let isOn = true;
  const script = fault.play(() => isOn);
  const extensions = [...EXTENSIONS[mode], ...(script.extensions ?? [])];
  await using server = await scriptedSmtpServer({ ...script, extensions });
  const driver = driverFor(server.port, fault.settings);
  const { ends } = await sendAllOnce(driver, fault, () => (isOn = false));
  await driver.close();
  const faults = contradictions(server, ends);
  const lost = [...ends.values()].filter((end) => !['sent', 'unknown', 'refused'].includes(end)).length;
  if (fault.isForEver === true ? lost !== MESSAGES : lost > 0) faults.push(`${lost} were not sent in the end`);
  if (server.accepted.some(({ from }) => from !== 'bounce@house.test')) faults.push('content became a command');
  await until(() => server.openSockets() === 0);
  if (server.openSockets() > 0) faults.push(`${server.openSockets()} sockets are left`);
  return faults.map((text) => `${mode}, a server that ${fault.name}: ${text}`);
}

/** Where the settings never fit there is nothing to try again for. */
async function sendAllOnce(driver: SendingDriver, fault: SmtpFault, afterFirst: () => void): Promise<Story> {
  if (fault.isForEver !== true) return sendAll(driver, afterFirst);
  const ends = await Promise.all(Array.from({ length: MESSAGES }, (_, number) => fate(driver, number)));
  return { ends: new Map(ends.entries()), rounds: 1 };
}

async function until(isSo: () => boolean): Promise<void> {
  for (let waits = 0; waits < 6_000 && !isSo(); waits++) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe.each(['lockstep', 'pipelined', 'chunked'] as const)('%s', (mode) => {
  it('tells the truth about every message, loses none and leaves no socket, whatever the server does', async () => {
    const fitting = smtpFaults.filter(
      ({ needs }) => needs === undefined || EXTENSIONS[mode].some((name) => name === needs),
    );
    expect(fitting.length).toBeGreaterThan(60);
    const faults = await Promise.all(fitting.map((fault) => play(fault, mode)));
    expect(faults.flat()).toEqual([]);
  });
});

describe('a server at random', () => {
  const deeds = ['reset', 'end', 'silence', 'keep', '421', '451', '550', 'garbage'] as const;

  /** Replies come in pieces and in heaps, and at some replies something else happens. */
  function script(seeds: { pieces: number[]; deeds: [number, (typeof deeds)[number]][] }): ScriptedOptions {
    let replies = 0;
    let piece = 0;
    let isSettling = false;
    const planned = new Map(seeds.deeds);
    const queues = new WeakMap<Socket, string[]>();
    const muted = new WeakSet<Socket>();
    const closing = new WeakSet<Socket>();
    return {
      keepsUnanswered: true,
      answer: ({ verb, session: { socket } }) => {
        if (muted.has(socket)) return null;
        if (closing.has(socket)) return '421 4.3.2 bye';
        const deed = isSettling ? undefined : planned.get(replies++);
        if (replies > 150) isSettling = true;
        if (deed === undefined || verb === 'CONNECT') return undefined;
        if (deed === 'reset' || deed === 'keep') return (socket.resetAndDestroy(), null);
        if (deed === 'end') return (socket.end(), null);
        if (deed === 'silence') return (muted.add(socket), null);
        if (deed === '421') closing.add(socket);
        if (closing.has(socket)) return (setTimeout(() => socket.end(), 5), '421 4.3.2 bye');
        return deed === 'garbage' ? 'garbage' : verb === 'EHLO' ? undefined : `${deed} no`;
      },
      write: (reply, { socket }) => {
        const parts = queues.get(socket) ?? [];
        queues.set(socket, parts);
        for (let at = 0; at < reply.length;) {
          const length = seeds.pieces[piece++ % seeds.pieces.length] ?? 1;
          parts.push(reply.slice(at, at + length));
          at += length;
        }
        setImmediate(() => {
          // two pieces in one write, the next in one of its own: the reader sees cuts and heaps at any place
          while (parts.length > 0) {
            const text = parts.splice(0, parts.length % 3 === 0 ? 2 : 1).join('');
            if (socket.writable) socket.write(text, 'latin1');
          }
        });
      },
    };
  }

  it('never has a message that the driver does not call sent or unknown', async () => {
    const seeds = fc.record({
      pieces: fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 12 }),
      deeds: fc.array(fc.tuple(fc.integer({ min: 0, max: 140 }), fc.constantFrom(...deeds)), { maxLength: 8 }),
      mode: fc.constantFrom<Mode>('lockstep', 'pipelined', 'chunked'),
    });
    await fc.assert(
      fc.asyncProperty(seeds, async ({ mode, ...seed }) => {
        await using server = await scriptedSmtpServer({ ...script(seed), extensions: EXTENSIONS[mode] });
        const driver = driverFor(server.port);
        const { ends } = await sendAll(driver, () => undefined);
        await driver.close();
        expect(contradictions(server, ends)).toEqual([]);
        expect([...ends.values()].filter((end) => end === 'unavailable' || end === 'deferred')).toEqual([]);
        await until(() => server.openSockets() === 0);
        expect(server.openSockets()).toBe(0);
      }),
      { numRuns: Number(process.env['SMTP_RUNS'] ?? 12) },
    );
  });
});

describe('a network', () => {
  it('that swallows packets is given up in time, and leaves nothing behind', async () => {
    // it listens and never accepts: with its queue full the kernel answers nobody any more
    const program =
      "require('net').createServer().listen(0,'127.0.0.1',0,function(){console.log(this.address().port)})";
    const hole = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
    const queued: Socket[] = [];
    try {
      const [line] = (await once(hole.stdout, 'data')) as [Buffer];
      hole.kill('SIGSTOP');
      for (let count = 0; count < 5; count++) queued.push(connect(Number(line), '127.0.0.1').on('error', () => {}));
      await new Promise((resolve) => setTimeout(resolve, 100));
      const driver = driverFor(Number(line));
      expect(await Promise.all([fate(driver, 1), fate(driver, 2)])).toEqual(['unavailable', 'unavailable']);
      await driver.close();
    } finally {
      for (const socket of queued) socket.destroy();
      hole.kill('SIGKILL');
    }
  });
});
