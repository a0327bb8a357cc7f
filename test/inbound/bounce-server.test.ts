/** The SMTP server for bounces, asked by a mail program (nodemailer) and by hand. */
import net from 'node:net';
import { once } from 'node:events';
import { createTransport } from 'nodemailer';
import { afterAll, expect, test } from 'vitest';
import { startBounceServer } from '../../src/inbound/bounce-server.ts';
import { programShapes } from '../domain/bounces/bounce-shapes.ts';
import { oddShapes } from '../domain/bounces/odd-shapes.ts';
import { reportedWorld, standingOf, untouched } from '../support/reported-world.ts';
import { createTestContext } from '../support/test-context.ts';

const root = await createTestContext();
const server = await startBounceServer(root, { host: '127.0.0.1', port: 0, name: 'bounces.example' });
const transport = createTransport({ host: '127.0.0.1', port: server.port, pool: true, maxConnections: 5 });
afterAll(async () => {
  transport.close();
  await server.close();
});

const send = (to: string | string[], raw: string, from = '') =>
  transport.sendMail({ envelope: { from, to }, raw }).then(
    ({ response }) => response,
    ({ response, message }: { response?: string; message: string }) => response ?? message,
  );

test('a bounce to its return-path is recorded before the 250, once however often it comes', async () => {
  const at = await reportedWorld(root);
  const [bounce] = programShapes(at.original);
  const answers = await Promise.all([1, 2, 3, 4].map(() => send(at.returnPath, bounce?.raw ?? '')));
  expect(answers).toEqual(answers.map(() => expect.stringMatching(/^250 /)));
  const after = { ...untouched, bounces: 1, counted: [1, 0, 1, 0], suppressed: true };
  expect(await standingOf(at)).toEqual(after);
  expect(await send(at.returnPath.toUpperCase(), bounce?.raw ?? '', 'MAILER-DAEMON@mx.example')).toMatch(/^250 /);
  expect(await standingOf(at)).toEqual(after);
});

test('the address outweighs what stands in the mail, and many may come at once', async () => {
  const [mine, other] = [await reportedWorld(root), await reportedWorld(root)];
  const bounce = programShapes(other.original).find(({ name }) => name.startsWith('exim'));
  expect(await send([mine.returnPath], bounce?.raw ?? '')).toMatch(/^250 /);
  expect(await standingOf(mine)).toMatchObject({ suppressed: true });
  expect(await standingOf(other)).toEqual(untouched);
  const both = [await reportedWorld(root), await reportedWorld(root)];
  await send(
    both.map(({ returnPath }) => returnPath),
    bounce?.raw ?? '',
  );
  for (const world of both) expect(await standingOf(world)).toMatchObject({ bounces: 1 });
});

test('delays, receipts and people who are away change nothing', async () => {
  const at = await reportedWorld(root);
  const harmless = oddShapes(at.original).filter(({ verdict }) => ['delayed', 'autoReply', 'none'].includes(verdict));
  expect(harmless.length).toBeGreaterThan(25);
  const answers = await Promise.all(
    harmless.map(({ raw }) => send(at.returnPath, raw === '' ? 'Subject: x\r\n\r\n' : raw)),
  );
  expect(answers.filter((answer) => !answer.startsWith('250'))).toEqual([]);
  expect(await standingOf(at)).toEqual(untouched);
});

test('nobody else is at home here: no relay, no backscatter', async () => {
  const at = await reportedWorld(root);
  const strangers = [
    'postmaster@bounces.example',
    'p1@example.org',
    `x${at.returnPath}`,
    at.returnPath.replace('@', 'a@'),
    at.returnPath.replace(/bounce\+./, 'bounce+a'),
    'bounce+@bounces.example',
  ].filter((address) => address !== at.returnPath);
  for (const stranger of strangers) expect(await send(stranger, 'Subject: x\r\n\r\n')).toMatch(/^550 5\.1\.1/);
});

/** What the server answers to these lines, sent one after the other. */
async function talk(lines: readonly string[]): Promise<string> {
  const socket = net.connect(server.port, '127.0.0.1');
  let heard = '';
  socket.on('data', (chunk: Buffer) => (heard += chunk.toString()));
  await once(socket, 'data');
  for (const line of lines) {
    socket.write(`${line}\r\n`);
    await once(socket, 'data');
  }
  socket.destroy();
  return heard;
}

test('a conversation has bounds: recipients, size, connections of one address', async () => {
  const at = await reportedWorld(root);
  const to = `RCPT TO:<${at.returnPath}>`;
  // The same address twice is one recipient, for the library that speaks.
  const variants = Array.from({ length: 12 }, (_, n) => to.replace('bounces.example', `b${n}.example`));
  expect(await talk(['EHLO x', 'MAIL FROM:<>', ...variants])).toMatch(/452 4\.5\.3/);
  expect(await talk(['EHLO x', `MAIL FROM:<> SIZE=${60 * 1024 * 1024}`])).toMatch(/\n552 /);
  expect(await talk(['EHLO x', 'AUTH PLAIN AGEAYg=='])).toMatch(/\n5\d\d /);
  const sockets = Array.from({ length: 25 }, () => net.connect(server.port, '127.0.0.1'));
  const greetings = await Promise.all(sockets.map(async (socket) => String((await once(socket, 'data'))[0])));
  for (const socket of sockets) socket.destroy();
  expect(greetings.filter((greeting) => greeting.startsWith('220')).length).toBeLessThanOrEqual(20);
  expect(greetings.filter((greeting) => greeting.startsWith('421')).length).toBeGreaterThanOrEqual(5);
});
