/** The SMTP driver after its connections were lost: how many it opens again, and when. */
import type { Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { connectSmtp } from '../../plugins/mailwright/smtp/smtp-driver.ts';
import { validateSettings } from '../../plugins/mailwright/smtp/settings.ts';
import { SendingError, type SendingDriver } from '../../src/plugin-api/index.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';

const CONNECTIONS = 8;

afterEach(() => vi.restoreAllMocks());

function driverFor(port: number): SendingDriver {
  const checked = validateSettings({ host: '127.0.0.1', port, encryption: 'none', connections: CONNECTIONS });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const options = { connectionsMax: CONNECTIONS, clientName: 'client.test', replyTimeoutMs: 10_000 };
  return connectSmtp(checked.settings, options);
}

/** What became of messages that were handed over at once, two for each connection. */
async function crowd(driver: SendingDriver): Promise<Set<string>> {
  const fates = Array.from({ length: 2 * CONNECTIONS }, async (_, number) => {
    try {
      await driver.send({
        envelope: { from: 'bounce@house.test', to: `p${number}@there.test` },
        content: Buffer.from('Subject: Hello\r\n\r\nHello\r\n'),
        messageId: `<${number}@house.test>`,
        idempotencyKey: String(number),
        needsSmtpUtf8: false,
      });
      return 'sent';
    } catch (error) {
      return error instanceof SendingError ? error.kind : String(error);
    }
  });
  return new Set(await Promise.all(fates));
}

it('all lost together are one failure: after a second all of them are opened again', async () => {
  let isGoingDown = false;
  await using server = await scriptedSmtpServer({
    answer: ({ verb, session }) => {
      if (!isGoingDown || verb !== 'CONTENT') return undefined;
      session.socket.end('421 4.3.2 going down\r\n');
      return null;
    },
  });
  const driver = driverFor(server.port);
  expect(await crowd(driver)).toEqual(new Set(['sent']));
  expect(server.openSockets()).toBe(CONNECTIONS);
  isGoingDown = true;
  expect(await crowd(driver)).toEqual(new Set(['unavailable']));
  isGoingDown = false;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 1_500);
  // The first crowd finds out that the server is well again, on one connection.
  for (let time = 0; time < 2; time++) expect(await crowd(driver)).toEqual(new Set(['sent']));
  expect(server.openSockets()).toBe(CONNECTIONS);
  await driver.close();
});

it('a server that greets and then drops every connection is asked on one at a time', async () => {
  let isDropping = false;
  let opened = 0;
  let most = 0;
  await using server = await scriptedSmtpServer({
    answer: ({ verb, session }) => {
      if (!isDropping || verb !== 'MAIL') return undefined;
      most = Math.max(most, server.openSockets());
      opened++;
      session.socket.destroy();
      return null;
    },
  });
  const driver = driverFor(server.port);
  expect(await crowd(driver)).toEqual(new Set(['sent']));
  isDropping = true;
  expect(await crowd(driver)).toEqual(new Set(['unavailable']));
  [opened, most] = [0, 0];
  expect(await crowd(driver)).toEqual(new Set(['unavailable']));
  expect(opened).toBeGreaterThan(1);
  expect(most).toBe(1);
  await driver.close();
});

it('a server that closes without a word after each message is given one on a connection', async () => {
  const served = new Set<Socket>();
  await using server = await scriptedSmtpServer({
    extensions: ['PIPELINING', 'CHUNKING'],
    answer: ({ verb, session: { socket } }) => {
      if (served.has(socket)) return null;
      if (verb !== 'BDAT') return undefined;
      served.add(socket);
      // By then the next messages are on their way.
      setTimeout(() => socket.end(), 20);
      return undefined;
    },
  });
  const driver = driverFor(server.port);
  let learnedAfter = 0;
  // Each round leaves some in doubt until the server is known; then none.
  while ((await crowd(driver)).has('unknown') && learnedAfter < 10) learnedAfter++;
  expect(learnedAfter).toBeLessThan(10);
  for (let round = 0; round < 3; round++) expect(await crowd(driver)).toEqual(new Set(['sent']));
  await driver.close();
});
