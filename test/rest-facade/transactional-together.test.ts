/**
 * Calls of one customer that come at the same time are accepted in common transactions: each has its own answer, a fault of one is no
 * other's, and too many are refused with a time.
 */
import { setImmediate } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { withIntake } from '../../src/domain/delivery/transactional/mail-intake.ts';
import { newUid } from '../../src/lib/ids.ts';
import { countStatements, NOISE } from '../support/count-statements.ts';
import { startRestApp } from '../support/rest-app.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';

const smtp = await scriptedSmtpServer();
const app = await startRestApp({ ROLES: 'web,worker,cron', OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
afterAll(() => smtp[Symbol.asyncDispose]());
const { db } = app.ctx;
const { token, customerId } = await app.newTenant();
await db.execute(sql`
  INSERT INTO sending_server (customer_id, uid, name, type, settings, status, default_from_email)
  VALUES (${customerId}, ${newUid()}, 'Server', 'smtp', ${JSON.stringify({ host: '127.0.0.1', port: smtp.port, encryption: 'none' })}::jsonb, 'active', 'shop@sender.example')`);
const LETTER = { subject: 'Order', html: '<p>Thank you</p>', from_email: 'shop@sender.example' };

const call = (method: string, path: string, body?: object) =>
  app.rest(path, { method, token, ...(body ? { body } : {}) });
const send = async (body: object) => {
  const { status, text, body: answer, headers } = await call('POST', '/transactional', body);
  return { status, text, headers, mails: Object(answer).mails, errors: Object(answer).errors };
};
const template = async (): Promise<string> => {
  const made = await call('POST', '/templates', {
    name: 'Receipt',
    kind: 'transactional',
    subject: 'S',
    html: '<p>{{ data.no }}</p>',
  });
  expect(made.status, made.text).toBe(201);
  return Object(made.body).template_uid;
};

test('calls that come together share transactions, and each mail is sent once', async () => {
  const template_uid = await template();
  const numbers = Array.from({ length: 60 }, (_, no) => no);
  const answers = await Promise.all(
    numbers.map((no) =>
      send({
        template_uid,
        from_email: LETTER.from_email,
        to: `many${no}@person.example`,
        data: { no },
        tags: [`t${no}`],
      }),
    ),
  );
  expect(answers.map(({ status, mails }) => [status, mails?.[0]?.email, mails?.[0]?.state])).toEqual(
    numbers.map((no) => [202, `many${no}@person.example`, 'accepted']),
  );
  const [row] = await queryRows(
    db,
    sql`SELECT count(*)::int AS mails, count(DISTINCT m.xmin::text)::int AS transactions, count(DISTINCT t.tags)::int AS tags
          FROM hot.message m JOIN hot.transactional_mail t ON t.message_id = m.id WHERE m.customer_id = ${customerId}`,
  );
  expect(row).toMatchObject({ mails: 60, tags: 60 });
  expect(Number(row?.['transactions'])).toBeLessThan(30);
  await expect.poll(() => smtp.accepted.length, { timeout: 120_000 }).toBe(60);
  for (const no of numbers) {
    const [copy, ...more] = smtp.accepted.filter(({ to }) => to === `many${no}@person.example`);
    expect(more).toEqual([]);
    expect(copy?.content).toContain(`<p>${no}=\r\n</p>`);
  }
});

test('each call has its own fault, and those beside it are sent', async () => {
  const gone = await template();
  const [well, unknown, wrong, several, liquid] = await Promise.all([
    send({ ...LETTER, to: 'well@person.example' }),
    send({ ...LETTER, subject: undefined, html: undefined, to: 'no@person.example', template_uid: newUid() }),
    send({ ...LETTER, to: 'not an address' }),
    send({ ...LETTER, to: ['a@person.example', 'b@person.example'] }),
    send({ ...LETTER, html: '{% if %}', to: 'liquid@person.example' }),
  ]);
  expect([well.status, unknown.status, wrong.status, several.status, liquid.status]).toEqual([202, 404, 422, 202, 422]);
  expect(unknown.text).toContain('template');
  expect(liquid.errors).toHaveProperty('html');
  expect(several.mails).toHaveLength(2);
  // It is deleted when the calls are checked already, and before they are written.
  const [ofGone, beside] = await whileDeleted(gone, () =>
    Promise.all([
      send({ template_uid: gone, from_email: LETTER.from_email, to: 'gone@person.example' }),
      send({ ...LETTER, to: 'beside@person.example' }),
    ]),
  );
  expect([ofGone?.status, beside?.status]).toEqual([404, 202]);
});

/** Deletes the template in a transaction that ends when calls wait for it. */
async function whileDeleted<Answers>(uid: string, calls: () => Promise<Answers>): Promise<Answers> {
  let answers: Promise<Answers> | undefined;
  await app.ctx.database.transaction(async (tx) => {
    await tx.execute(sql`DELETE FROM template WHERE uid = ${uid}`);
    answers = calls();
    await callsWait();
  });
  if (!answers) throw new Error('The calls were made.');
  return answers;
}

/** Calls wait for a lock on their template. */
async function callsWait(): Promise<void> {
  const waiting = sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FOR KEY SHARE%'`;
  await expect.poll(() => queryRows(db, waiting), { timeout: 120_000 }).not.toEqual([]);
}

/** The database ends the wait of a call after ten seconds, in which a busy machine may not answer the other one. */
test('large calls of one customer do not hold up those of another', { retry: 2 }, async () => {
  const template_uid = await template();
  const other = await app.newTenant();
  const ended: number[] = [];
  let calls: Promise<unknown> | undefined;
  await app.ctx.database.transaction(async (tx) => {
    await tx.execute(sql`SELECT 1 FROM template WHERE uid = ${template_uid} FOR UPDATE`);
    const body = { template_uid, from_email: LETTER.from_email, to: ['slow1@person.example', 'slow2@person.example'] };
    calls = Promise.all([1, 2, 3].map(() => send(body).then(({ status }) => ended.push(status))));
    await callsWait();
    const to = ['quick1@person.example', 'quick2@person.example'];
    const answer = await app.rest('/transactional', {
      method: 'POST',
      token: other.token,
      body: { ...LETTER, to },
    });
    expect([answer.status, ended], answer.text).toEqual([202, []]);
  });
  await calls;
  expect(ended).toEqual([202, 202, 202]);
});

test('calls with large texts are written alone, so that no statement has hundreds of megabytes', async () => {
  const html = `<p>${'x'.repeat(300_000)}</p>`;
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, no) => send({ ...LETTER, html, to: `text${no}@person.example` })),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
  const [row] = await queryRows(
    db,
    sql`SELECT count(DISTINCT m.xmin::text)::int AS transactions FROM hot.message m
          JOIN hot.message_recipient r ON r.customer_id = m.customer_id AND r.id = m.recipient_id WHERE r.email LIKE 'text%@person.example'`,
  );
  expect(row).toEqual({ transactions: 12 });
});

test('a template is compiled once, whatever the data of its mails are', NOISE, async () => {
  const template_uid = await template();
  const { statements } = await countStatements(async () => {
    for (const no of [1, 2, 3]) {
      const to = `${newUid()}@person.example`;
      await send({ template_uid, from_email: LETTER.from_email, to, data: { no } });
      await expect.poll(() => smtp.accepted.map((mail) => mail.to), { timeout: 120_000 }).toContain(to);
    }
  });
  expect(statements.filter((text) => text.includes('html, plain FROM template'))).toHaveLength(1);
});

test('a mail that the database refuses fails alone', async () => {
  await db.execute(sql`
    CREATE FUNCTION public.refuse_odd() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF NEW.content->'data' ? 'odd' THEN RAISE EXCEPTION 'odd'; END IF; RETURN NEW; END $$`);
  await db.execute(
    sql`CREATE TRIGGER refuse_odd BEFORE INSERT ON hot.message FOR EACH ROW EXECUTE FUNCTION public.refuse_odd()`,
  );
  try {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, no) =>
        send({ ...LETTER, to: `odd${no}@person.example`, data: no === 5 ? { odd: 1 } : { no } }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, no) => (no === 5 ? 500 : 202)));
    const [row] = await queryRows(
      db,
      sql`SELECT count(*)::int AS mails FROM hot.message_recipient r JOIN hot.message m ON m.customer_id = r.customer_id AND m.recipient_id = r.id
           WHERE r.email LIKE 'odd%'`,
    );
    expect(row).toEqual({ mails: 11 });
  } finally {
    await db.execute(sql`DROP FUNCTION public.refuse_odd CASCADE`);
  }
});

test('of the same external id in one transaction the first is new, and all name the same mail', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, no) =>
      send({ ...LETTER, to: `pair${no % 2}@person.example`, external_id: 'same', data: { no } }),
    ),
  );
  const mails = answers.flatMap((answer) => answer.mails ?? []);
  expect(mails).toHaveLength(20);
  expect(mails.filter(({ state }) => state === 'accepted')).toHaveLength(2);
  expect(mails.filter(({ state }) => state === 'duplicate')).toHaveLength(18);
  expect(new Set(mails.map(({ uid }) => uid)).size).toBe(2);
});

test('a customer with too many calls under way is told when to come again', async () => {
  const viewer = { ...app.ctx, viewer: VIEWER };
  const gate = Promise.withResolvers<void>();
  const busy = Array.from({ length: 1_000 }, () => withIntake(viewer, () => gate.promise));
  await expect(withIntake(viewer, async () => undefined)).rejects.toMatchObject({
    ...{
      code: 'TOO_MANY_CALLS',
      retryAfterSeconds: 2,
      message: expect.stringContaining('Send it again after 2 seconds'),
    },
  });
  // Others have places.
  await withIntake({ ...viewer, viewer: { ...VIEWER, customerId: customerId + 1n } }, async () => undefined);
  gate.resolve();
  await Promise.all(busy);
  await withIntake(viewer, async () => undefined);
});

test('several customers that make as many calls as they may leave places for others', async () => {
  const as = (no: number) => ({ ...app.ctx, viewer: { ...VIEWER, customerId: customerId + BigInt(no) } });
  const gate = Promise.withResolvers<void>();
  const underWay: Promise<unknown>[] = [];
  /** Calls until one is refused, at once; returns how many are under way. */
  const callsOf = async (no: number): Promise<number> => {
    for (let count = 0; ; count++) {
      const call = withIntake(as(no), () => gate.promise);
      const isRefused = await Promise.race([
        call.then(
          () => true,
          () => true,
        ),
        setImmediate(false),
      ]);
      if (isRefused) return count;
      underWay.push(call);
    }
  };
  const counts: number[] = [];
  for (const no of [0, 1, 2, 3]) counts.push(await callsOf(no));
  expect(counts).toEqual([1_000, 500, 250, 125]);
  await withIntake(as(4), async () => undefined);
  gate.resolve();
  await Promise.all(underWay);
});
const VIEWER = {
  ...{ userId: 1n, userUid: 'a', customerId, tokenId: 1n, tokenUid: 'a', tokenKind: 'named' as const },
  ...{ isAdmin: false, scopes: ['*'] },
};
