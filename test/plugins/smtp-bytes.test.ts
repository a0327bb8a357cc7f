/** What the SMTP driver makes of bytes: content into transfers, transfers into writes, a server's bytes into replies. */
import { fc } from '../support/property.ts';
import { describe, expect, it } from 'vitest';
import { chunkTransfer, dataTransfer, type Transfer } from '../../plugins/mailwright/smtp/content.ts';
import { Outbox } from '../../plugins/mailwright/smtp/outbox.ts';
import { ReplyReader, type Reply } from '../../plugins/mailwright/smtp/reply.ts';
import { validateSettings } from '../../plugins/mailwright/smtp/settings.ts';
import { connectSmtp } from '../../plugins/mailwright/smtp/smtp-driver.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';

/** Dots, line ends and their halves more often than anything else. */
const content = fc
  .array(fc.constantFrom('.', '\r\n', '\n', '\r', '\r\n.', 'a', 'text', 'ü'), { maxLength: 60 })
  .map((parts) => Buffer.from(parts.join('')));

function bytesOf({ commands, content: body, tail }: Transfer): Buffer {
  return Buffer.concat([Buffer.from(commands), body ?? Buffer.alloc(0), Buffer.from(tail ?? '')]);
}

describe('a DATA transfer', () => {
  it('gives the content back to whoever takes the stuffing off, and ends nowhere before its end', () => {
    fc.assert(
      fc.property(content, (body) => {
        const sent = bytesOf(dataTransfer(body)).toString('latin1');
        const lines = body.toString('latin1').replaceAll(/\r\n|\r|\n/g, '\r\n');
        const whole = lines.endsWith('\r\n') ? lines : `${lines}\r\n`;
        const end = sent.startsWith('.\r\n') ? 0 : sent.indexOf('\r\n.\r\n') + 2;
        expect(end).toBe(sent.length - 3);
        expect(sent.slice(0, end).replace(/^\.\./, '.').replaceAll('\n..', '\n.')).toBe(whole);
      }),
      { numRuns: 2_000 },
    );
  });

  it('does not copy content that needs no stuffing', () => {
    const body = Buffer.from('Subject: a\r\n\r\nno dot. at a line. start\r\n');
    const sent = dataTransfer(body);
    expect(sent.content?.buffer).toBe(body.buffer);
    expect(sent.content?.byteOffset).toBe(body.byteOffset);
  });
});

describe('a BDAT transfer', () => {
  it('counts what follows it', () => {
    fc.assert(
      fc.property(content, (body) => {
        const sent = bytesOf(chunkTransfer('RSET\r\n', body));
        const head = /^RSET\r\nBDAT (\d+) LAST\r\n/.exec(sent.toString('latin1'));
        expect(Number(head?.[1])).toBe(sent.length - (head?.[0].length ?? 0));
      }),
    );
  });
});

describe('an outbox', () => {
  it('hands out in order all that was put in, and says what leaves before it does', () => {
    const transfer = fc.record({
      commands: fc.constantFrom('', 'RSET\r\n', 'RCPT TO:<jürgen@там.test>\r\n', 'NOOP\r\n'.repeat(2_000)),
      size: fc.constantFrom(0, 1, 11_000, 131_072, 131_073, 300_000),
      tail: fc.constantFrom('', '\r\n.\r\n'),
      isKept: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(transfer, { maxLength: 12 }), (all) => {
        const outbox = new Outbox();
        const expected: Buffer[] = [];
        const taken: Buffer[] = [];
        let writtenCount = 0;
        for (const [index, { commands, size, tail }] of all.entries()) {
          const one = { commands, content: Buffer.alloc(size, 65 + index), tail };
          expected.push(bytesOf(one));
          outbox.add(one, () => expect(writtenCount++).toBe(index));
        }
        for (const { isKept } of [...all, ...all, ...all, ...all]) {
          if (outbox.isEmpty) break;
          const bytes = outbox.take();
          expect(bytes.length).toBeLessThanOrEqual(262_144);
          taken.push(isKept ? bytes : Buffer.from(bytes));
          if (isKept) outbox.keep();
        }
        expect([outbox.isEmpty, outbox.byteLength, writtenCount]).toEqual([true, 0, all.length]);
        expect(Buffer.concat(taken).equals(Buffer.concat(expected))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('does not say that large content has left before its last part does', () => {
    const outbox = new Outbox();
    let hasLeft = false;
    outbox.add({ commands: '', content: Buffer.alloc(700_000) }, () => (hasLeft = true));
    const seen: boolean[] = [];
    while (!outbox.isEmpty) {
      outbox.take();
      seen.push(hasLeft);
    }
    expect(seen.filter(Boolean)).toEqual([true]);
    expect(seen.length).toBeGreaterThan(2);
    expect(seen.at(-1)).toBe(true);
  });
});

describe('replies', () => {
  function repliesOf(chunks: readonly Buffer[]): Reply[] {
    const reader = new ReplyReader();
    const replies: Reply[] = [];
    for (const chunk of chunks) reader.push(chunk, (reply) => replies.push(reply));
    expect(reader.hasRest).toBe(false);
    return replies;
  }

  it('are the same however their bytes are cut', () => {
    const line = fc.constantFrom('2.0.0 Ok', ' padded ', '', 'queued as 4F', 'ü\u0000é\u2028', 'x'.repeat(600), 'a\tb');
    const reply = fc.record({
      code: fc.constantFrom(250, 354, 421, 550),
      lines: fc.array(line, { minLength: 1, maxLength: 4 }),
      end: fc.constantFrom('\r\n', '\n'),
    });
    const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(fc.array(reply, { maxLength: 6 }), cuts, (all, sizes) => {
        const written = all.map(({ code, lines, end }) =>
          lines.map((text, index) => `${code}${index === lines.length - 1 ? ' ' : '-'}${text}${end}`).join(''),
        );
        const bytes = Buffer.from(written.join(''));
        const chunks: Buffer[] = [];
        for (let at = 0, index = 0; at < bytes.length; index++) {
          const size = sizes[index % sizes.length] ?? 1;
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        const [whole, cut] = [repliesOf([bytes]), repliesOf(chunks)];
        expect(cut.map((one) => [one.code, one.text()])).toEqual(whole.map((one) => [one.code, one.text()]));
        expect(whole.map((one) => one.code)).toEqual(all.map(({ code }) => code));
        expect(whole.map((one) => one.text())).toEqual(all.map(({ code, lines }) => textOf(code, lines)));
      }),
      { numRuns: 500 },
    );
  });

  it('are the same however long ones are cut', () => {
    const replies = [
      '550-x\r\n'.repeat(5_000) + '550 x\r\n',
      `451 ${'y'.repeat(20_000)}\n`,
      '250 ok\r\n',
      '250 more\r\n',
    ];
    const bytes = Buffer.from(replies.join(''));
    for (const size of [999, 4_096, 16_383, 16_384, 16_385, 16_391, 34_993, 65_536, bytes.length]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      const texts = repliesOf(chunks).map((one) => one.text());
      expect(texts).toEqual([`550${' x'.repeat(248)}`, `451 ${'y'.repeat(496)}`, '250 ok', '250 more']);
    }
  });

  /** As it was always written into the ledger: one line, printable, not longer than its column. */
  function textOf(code: number, lines: readonly string[]): string {
    const joined = lines
      .map((text) => text.trimEnd())
      .join(' ')
      // oxlint-disable-next-line no-control-regex -- control characters are exactly what is taken out
      .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
      .trim();
    return `${code} ${joined}`.slice(0, 500).trimEnd();
  }
});

describe('connections that share memory', () => {
  /** More than kernels keep between two sockets: what is behind it waits in memory. */
  const LARGE_BYTES = 14_000_000;
  /** Meanwhile the others are through. */
  const PAUSE_MS = 300;

  it('keep their bytes apart while one is not read', async () => {
    const slow = new Set<number>();
    await using server = await scriptedSmtpServer({
      extensions: ['PIPELINING', 'CHUNKING'],
      filter: (chunk, { socket, index }) => {
        if (slow.has(index) || !chunk.includes('<p0@')) return chunk;
        slow.add(index);
        socket.once('pause', () => setTimeout(() => socket.resume(), PAUSE_MS));
        socket.pause();
        return chunk;
      },
    });
    const checked = validateSettings({ host: '127.0.0.1', port: server.port, encryption: 'none', connections: 3 });
    if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
    const options = { connectionsMax: 3, clientName: 'client.test', replyTimeoutMs: 60_000 };
    const driver = connectSmtp(checked.settings, options);
    const contents = Array.from({ length: 120 }, (_, number) =>
      `${String(number).padStart(78, '_')}\r\n`.repeat((number === 0 ? LARGE_BYTES : 11_000) / 80),
    );
    const sent = contents.map((text, number) =>
      driver.send({
        envelope: { from: 'a@house.test', to: `p${number}@there.test` },
        content: Buffer.from(text),
        messageId: String(number),
        idempotencyKey: String(number),
        needsSmtpUtf8: false,
      }),
    );
    await Promise.all(sent);
    await driver.close();
    const wrong = server.accepted.filter(({ to, content: got }) => got !== contents[Number(/\d+/.exec(to)?.[0])]);
    expect(wrong.map(({ to, content: got }) => [to, got.length])).toEqual([]);
    expect(new Set(server.accepted.map(({ to }) => to)).size).toBe(contents.length);
  });
});
