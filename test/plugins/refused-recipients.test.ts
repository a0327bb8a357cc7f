/** The SMTP driver when a relay hands on what the recipient's host said: one recipient is no reason to leave the server. */
import { expect, it } from 'vitest';
import { SendingError } from '../../src/plugin-api/index.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { smtpDriverAt } from '../support/smtp-driver-at.ts';

const EVERYBODY = 20;

it.each([[], ['PIPELINING'], ['PIPELINING', 'CHUNKING']])(
  'refuses a recipient whose host takes no mail, and nobody else (%s %s)',
  async (...extensions) => {
    await using server = await scriptedSmtpServer({
      extensions,
      answer: ({ verb, line }) => (verb === 'RCPT' && line.includes('p7@') ? '521 host takes no mail' : undefined),
    });
    expect(await fates(server.port)).toEqual({ sent: EVERYBODY - 1, 'refused 521': 1 });
    expect(server.accepted).toHaveLength(EVERYBODY - 1);
    expect(server.sessions).toHaveLength(1);
  },
);

it('still leaves a server that says so of itself', async () => {
  await using server = await scriptedSmtpServer({
    answer: ({ verb }) => (verb === 'MAIL' ? '521 host takes no mail' : undefined),
  });
  expect(await fates(server.port)).toEqual({ 'unavailable 521': EVERYBODY });
});

/** How many of everybody ended how. */
async function fates(port: number): Promise<Record<string, number>> {
  const driver = smtpDriverAt(port);
  const counts: Record<string, number> = {};
  const messages = Array.from({ length: EVERYBODY }, async (_, number) => {
    const fate = await driver
      .send({
        envelope: { from: 'bounce@house.test', to: `p${number}@there.test` },
        content: Buffer.from('Subject: Hello\r\n\r\nHello\r\n'),
        messageId: `<${number}@house.test>`,
        idempotencyKey: String(number),
        needsSmtpUtf8: false,
      })
      .then(() => 'sent')
      .catch((error: unknown) => (error instanceof SendingError ? `${error.kind} ${error.code}` : String(error)));
    counts[fate] = (counts[fate] ?? 0) + 1;
  });
  await Promise.all(messages);
  await driver.close();
  return counts;
}
