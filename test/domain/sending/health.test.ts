/** The health of servers and providers over several processes: each has a view of its own, the state is one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import type { Context } from '../../../src/domain/context.ts';
import { deleteOldHealth } from '../../../src/domain/sending/routing/delete-old-health.ts';
import { createMailboxGroups } from '../../../src/domain/sending/routing/mailbox-group.ts';
import { ServerHealth } from '../../../src/domain/sending/routing/server-health.ts';
import type { WaitingRecipient } from '../../../src/domain/sending/routing/waiting.ts';
import { createSendingGate, type SendingGate } from '../../../src/domain/sending/sending-gate.ts';
import { SendingError } from '../../../src/plugin-api/index.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
let serverId = 100n;
beforeEach(() => {
  serverId += 1n;
});

const TOO_MUCH =
  '421 4.7.28 Our system has detected an unusual rate of unsolicited mail originating from your IP address.';
const rateLimited = () => new SendingError('unavailable', TOO_MUCH, { code: 421, enhancedStatus: '4.7.28' });
const broken = () => new SendingError('unavailable', 'connect ECONNREFUSED');
const mxOf: Record<string, string[]> = { 'kept-at-google.example': ['ASPMX.L.GOOGLE.COM.', 'alt1.aspmx.l.google.com'] };

/** When a warm-up began. */
const STARTED_AT = new Date(Date.now() - 3_600_000);

interface Process {
  readonly gate: SendingGate;
  readonly health: ServerHealth;
}

/** A process: what it knows is its own. */
function newProcess({ quotaPerSecond = 0, domainLimits = {}, id = serverId, perDay = 0 } = {}): Process {
  const health = new ServerHealth(id, 0);
  const quota = quotaPerSecond > 0 ? { value: quotaPerSecond, periodSeconds: 1 } : null;
  const schedule = { kind: 'days', days: [perDay], goal: 1_000_000 };
  const warmUp = perDay > 0 ? { serverId: id, schedule, startedAt: STARTED_AT, isStopped: false } : undefined;
  const server = { serverId: id, quota, domainLimits, warmUp, paceOfCustomer: () => undefined };
  const groups = createMailboxGroups((domain) => Promise.resolve(mxOf[domain] ?? []));
  return { gate: createSendingGate(server, { health, groups }), health };
}

/** What was found out reaches the database now instead of a moment later. */
async function settle(...processes: Process[]): Promise<void> {
  for (const { health } of processes) await health.close(ctx.db, ctx.log);
}

/** The rest is over: the only thing that is not waited for. */
const endRest = () =>
  ctx.db.execute(
    sql`UPDATE hot.sending_health SET open_until = now() - interval '1 second' WHERE server_id = ${serverId}`,
  );

async function stored(group = '') {
  const [row] = await queryRows<{ state: string; failures: number; slots: number; rest: number; backoff: number }>(
    ctx.db,
    sql`SELECT state, failures, slots, backoff_seconds AS backoff, round(extract(epoch FROM open_until - now()))::int AS rest
          FROM hot.sending_health WHERE server_id = ${serverId} AND mailbox_group = ${group}`,
  );
  return row;
}

const ended = ({ gate }: Pick<Process, 'gate'>, recipient: WaitingRecipient, error: SendingError | undefined) =>
  gate.ended(ctx, recipient, { error, attempts: 0 }).stop;

/** Ends a message that went; `at` of those that did. */
function end(
  { gate }: Process,
  go: readonly WaitingRecipient[],
  { at = 0, error }: { at?: number; error?: SendingError } = {},
) {
  const recipient = go[at];
  if (!recipient) throw new Error('Nobody went.');
  return ended({ gate }, recipient, error);
}

const recipients = (domain: string, count: number): WaitingRecipient[] =>
  Array.from({ length: count }, () => ({ domain }));
const admit = ({ gate }: Process, list: WaitingRecipient[]) => gate.admit(ctx, 1n, list);

describe('who waits until a trouble is in the database', () => {
  it('waits for the writing of it, also when another one who waited has begun that', async () => {
    const one = newProcess();
    const [isReading, mayRead] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let syncs = 0;
    const query: Context['db']['query'] = async (columns, statement, name) => {
      syncs += 1;
      isReading.resolve();
      // A later one takes its time.
      await (syncs === 1 ? mayRead.promise : sleep(100));
      return ctx.db.query(columns, statement, name);
    };
    const slow = { ...ctx, database: { ...ctx.database, query } };
    const before = one.gate.denial(slow, 1n);
    await isReading.promise;
    one.gate.judgeOutcome(slow, 'example.org', broken());
    const waiting = [1, 2].map(async () => {
      await one.health.written(slow.database, ctx.log);
      return stored();
    });
    mayRead.resolve();
    await before;
    for (const known of await Promise.all(waiting)) expect(known).toMatchObject({ failures: 1 });
  });
});

describe('a provider that says 421 4.7.28', () => {
  it('gets nothing for ten minutes, from no process and at none of its domains; others are not held', async () => {
    const [one, other] = [newProcess(), newProcess()];
    const first = (await admit(one, recipients('gmail.com', 1))).go;
    expect(end(one, first, { error: rateLimited() })).toBeUndefined();
    await settle(one);
    for (const process of [one, other]) {
      const crowd = [
        ...recipients('GoogleMail.com', 3),
        ...recipients('kept-at-google.example', 2),
        ...recipients('example.org', 95),
      ];
      const { go, later, stop } = await admit(process, crowd);
      expect(stop).toBeUndefined();
      expect(new Set(go.map(({ domain }) => domain))).toEqual(new Set(['example.org']));
      expect(go).toHaveLength(95);
      expect(later).toHaveLength(5);
      for (const { delaySeconds } of later) expect(delaySeconds).toBeGreaterThan(480);
    }
    expect(await stored('google')).toMatchObject({ state: 'open', backoff: 600 });
    expect(await stored()).toBeUndefined();
  });

  it('then gets one at a time from one process, one more each round, and everything when it stays well', async () => {
    const [one, other] = [newProcess(), newProcess()];
    const first = (await admit(one, recipients('gmail.com', 1))).go;
    end(one, first, { error: rateLimited() });
    await settle(one);
    await endRest();
    const rounds: number[] = [];
    for (let round = 0; round < 8; round++) {
      const { go, later } = await admit(one, recipients('gmail.com', 30));
      expect(go.length + later.length).toBe(30);
      expect((await admit(other, recipients('gmail.com', 10))).go).toHaveLength(0);
      // They are still on their way: nobody else of this process goes either.
      expect((await admit(one, recipients('gmail.com', 5))).go).toHaveLength(0);
      rounds.push(go.length);
      for (const recipient of go) ended(one, recipient, undefined);
      await settle(one);
    }
    expect(rounds).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    await ctx.db.execute(sql`UPDATE hot.sending_health SET slots = 20 WHERE server_id = ${serverId}`);
    const { go } = await admit(one, recipients('gmail.com', 30));
    expect(go).toHaveLength(20);
    for (const recipient of go) ended(one, recipient, undefined);
    await settle(one);
    expect(await stored('google')).toBeUndefined();
    expect((await admit(other, recipients('gmail.com', 30))).go).toHaveLength(30);
  });

  it('is tried by one message, however many loops of the process ask at once', async () => {
    // With a pace each of them waits for the database between looking for a place and taking it.
    const one = newProcess({ quotaPerSecond: 1_000 });
    end(one, (await admit(one, recipients('gmail.com', 1))).go, { error: rateLimited() });
    await settle(one);
    await endRest();
    const answers = await Promise.all(Array.from({ length: 8 }, () => admit(one, recipients('gmail.com', 5))));
    const went = answers.flatMap(({ go }) => go);
    expect(went).toHaveLength(1);
    one.gate.withdraw(went);
    expect((await admit(one, recipients('gmail.com', 5))).go).toHaveLength(1);
  });

  it('and says it again when it is tried again rests twice as long, and other places take over from a process that died', async () => {
    const [one, other] = [newProcess(), newProcess()];
    const first = (await admit(one, recipients('gmail.com', 1))).go;
    end(one, first, { error: rateLimited() });
    await settle(one);
    await endRest();
    const { go } = await admit(one, recipients('gmail.com', 3));
    expect(go).toHaveLength(1);
    await ctx.db.execute(
      sql`UPDATE hot.sending_health SET prober_until = now() - interval '1 second' WHERE server_id = ${serverId}`,
    );
    const taken = await admit(other, recipients('gmail.com', 3));
    expect(taken.go).toHaveLength(1);
    end(other, taken.go, { error: rateLimited() });
    await settle(other);
    expect(await stored('google')).toMatchObject({ state: 'open', backoff: 1_200, failures: 2 });
  });
});

describe('a server that cannot be connected to', () => {
  it('rests a little at first, opens after three in a row for all processes, and is tried by one message', async () => {
    const [one, other] = [newProcess(), newProcess()];
    for (const [failures, backoff, state] of [
      [1, 1, 'closed'],
      [2, 2, 'closed'],
      [3, 4, 'open'],
      [4, 8, 'open'],
    ] as const) {
      const { go } = await admit(one, recipients('example.org', 4));
      expect(go.length).toBe(state === 'open' && failures === 4 ? 1 : 4);
      for (const recipient of go) expect(ended(one, recipient, broken())).toMatchObject({ reason: 'unavailable' });
      await settle(one);
      expect(await stored()).toMatchObject({ failures, backoff, state });
      if (failures === 4) expect(await other.gate.denial(ctx, 1n)).toMatchObject({ reason: 'unavailable' });
      await endRest();
    }
    const { go, stop } = await admit(other, recipients('example.org', 4));
    expect(go).toHaveLength(1);
    expect(stop).toMatchObject({ reason: 'unavailable' });
    expect((await admit(one, recipients('example.org', 4))).go).toHaveLength(0);
    end(other, go);
    await settle(other);
    expect(await stored()).toBeUndefined();
    expect((await admit(one, recipients('example.org', 4))).go).toHaveLength(4);
  });

  it('is not in trouble for what it says about a recipient or a message, and a success ends a row of failures', async () => {
    const one = newProcess();
    const { go } = await admit(one, recipients('example.org', 3));
    end(one, go, {
      at: 0,
      error: new SendingError('refused', '550 5.1.1 no such user', { code: 550, enhancedStatus: '5.1.1' }),
    });
    end(one, go, {
      at: 1,
      error: new SendingError('deferred', '451 4.7.1 greylisted, try again', { code: 451, enhancedStatus: '4.7.1' }),
    });
    await settle(one);
    expect(await stored()).toBeUndefined();
    end(one, go, { at: 2, error: broken() });
    await settle(one);
    expect(await stored()).toMatchObject({ failures: 1 });
    await endRest();
    const again = await admit(one, recipients('example.org', 1));
    end(one, again.go);
    await settle(one);
    expect(await stored()).toBeUndefined();
  });
});

describe('a server that leaves messages in doubt', () => {
  const lost = () => new SendingError('unknown', 'read ECONNRESET');

  it('rests a second after a lost connection, however many messages were on it, and is sent to as before', async () => {
    const one = newProcess();
    const { go } = await admit(one, recipients('example.org', 50));
    expect(go).toHaveLength(50);
    for (const recipient of go) expect(ended(one, recipient, lost())).toMatchObject({ reason: 'unavailable' });
    await settle(one);
    expect(await stored()).toMatchObject({ state: 'closed', failures: 1, backoff: 1 });
    await endRest();
    const again = await admit(one, recipients('example.org', 50));
    expect(again.go).toHaveLength(50);
    for (const recipient of again.go) ended(one, recipient, undefined);
    await settle(one);
    expect(await stored()).toBeUndefined();
  });

  it('is asked by one message at a time when it never answers, after rests of up to five minutes', async () => {
    const one = newProcess();
    const went: number[] = [];
    for (let time = 0; time < 12; time++) {
      const { go } = await admit(one, recipients('example.org', 4));
      went.push(go.length);
      for (const recipient of go) ended(one, recipient, lost());
      await settle(one);
      await endRest();
    }
    expect(went).toEqual([4, 4, 4, ...Array.from({ length: 9 }, () => 1)]);
    expect(await stored()).toMatchObject({ state: 'open', backoff: 300 });
  });
});

it('what was said long ago and holds nobody back is forgotten', async () => {
  await ctx.db.execute(sql`
    INSERT INTO hot.sending_health (server_id, mailbox_group, state, failures, open_until, changed_at)
    SELECT ${serverId}, s.name, s.state, 1, s.until, now() - s.ago FROM (VALUES
      ('old.example', 'closed', NULL::timestamptz, interval '2 days'), ('fresh.example', 'closed', NULL, interval '1 hour'),
      ('open.example', 'open', now() - interval '1 day', interval '2 days'),
      ('resting.example', 'closed', now() + interval '1 hour', interval '2 days')) AS s (name, state, until, ago)`);
  await ctx.db.execute(sql`
    INSERT INTO hot.rate_bucket (key, tokens, refilled_at)
    SELECT k.key, 0, now() - interval '2 days' FROM (VALUES ('domain:1:x.example'), ('customer:1'), ('server:1')) AS k (key)`);
  expect(await deleteOldHealth(ctx.db)).toBeGreaterThanOrEqual(3);
  expect(await stored('old.example')).toBeUndefined();
  expect(await stored('fresh.example')).toBeDefined();
  expect(await stored('open.example')).toBeDefined();
  // A pace by the month fills up in a month.
  expect(
    await queryRows(
      ctx.db,
      sql`SELECT key FROM hot.rate_bucket WHERE key IN ('domain:1:x.example', 'customer:1', 'server:1')`,
    ),
  ).toEqual([{ key: 'server:1' }]);
});

describe('paces', () => {
  it('are kept exactly by many processes at once, by server and by domain, and what is not used is given back', async () => {
    const processes = Array.from({ length: 4 }, () =>
      newProcess({ quotaPerSecond: 50, domainLimits: { 'gmail.com': 600, '*': 600_000 } }),
    );
    // Far more than its pace lets go while they ask, however long that takes.
    const crowd = [...recipients('gmail.com', 20), ...recipients('example.org', 200)];
    const startedAt = performance.now();
    const answers = await Promise.all(processes.map((process) => admit(process, crowd)));
    const seconds = (performance.now() - startedAt) / 1_000;
    const went = answers.flatMap(({ go }) => go);
    // A minute's worth of 600 an hour is 10; the server's second has 50, of which others take the rest.
    const gmail = went.filter(({ domain }) => domain === 'gmail.com');
    expect(gmail.length).toBeGreaterThanOrEqual(10);
    expect(gmail.length).toBeLessThanOrEqual(10 + seconds / 6);
    expect(went.length).toBeGreaterThanOrEqual(50);
    expect(went.length).toBeLessThanOrEqual(50 + 50 * seconds);
    const held = answers.flatMap(({ later }) => later);
    expect(held.every(({ recipient }) => recipient.domain === 'gmail.com')).toBe(true);
    expect(answers.some(({ stop }) => stop?.reason === 'paced')).toBe(true);
    const process = processes[0] ?? newProcess();
    process.gate.withdraw(gmail.slice(0, 4));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const again = await admit(process, recipients('gmail.com', 20));
    expect(again.go.length).toBeGreaterThanOrEqual(4);
    expect(again.go.length).toBeLessThanOrEqual(4 + (performance.now() - startedAt) / 6_000);
  });

  it('of a warm-up give back the day of what never left, also when that was the whole day', async () => {
    const [one, other] = [newProcess({ perDay: 3 }), newProcess({ perDay: 3 })];
    const first = await admit(one, recipients('example.org', 5));
    expect(first.go).toHaveLength(3);
    expect(await other.gate.denial(ctx, 1n)).toMatchObject({ reason: 'paced' });
    one.gate.withdraw(first.go);
    expect(await one.gate.denial(ctx, 1n)).toBeUndefined();
    const again = await admit(one, recipients('example.org', 5));
    expect(again.go).toHaveLength(3);
    for (const recipient of again.go) ended(one, recipient, broken());
    // Told by itself: with another server to go through, nobody would ask here again today.
    await expect.poll(() => other.gate.denial(ctx, 1n).then((stop) => stop?.reason)).not.toBe('paced');
  });

  it('write nothing and ask nothing while a server is well and has none', async () => {
    const one = newProcess();
    await admit(one, recipients('example.org', 1));
    const before = performance.now();
    for (let window = 0; window < 200 && performance.now() - before < 500; window++) {
      const { go } = await admit(one, recipients('example.org', 100));
      for (const recipient of go) ended(one, recipient, undefined);
    }
    expect(await queryRows(ctx.db, sql`SELECT 1 FROM hot.sending_health WHERE server_id = ${serverId}`)).toHaveLength(
      0,
    );
  });
});
