/**
 * No CR and no LF leaves alone, whatever a driver is given: a server that takes one for a line end would find the end of a message
 * where a stranger wrote it, and a second message behind it (SMTP smuggling). FUZZ_RUNS=5000 sends so many bodies.
 */
import { afterAll, expect, test } from 'vitest';
import { chunkTransfer, dataTransfer } from '../../plugins/mailwright/smtp/content.ts';
import { validateSettings } from '../../plugins/mailwright/smtp/settings.ts';
import { connectSmtp } from '../../plugins/mailwright/smtp/smtp-driver.ts';
import { drawn, fc } from '../support/property.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';

const SECOND =
  'MAIL FROM:<evil@evil.test>\r\nRCPT TO:<victim@there.test>\r\nDATA\r\nSubject: mine\r\n\r\nmine\r\n.\r\n';
/** What is said to end a message by one server or another. */
const ENDS = [
  '\n.\n',
  '\n.\r\n',
  '\r\n.\n',
  '\r.\r',
  '\r\n.\r',
  '\r.\r\n',
  '\n\n.\r\r',
  '\r\r\n.\r\r\n',
  '\r\n\0.\r\n',
];
const PARTS = [
  '.',
  '..',
  '\r',
  '\n',
  '\r\n',
  '\n\r',
  '\r\r',
  '\0',
  'a',
  'text. ',
  'ü',
  '=\r',
  ...ENDS,
  ...ENDS.map((end) => end + SECOND),
];

const body = fc
  .record({
    parts: fc.array(fc.constantFrom(...PARTS), { maxLength: 40 }),
    // Bytes are scanned 64 KiB at a time: line ends lie on that border, too.
    before: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 65_533, 65_534, 65_535, 65_536),
    isBroken: fc.boolean(),
  })
  .map(({ parts, before, isBroken }) => {
    const filling = isBroken ? `${'x'.repeat(98)}\r\n`.repeat(before / 100) : '';
    return Buffer.from(filling + 'x'.repeat(before - filling.length) + parts.join(''));
  });

/** As it is to arrive: every line end the same, and one at the end. */
function canonical(content: Buffer): string {
  const lines = content.toString('latin1').replaceAll(/\r\n|\r|\n/g, '\r\n');
  return lines.endsWith('\r\n') ? lines : `${lines}\r\n`;
}

const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

async function driverFor(port: number) {
  const checked = validateSettings({ host: '127.0.0.1', port, encryption: 'none', connections: 2, window: 5 });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const driver = connectSmtp(checked.settings, {
    connectionsMax: 2,
    clientName: 'client.test',
    replyTimeoutMs: 20_000,
  });
  closing.push(() => driver.close());
  return driver;
}

test.each([
  ['by DATA', []],
  ['by DATA, pipelined', ['PIPELINING']],
  ['by BDAT', ['PIPELINING', 'CHUNKING']],
  ['by DATA to a server with CHUNKING alone', ['CHUNKING']],
])(
  'hostile bodies arrive as they were but for their line ends, one message each: %s',
  { timeout: 300_000 },
  async (_how, extensions) => {
    await using server = await scriptedSmtpServer({ extensions });
    const driver = await driverFor(server.port);
    const bodies = fc.sample(body, drawn(500));
    await Promise.all(
      bodies.map((content, number) =>
        driver.send({
          ...{ envelope: { from: 'a@house.test', to: `p${number}@there.test` }, content },
          ...{ messageId: String(number), idempotencyKey: String(number), needsSmtpUtf8: false },
        }),
      ),
    );
    expect(server.accepted).toHaveLength(bodies.length);
    expect(server.lines.filter((line) => /evil|victim/.test(line))).toEqual([]);
    const arrived = new Map(server.accepted.map(({ to, content }) => [to, content]));
    const wrong = bodies.filter((content, number) => arrived.get(`p${number}@there.test`) !== canonical(content));
    expect(wrong).toEqual([]);
  },
);

test('nothing stands alone in what the transfers make', () => {
  fc.assert(
    fc.property(body, (content) => {
      for (const { content: bytes, tail } of [dataTransfer(content), chunkTransfer('', content)])
        expect(Buffer.from(bytes ?? []).toString('latin1') + (tail ?? '')).not.toMatch(/\r(?!\n)|(?<!\r)\n/);
    }),
    { numRuns: drawn(500) },
  );
});
