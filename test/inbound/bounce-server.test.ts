/** The SMTP server for bounces, asked by a mail program (nodemailer) and by hand. */
import net from 'node:net';
import { once } from 'node:events';
import { createTransport } from 'nodemailer';
import { afterAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startBounceServer } from '../../src/inbound/bounce-server.ts';
import { programShapes } from '../domain/bounces/bounce-shapes.ts';
import { oddShapes } from '../domain/bounces/odd-shapes.ts';
import { reportedWorld, standingOf, untouched, type ReportedWorld } from '../support/reported-world.ts';
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

const written = (at: ReportedWorld, more: string, body = '') =>
  `From: p1@example.org\r\nTo: ${at.unsubscribeAddress}\r\n${more}\r\n${body}`;

async function unsubscribesOf({ ctx, campaignId, subscriberId }: ReportedWorld) {
  const [row] = await queryRows<{ events: number; counted: number; sources: string[] }>(
    ctx.db,
    sql`
    SELECT (SELECT count(*)::int FROM hot.unsubscribe_event WHERE source_id = ${campaignId} AND recipient_id = ${subscriberId}) AS events,
           (SELECT coalesce(sum(unsubscribe_count), 0)::int FROM hot.tracking_counter WHERE source_id = ${campaignId}) AS counted,
           ARRAY(SELECT source FROM consent_event WHERE subscriber_id = ${subscriberId} AND status = 'unsubscribed') AS sources`,
  );
  return row;
}

const LEFT = { events: 1, counted: 1, sources: ['mail'] };

test.each([
  ['with a subject', 'Subject: unsubscribe\r\n', 'Please.'],
  ['without subject and text', '', ''],
  ['by a mail program on behalf of its user', 'Auto-Submitted: auto-generated\r\nSubject: Unsubscribe\r\n', ''],
])('a mail %s to the unsubscribe address unsubscribes like a click, once', async (_name, headers, body) => {
  const at = await reportedWorld(root);
  expect(at.unsubscribeAddress.split('@')[0]?.length).toBeLessThanOrEqual(64);
  expect(at.unsubscribeAddress.split('@')[0]).not.toBe(at.returnPath.split('@')[0]);
  const raw = written(at, headers, body);
  for (const to of [
    at.unsubscribeAddress,
    at.unsubscribeAddress.toUpperCase(),
    at.unsubscribeAddress.replace('+', '-'),
  ])
    expect(await send(to, raw, 'p1@example.org')).toMatch(/^250 /);
  // Robots of mail providers have no address for answers.
  expect(await send(at.unsubscribeAddress, raw, '')).toMatch(/^250 /);
  expect(await unsubscribesOf(at)).toEqual(LEFT);
  expect(await standingOf(at)).toEqual({ ...untouched, status: 'unsubscribed', consents: 1 });
});

test('no other mail unsubscribes: automatic answers, bounces, mail to the return-path, forged addresses', async () => {
  const at = await reportedWorld(root);
  const away = oddShapes(at.original).filter(({ verdict }) => verdict === 'autoReply' || verdict === 'delayed');
  for (const { raw } of away) expect(await send(at.unsubscribeAddress, raw)).toMatch(/^250 /);
  const reply = 'Subject: Re: News\r\nAuto-Submitted: auto-replied\r\n';
  for (const to of [at.returnPath, at.unsubscribeAddress]) expect(await send(to, written(at, reply))).toMatch(/^250 /);
  // A person who answers the return-path, and says what the address is.
  expect(await send(at.returnPath, written(at, 'Subject: unsubscribe\r\n'))).toMatch(/^250 /);
  const forged = at.unsubscribeAddress.replace(/.@/, (last) => (last === '0@' ? '1@' : '0@'));
  expect(await send(forged, written(at, 'Subject: unsubscribe\r\n'))).toMatch(/^550 5\.1\.1/);
  expect(await unsubscribesOf(at)).toEqual({ events: 0, counted: 0, sources: [] });
  expect(await standingOf(at)).toEqual(untouched);
});

test('a person who was deleted and added again is found by the address of the mail', async () => {
  const at = await reportedWorld(root);
  await root.db.execute(sql`DELETE FROM subscriber WHERE id = ${at.subscriberId}`);
  const [again] = await queryRows<{ id: bigint }>(
    root.db,
    sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags) VALUES (${at.customerId}, ${at.listId}, ${at.emailKey}, ${at.emailKey}, 'subscribed', '{}') RETURNING id`,
  );
  expect(await send(at.unsubscribeAddress, written(at, 'Subject: unsubscribe\r\n'))).toMatch(/^250 /);
  expect(await standingOf({ ...at, subscriberId: again?.id ?? 0n })).toMatchObject({ status: 'unsubscribed' });
});

test('the postmaster can be written to, within a number a day, and other programs are not answered', async () => {
  const letters = () =>
    queryRows<{ payload: { from: string; subject: string; text: string } }>(
      root.db,
      sql`SELECT j.payload FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id WHERE t.identifier = 'bounces.postmaster-mail'`,
    );
  await root.db.execute(sql`DELETE FROM hot.rate_window WHERE key LIKE 'postmaster%'`);
  const raw = 'From: Ann <ann@example.org>\r\nSubject: Your server\r\n\r\nIt sends me bounces.\r\n';
  expect(await talk(['EHLO x', 'MAIL FROM:<ann@example.org>', 'RCPT TO:<postmaster>', 'QUIT'])).not.toMatch(
    /\n[45]\d\d /,
  );
  expect(await send('Postmaster@Bounces.Example', raw, 'ann@example.org')).toMatch(/^250 /);
  expect((await letters()).map(({ payload }) => payload)).toEqual([
    expect.objectContaining({ from: 'Ann <ann@example.org>', subject: 'Your server', text: 'It sends me bounces.\n' }),
  ]);
  // A bounce or an automatic answer is taken and not sent on, so that no two programs mail each other.
  expect(await send('postmaster@bounces.example', `Auto-Submitted: auto-replied\r\n${raw}`)).toMatch(/^250 /);
  const more = await Promise.all(Array.from({ length: 6 }, () => send('postmaster@bounces.example', raw)));
  expect(more.filter((answer) => answer.startsWith('250')).length).toBeLessThanOrEqual(2);
  expect(more.filter((answer) => answer.startsWith('452 4.2.2')).length).toBeGreaterThanOrEqual(4);
  expect((await letters()).length).toBeLessThanOrEqual(3);
});

test('nothing is relayed, in no spelling', async () => {
  const to = (path: string) => talk(['EHLO x', 'MAIL FROM:<a@example.org>', `RCPT TO:<${path}>`]);
  const at = await reportedWorld(root);
  for (const path of [
    'p1@example.org',
    'p1%example.org@bounces.example',
    'example.org!p1@bounces.example',
    '@bounces.example:p1@example.org',
    '@bounces.example,@b.example:p1@example.org',
    'postmaster@example.org',
    'postmaster%example.org@bounces.example',
    'bounce+aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@example.org',
    `${at.returnPath.replace('@', '%')}@bounces.example`,
  ])
    expect(await to(path), path).toMatch(/\n550 5\.7\.1 /);
  for (const path of ['"p1@example.org"@bounces.example', '"p1"@bounces.example', 'p1@example.org@bounces.example'])
    expect(await to(path), path).toMatch(/\n(?:550 5\.[17]\.1|501) /);
});

test('nobody else is at home here: no relay, no backscatter', async () => {
  const at = await reportedWorld(root);
  const strangers = [
    'root@bounces.example',
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
