/** Mails are parsed in a thread: whatever somebody sends, everybody else is served meanwhile. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { MessageReader, readMessage } from '../../src/inbox/read-message.ts';

/** Half a million lines take a second to parse. */
const MANY_LINES = Buffer.from(`Subject: Returned mail\r\n\r\n${'\r\n'.repeat(500_000)}x`);

it('lets others have their turn while a mail of many lines is parsed', async () => {
  let isRead = false;
  let turns = 0;
  const reading = readMessage(MANY_LINES).finally(() => (isRead = true));
  while (!isRead) {
    await turn();
    turns += 1;
  }
  expect((await reading).subject).toBe('Returned mail');
  // Without a thread there is one at most: the parser waits for nothing that is outside.
  expect(turns).toBeGreaterThan(10);
});

it('shows a mail that takes too long without its parts, and reads the next one', async () => {
  const reader = new MessageReader({ cpuMsMax: 500 });
  const [long, next] = await Promise.all([
    reader.read(Buffer.concat([MANY_LINES, MANY_LINES, MANY_LINES])),
    reader.read(Buffer.from('From: a@b.example\r\nSubject: Hello\r\n\r\nhttps://a.example/x')),
  ]);
  expect(long).toMatchObject({
    subject: 'Returned mail',
    text: 'This message cannot be parsed: it takes too long.',
    html: null,
    links: [],
  });
  expect(next).toMatchObject({ from: 'a@b.example', subject: 'Hello', links: ['https://a.example/x'] });
});

it('shows a mail that cannot be parsed as text', async () => {
  const nested = Array.from({ length: 30 }, (_, level) => {
    const boundary = `Content-Type: multipart/mixed; boundary="b${level}"`;
    return `${boundary}\r\n\r\n--b${level}\r\n`;
  }).join('');
  const { subject, text } = await readMessage(Buffer.from(`Subject: Deep\r\n${nested}x`));
  expect(subject).toBe('Deep');
  expect(text).toMatch(/^This message cannot be parsed: Maximum MIME nesting depth/);
});
