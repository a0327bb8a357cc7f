/** Large bodies that come slowly and large answers that are not read keep others waiting for a limited time only; it is short here. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, expect, test, vi } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

vi.mock('../../src/lib/large-content-times.ts', () => ({
  BODY_WAIT_MS_MAX: 3_000,
  BODY_READ_MS_MAX: 2_000,
  ANSWER_WAIT_MS_MAX: 1_000,
  // From before the answer is read from the database; its client must not be cut off before others were refused.
  ANSWER_TAKEN_MS_MAX: 30_000,
}));

const app = await startRestApp();
const owner = await newWorld(app, { host: '127.0.0.1', port: 1, encryption: 'none' });

const open: Socket[] = [];
afterAll(() => open.forEach((socket) => socket.destroy()));

async function send(head: readonly string[], body = ''): Promise<Socket> {
  const { hostname, port, host } = new URL(app.baseUrl);
  const socket = connect(Number(port), hostname);
  open.push(socket);
  socket.on('error', () => undefined);
  const [first = '', ...others] = head;
  const lines = [first, `Host: ${host}`, `Authorization: Bearer ${owner.token}`, ...others];
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  await once(socket, 'connect');
  return socket;
}

const answerOf = async (socket: Socket) => String((await once(socket, 'data'))[0]);

/** Announces 6 MB and sends some of it. */
const upload = (path: string) =>
  send([`POST ${path} HTTP/1.1`, 'Content-Type: application/json', `Content-Length: ${6 * 1_048_576}`], '{"query":"');

test.each([['/api/v1/campaigns'], ['/graphql']])(
  'who does not send its body gets 408, who waits for it 429: %s',
  async (path) => {
    const slow: Socket[] = [];
    // The last of them would wait for six times as long as one may be read.
    for (let count = 0; count < 12; count++) slow.push(await upload(path));
    const answers = await Promise.all(slow.map(answerOf));
    const late = answers.filter((answer) => / 408 [^]*connection: close/i.test(answer));
    const waited = answers.filter((answer) => / 429 [^]*retry-after: 5/i.test(answer));
    expect(late.length).toBeGreaterThanOrEqual(2);
    expect(waited.length).toBeGreaterThan(0);
    expect(late.length + waited.length).toBe(answers.length);
    for (const socket of slow) socket.destroy();
    const whole = JSON.stringify({ html: 'x'.repeat(6 * 1_048_576) });
    const sendWhole = async () => {
      const answer = await fetch(`${app.baseUrl}/api/v1/campaigns`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${owner.token}`, 'Content-Type': 'application/json' },
        body: whole,
      });
      return answer.status;
    };
    // A busy machine may need more than the two seconds for a body that is sent at once.
    let status = await sendWhole();
    while (status === 408) status = await sendWhole();
    expect(status).toBe(422);
  },
);

test('who does not read a large answer is disconnected, and others get theirs', async () => {
  await app.ctx.db.execute(sql`
    INSERT INTO campaign (customer_id, list_id, uid, name, html)
    SELECT customer_id, id, lpad(to_hex(n), 13, '0'), 'Huge', repeat('x', 4194304) FROM mail_list, generate_series(1, 9) n
     WHERE uid = ${owner.listUid}`);
  const unread = await send(['GET /api/v1/campaigns?per_page=7 HTTP/1.1']);
  await once(unread, 'readable');
  const ask = async () => {
    const answer = await fetch(`${app.baseUrl}/api/v1/campaigns?per_page=6`, {
      headers: { Authorization: `Bearer ${owner.token}` },
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  expect(await ask()).toBe(429);
  await expect.poll(ask).toBe(200);
  unread.resume();
  await once(unread, 'close');
});
