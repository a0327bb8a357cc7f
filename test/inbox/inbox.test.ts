/** The built-in inbox, from the SMTP entry point to the pages and the JSON. */
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { validateSettings } from '../../plugins/mailwright/smtp/settings.ts';
import { connectSmtp } from '../../plugins/mailwright/smtp/smtp-driver.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { startHttpServer, type Mount } from '../../src/http/http-server.ts';
import { inboxMount } from '../../src/inbox/inbox-handler.ts';
import { startInboxServer } from '../../src/inbox/inbox-server.ts';
import { createInboxStore } from '../../src/inbox/inbox-store.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createTestDatabase } from '../support/test-database.ts';

const { url } = await createTestDatabase();
const database = openDatabase({ url, poolSize: 3, log: silentLog });
const store = createInboxStore(database);
const state = { isBroken: false, batches: 0 };
const receiver = await startInboxServer({
  port: 0,
  log: silentLog,
  storeBatch: async (messages) => {
    if (state.isBroken) throw new Error('disk full');
    state.batches++;
    await store.storeBatch(messages);
  },
});
const web = await startHttpServer({
  host: '127.0.0.1',
  port: 0,
  log: silentLog,
  mounts: [
    inboxMount({
      store,
      rightsOf: (req) => (req.headers.authorization === 'Bearer right' ? 'administrator' : 'unknown'),
    }),
  ],
});
const settings = validateSettings({ host: '127.0.0.1', port: receiver.port, encryption: 'none' });
if (!settings.ok) throw new Error('settings');
const driver = connectSmtp(settings.settings, { connectionsMax: 5, clientName: 'client.test', replyTimeoutMs: 60_000 });

afterAll(async () => {
  await driver.close();
  await receiver.close();
  await web.close();
  await database.close();
});
beforeEach(() => store.clear());

function mail(to: string, content: string): Promise<unknown> {
  return driver.send({
    envelope: { from: 'bounce@house.test', to },
    content: Buffer.from(content.replaceAll('\n', '\r\n')),
    messageId: '<1@house.test>',
    idempotencyKey: '1',
    needsSmtpUtf8: false,
  });
}

interface Got {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
}

function call(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  return new Promise((resolve, reject) => {
    const req = request({ host: '127.0.0.1', port: web.port, path, method, headers }, (res) => {
      const chunks: Buffer[] = [];
      res
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () =>
          resolve({ status: res.statusCode ?? 0, headers: res.headers, text: Buffer.concat(chunks).toString() }),
        );
    });
    req.on('error', reject).end();
  });
}

async function newestId(): Promise<number> {
  return (await store.page({ limit: 1 })).entries[0]?.id ?? 0;
}

const HOSTILE = `From: =?utf-8?q?J=C3=BCrgen?= <j@house.test>
To: anna@there.test
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= <script>alert(1)</script>
X-Evil: "><img src=x onerror=alert(2)>
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/plain; charset=utf-8

Read https://there.test/text. </pre><script>alert(3)</script>
--b
Content-Type: text/html; charset=utf-8

<script>alert(4)</script><a href="https://there.test/a?x=1&amp;y=2">A</a> <a href="javascript:alert(5)">B</a>
--b--
`;

it('keeps a campaign in batches and shows it newest first, page by page', async () => {
  state.batches = 0;
  await Promise.all(
    Array.from({ length: 130 }, (_, index) => mail(`p${index}@there.test`, `Subject: Number ${index}\n\nHello\n`)),
  );
  expect(state.batches).toBeLessThan(130);
  const pages: string[] = [];
  let next: string | number | null = '';
  while (next !== null) {
    const answer = JSON.parse((await call(`/inbox/messages?limit=50&before=${next}`)).text);
    pages.push(...answer.messages.map(({ to }: { to: string[] }) => to[0]));
    next = answer.next_before;
  }
  expect(pages.toSorted()).toEqual(Array.from({ length: 130 }, (_, index) => `p${index}@there.test`).toSorted());
  const first = await call('/inbox');
  expect(first.text).toContain('Older');
  expect(first.text).not.toContain('Newer');
  const older = await call(/href="(\/inbox\?before=\d+)"/.exec(first.text)?.[1] ?? '');
  expect(older.text).toContain('Newer');
  const back = await call(/href="(\/inbox\?after=\d+)"/.exec(older.text)?.[1] ?? '');
  expect(back.text.match(/<a href="\/inbox\/\d+"/g)).toEqual(first.text.match(/<a href="\/inbox\/\d+"/g));
  expect(JSON.parse((await call('/inbox/messages?to=P12%40')).text).messages).toHaveLength(1);
  expect((await call('/inbox/messages?limit=201')).status).toBe(422);
});

it('shows a mail with all that is in it, and runs nothing of it', async () => {
  await mail('anna@there.test', HOSTILE);
  const id = await newestId();
  const read = JSON.parse((await call(`/inbox/messages/${id}`)).text);
  expect(read).toMatchObject({
    id,
    from: 'Jürgen <j@house.test>',
    to: ['anna@there.test'],
    mail_from: 'bounce@house.test',
    subject: 'Grüße <script>alert(1)</script>',
    links: ['https://there.test/a?x=1&y=2', 'javascript:alert(5)', 'https://there.test/text'],
  });
  for (const path of [
    '/inbox',
    `/inbox/${id}`,
    ...['html', 'text', 'headers', 'source'].map((tab) => `/inbox/${id}?tab=${tab}`),
  ]) {
    const { status, text, headers } = await call(path);
    expect([path, status, text.includes('<script'), text.includes('<img'), text.includes('href="javascript')]).toEqual([
      path,
      200,
      false,
      false,
      false,
    ]);
    expect(headers['content-security-policy']).toContain("default-src 'none'; style-src 'sha256-");
  }
  expect((await call(`/inbox/${id}`)).text).toContain(`<iframe sandbox="" src="/inbox/${id}/html"`);
  const framed = await call(`/inbox/${id}/html`);
  expect(framed.headers['content-security-policy']).toMatch(/^default-src 'none'.*sandbox$/);
  expect(framed.text).toContain('alert(4)');
  const source = await call(`/inbox/${id}/source`);
  expect([source.headers['content-type'], source.text]).toEqual([
    'text/plain; charset=utf-8',
    HOSTILE.replaceAll('\n', '\r\n'),
  ]);
  expect((await call(`/inbox/${id}/text`)).text).toContain('</pre><script>');
});

it('answers 404 for what is not there', async () => {
  for (const path of [
    '/inbox/999999999',
    '/inbox/0',
    '/inbox/x',
    '/inbox/messages/1e9',
    '/inbox/messages/999999999999999',
    '/inbox/1/evil',
  ]) {
    expect([path, (await call(path)).status]).toEqual([path, 404]);
  }
});

it('is open to this machine, and to others only with leave', async () => {
  const host = { Host: `localhost:${web.port}` };
  expect((await call('/inbox', host)).status).toBe(200);
  for (const foreign of [
    { Host: 'evil.test' },
    { ...host, 'X-Forwarded-For': '10.0.0.1' },
    { ...host, Forwarded: 'for=10.0.0.1' },
    { Host: 'localhost.evil.test' },
  ]) {
    expect((await call('/inbox', foreign)).status).toBe(401);
    expect((await call('/inbox/messages', foreign)).status).toBe(401);
    expect((await call('/inbox/messages', { ...foreign, Authorization: 'Bearer right' })).status).toBe(200);
  }
});

it('is emptied from its own pages or by a program, never by another site', async () => {
  await mail('anna@there.test', 'Subject: x\n\nx\n');
  const host = `127.0.0.1:${web.port}`;
  for (const headers of [{ Origin: 'https://evil.test' }, { 'Sec-Fetch-Site': 'cross-site' }, { Origin: 'null' }]) {
    expect((await call('/inbox/messages', headers, 'DELETE')).status).toBe(403);
    expect((await call('/inbox/clear', headers, 'POST')).status).toBe(403);
  }
  expect((await call('/inbox', {}, 'POST')).status).toBe(405);
  expect((await store.page({ limit: 1 })).entries).toHaveLength(1);
  expect(
    (await call('/inbox/clear', { Origin: `http://${host}`, 'Sec-Fetch-Site': 'same-origin' }, 'POST')).status,
  ).toBe(303);
  expect((await store.page({ limit: 1 })).entries).toHaveLength(0);
  expect((await call('/inbox/messages', {}, 'DELETE')).status).toBe(200);
});

it('accepts only what is stored', async () => {
  state.isBroken = true;
  await expect(mail('anna@there.test', 'Subject: x\n\nx\n')).rejects.toMatchObject({ kind: 'deferred', code: 451 });
  state.isBroken = false;
  await mail('anna@there.test', 'Subject: y\n\ny\n');
  expect((await store.page({ limit: 5 })).entries.map(({ subject }) => subject)).toEqual(['y']);
});

it('says how long a message may be, and a sender that asked does not send a longer one', async () => {
  const content = `Subject: long\n\n${`${'x'.repeat(900)}\n`.repeat(30_000)}`;
  await expect(mail('anna@there.test', content)).rejects.toMatchObject({ kind: 'refused', enhancedStatus: '5.3.4' });
});

it('keeps the newest 5,000', async () => {
  await database.execute(
    sql`INSERT INTO inbox.message (mail_from, rcpt_to, size, raw) SELECT 'a', '{b}', 1, 'x' FROM generate_series(1, 5100)`,
  );
  await mail('anna@there.test', 'Subject: newest\n\nx\n');
  const [row] = await queryRows<{ count: bigint }>(database, sql`SELECT count(*) FROM inbox.message`);
  expect(row?.count).toBe(5000n);
});

it('says in its greeting what it is', async () => {
  const socket = connect(receiver.port, '127.0.0.1');
  const greeting = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
  socket.destroy();
  expect(greeting.toString()).toMatch(/^220 .*development receiver/);
});

it('opens a mail once for all who ask for it, and sends them the same bytes', async () => {
  await mail('many@there.test', HOSTILE);
  const id = await newestId();
  const opened: number[] = [];
  const counted = inboxMount({
    store: {
      ...store,
      readRaw: (one) => {
        opened.push(one);
        return store.readRaw(one);
      },
    },
    rightsOf: () => 'unknown',
  });
  const bodies: unknown[] = [];
  const keeping: Mount = {
    ...counted,
    handle(req, res, exchange) {
      const end = res.end.bind(res);
      Object.assign(res, { end: (body: unknown) => (bodies.push(body), end(body)) });
      return counted.handle(req, res, exchange);
    },
  };
  const server = await startHttpServer({ host: '127.0.0.1', port: 0, log: silentLog, mounts: [keeping] });
  afterAll(() => server.close(0));
  const ask = async (path: string) => (await fetch(`http://127.0.0.1:${server.port}${path}`)).status;
  const paths = [`/inbox/${id}`, `/inbox/${id}/html`, `/inbox/${id}/source`, `/inbox/messages/${id}`];
  for (const path of paths) {
    bodies.length = 0;
    expect(await Promise.all([ask(path), ask(path), ask(path)])).toEqual([200, 200, 200]);
    expect(
      bodies.map((body) => body === bodies[0]),
      path,
    ).toEqual([true, true, true]);
  }
  expect(opened).toEqual([id]);
  await store.clear();
  expect(await ask(paths[0] ?? '')).toBe(404);
});
