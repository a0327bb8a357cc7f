/**
 * The driver for mail programs alone: messages a second and processor time, its own and that of the programs. Without a program of its
 * own, to one that reads its message and does nothing, which is what a process costs at least.
 *
 *   node bench/sendmail-driver.ts [--smoke] [--messages 2000] [--processes 1,5,20] [--bytes 11000] [--path /usr/sbin/sendmail]
 *
 * Take `--path` only for a mail program that delivers nothing: the recipients are `p<n>@there.test`.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { connectSendmail } from '../plugins/mailwright/sendmail/sendmail-driver.ts';
import { cpuMsOf, cpuMsOfAll } from './support/processor-time.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    messages: { type: 'string' },
    processes: { type: 'string', default: '1,5,20' },
    bytes: { type: 'string', default: '11000' },
    path: { type: 'string' },
  },
});
const MESSAGES = Number(values.messages ?? (values.smoke ? 50 : 2_000));
const LINE = `${'x'.repeat(70)}\r\n`;
const CONTENT = Buffer.from(`Subject: Bench\r\n\r\n${LINE.repeat(Math.ceil(Number(values.bytes) / LINE.length))}`);

const folder = mkdtempSync(path.join(tmpdir(), 'mailwright-bench-'));
try {
  const program = values.path ?? readingProgram();
  console.log(`${MESSAGES} messages of ${CONTENT.length} bytes to ${program}, load ${loadavg()[0]?.toFixed(0)}`);
  for (const processes of values.processes.split(',').map(Number)) await measure(program, processes);
} finally {
  rmSync(folder, { recursive: true });
}

async function measure(program: string, processes: number): Promise<void> {
  const options = { connectionsMax: processes, clientName: 'bench.test', replyTimeoutMs: 60_000 };
  const driver = connectSendmail({ path: program }, options);
  const before = { own: cpuMsOf(process.pid), all: cpuMsOfAll(process.pid), at: performance.now() };
  await Promise.all(
    Array.from({ length: MESSAGES }, (_, no) =>
      driver.send({
        envelope: { from: 'bounce@house.test', to: `p${no}@there.test` },
        content: CONTENT,
        messageId: `<${no}@house.test>`,
        idempotencyKey: `${no}`,
        needsSmtpUtf8: false,
      }),
    ),
  );
  const seconds = (performance.now() - before.at) / 1_000;
  const own = (cpuMsOf(process.pid) - before.own) / MESSAGES;
  const all = (cpuMsOfAll(process.pid) - before.all) / MESSAGES;
  await driver.close();
  console.log(
    `${processes} processes: ${(MESSAGES / seconds).toFixed(0)} a second; ms of processor time a message: ${own.toFixed(2)} own, ${(all - own).toFixed(2)} the programs`,
  );
}

function readingProgram(): string {
  const program = path.join(folder, 'sendmail');
  writeFileSync(program, '#!/bin/sh\nexec cat > /dev/null\n');
  chmodSync(program, 0o755);
  return program;
}
