/** Servers that answer with essays: the code of the first line says what became of the message. */
import { afterEach, describe, expect, it } from 'vitest';
import { SendingError, type SendingDriver } from '../../src/plugin-api/index.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { smtpDriverAt } from '../support/smtp-driver-at.ts';

const drivers: SendingDriver[] = [];
afterEach(async () => {
  await Promise.all(drivers.splice(0).map((driver) => driver.close()));
});

/** What becomes of messages that are sent one after the other. */
async function fates(port: number, names: readonly string[]): Promise<string[]> {
  const driver = smtpDriverAt(port);
  drivers.push(driver);
  const ends: string[] = [];
  for (const name of names) {
    const message = {
      envelope: { from: 'bounce@house.test', to: `${name}@there.test` },
      content: Buffer.from(`Subject: ${name}\r\n\r\nHello\r\n`),
      messageId: `<${name}@house.test>`,
      idempotencyKey: name,
      needsSmtpUtf8: false,
    };
    const end = await driver.send(message).then(
      ({ reply }) => `sent ${reply}`,
      (error: unknown) => (error instanceof SendingError ? `${error.kind} ${error.message}` : String(error)),
    );
    ends.push(end.slice(0, 30));
  }
  return ends;
}

const isContent = (verb: string): boolean => verb === 'CONTENT' || verb === 'BDAT';
const essay = (code: number, line: string, bytes: number): string =>
  `${`${code}-${line}\r\n`.repeat(Math.ceil(bytes / (line.length + 6)))}${code} end`;

describe.each([
  ['lockstep', []],
  ['pipelined', ['PIPELINING']],
  ['chunked', ['PIPELINING', 'CHUNKING']],
])('%s', (_mode, extensions) => {
  it('a reply of any length up to a megabyte is one reply, and the connection goes on', async () => {
    const replies = [
      essay(550, '5.7.1 no', 20_000),
      essay(250, '2.0.0 ok', 300_000),
      `451 4.3.0 ${'x'.repeat(100_000)}`,
      '250 2.0.0 short',
    ];
    await using server = await scriptedSmtpServer({
      extensions,
      answer: ({ verb, session }) =>
        isContent(verb) ? replies[Number(/<?p(\d)/.exec(session.to ?? '')?.[1])] : undefined,
    });
    expect(await fates(server.port, ['p0', 'p1', 'p2', 'p3'])).toEqual([
      'refused 550 5.7.1 no 5.7.1 no ',
      'sent 250 2.0.0 ok 2.0.0 ok 2.0',
      `deferred 451 4.3.0 ${'x'.repeat(11)}`,
      'sent 250 2.0.0 short',
    ]);
    expect(server.accepted.map(({ to }) => to)).toEqual(['p1@there.test', 'p3@there.test']);
    expect(server.sessions).toHaveLength(1);
  });

  it('one that does not end tells as much, and costs the connection', async () => {
    await using server = await scriptedSmtpServer({
      extensions,
      answer: ({ verb, session }) =>
        isContent(verb) && session.index === 0 ? essay(550, '5.7.1 no', 1_500_000) : undefined,
    });
    const ends = await fates(server.port, ['p0', 'p1']);
    expect(ends).toEqual(['refused 550 5.7.1 no 5.7.1 no ', 'sent 250 2.0.0 queued as 1-0']);
    expect(server.sessions).toHaveLength(2);
  });

  it('one whose lines disagree tells nothing', async () => {
    await using server = await scriptedSmtpServer({
      extensions,
      answer: ({ verb }) => (isContent(verb) ? `${essay(550, 'no', 50_000).slice(0, -7)}250 yes` : undefined),
    });
    expect((await fates(server.port, ['p0']))[0]).toMatch(/^unknown/);
  });
});
