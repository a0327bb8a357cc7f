/** Followers read every event, in order, at least once, whatever happens to transactions, handlers and processes. */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Transaction } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';
import type { NewEvent, RecordedEvent } from '../../src/events/event-kinds.ts';
import { recordEvents } from '../../src/events/event-store.ts';
import { followerStates } from '../../src/events/follower-read-model.ts';
import { sweepEvents } from '../../src/events/sweep-events.ts';
import { followAgain, makeFollowers } from '../../src/events/follower-store.ts';
import { diagnose } from '../../src/domain/installation/diagnostics.ts';
import { newUid } from '../../src/lib/ids.ts';
import { caughtUp, eventsAbout, startFollowers } from '../support/event-followers.ts';
import { createTestContext } from '../support/test-context.ts';

let ctx: Context;

beforeAll(async () => {
  ctx = await createTestContext();
});

function change(objectUid: string, no: number): NewEvent {
  const data = { from: String(no), to: String(no + 1), reason: null };
  return { kind: 'campaign_status_changed', customerId: null, objectUid, data };
}

/** What a follower got, as numbers of the changes of one object. */
function numbersOf(events: readonly RecordedEvent[], objectUid: string): number[] {
  return events
    .filter((event) => event.objectUid === objectUid)
    .map(({ data }) => ('from' in data ? Number(data.from) : -1));
}

/** A follower that keeps what it gets; `name` is unique. */
async function follower(
  options: { batch?: number; handle?: (events: readonly RecordedEvent[]) => Promise<void> } = {},
) {
  const name = `test-${newUid()}`;
  const got: RecordedEvent[] = [];
  const following = await startFollowers(ctx, [
    {
      name,
      owner: 'test',
      ...(options.batch === undefined ? {} : { batch: options.batch }),
      async handle(events) {
        await options.handle?.(events);
        got.push(...events);
      },
    },
  ]);
  return { name, got, following, state: () => stateOf(name) };
}

async function stateOf(name: string) {
  return (await followerStates(ctx.db)).find((one) => one.name === name);
}

/** A transaction that stays open until `commit`. */
async function openTransaction(): Promise<{ tx: Transaction; commit: () => Promise<void> }> {
  const began = Promise.withResolvers<Transaction>();
  const end = Promise.withResolvers<void>();
  const done = ctx.database.transaction(async (tx) => {
    began.resolve(tx);
    await end.promise;
  });
  return {
    tx: await began.promise,
    async commit() {
      end.resolve();
      await done;
    },
  };
}

describe('order', () => {
  test('what commits later with a smaller id is not missed, and comes first', async () => {
    const { got, name } = await follower();
    const [first, second] = [newUid(), newUid()];
    const slow = await openTransaction();
    const fast = await openTransaction();
    await recordEvents(slow.tx, [change(first, 1)]);
    await recordEvents(fast.tx, [change(second, 1)]);
    await fast.commit();
    // Longer than a follower needs that does not wait.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(got).toEqual([]);
    await slow.commit();
    await caughtUp(ctx.db, name);
    expect(got.map(({ objectUid }) => objectUid)).toEqual([first, second]);
  });

  test('a transaction that began to write first and changes an object last tells of it last', async () => {
    const { got, name } = await follower();
    const object = newUid();
    const early = await openTransaction();
    // Its number is given now.
    await recordEvents(early.tx, [change(newUid(), 1)]);
    await ctx.database.transaction((tx) => recordEvents(tx, [change(object, 1)]));
    await recordEvents(early.tx, [change(object, 2)]);
    await early.commit();
    await caughtUp(ctx.db, name);
    expect(numbersOf(got, object)).toEqual([1, 2]);
  });

  test('who holds all up for over five seconds is named in the log', async () => {
    const lines: Record<string, unknown>[] = [];
    const log = { ...ctx.log, warn: (event: string, fields?: object) => void lines.push({ event, ...fields }) };
    const name = `test-${newUid()}`;
    const slow = await openTransaction();
    await recordEvents(slow.tx, [change(newUid(), 1)]);
    await startFollowers({ ...ctx, log }, [{ name, owner: 'test', handle: async () => undefined }]);
    await recordEvents(ctx.db, [change(newUid(), 1)]);
    const heldUp = { event: 'events.held_up', follower: name, pid: expect.any(Number), seconds: expect.any(Number) };
    await expect.poll(() => lines).toContainEqual(expect.objectContaining(heldUp));
    await slow.commit();
    await caughtUp(ctx.db, name);
    expect(lines.filter(({ event }) => event === 'events.held_up')).toHaveLength(1);
  });

  test('a transaction that writes no events holds nobody up', async () => {
    const { got, name } = await follower();
    const other = await openTransaction();
    await other.tx.execute(sql`CREATE TABLE public.held_up_by_nobody ()`);
    await recordEvents(ctx.db, [change(newUid(), 1)]);
    await caughtUp(ctx.db, name);
    expect(got).toHaveLength(1);
    await other.commit();
  });

  test('events of many writers: none is missed, none comes twice, each object in its order', async () => {
    const { got, name } = await follower({ batch: 7 });
    const objects = Array.from({ length: 4 }, () => newUid());
    await Promise.all(
      objects.map(async (object) => {
        for (let no = 0; no < 40; no += 2)
          await ctx.database.transaction((tx) => recordEvents(tx, [change(object, no), change(object, no + 1)]));
      }),
    );
    await caughtUp(ctx.db, name);
    for (const object of objects) expect(numbersOf(got, object)).toEqual(Array.from({ length: 40 }, (_, no) => no));
  });
});

test('what is rolled back leaves no event, and holds nobody up', async () => {
  const { got, name } = await follower();
  const [gone, kept] = [newUid(), newUid()];
  const failing = ctx.database.transaction(async (tx) => {
    await recordEvents(tx, [change(gone, 1)]);
    throw new Error('rolled back');
  });
  await expect(failing).rejects.toThrow('rolled back');
  await recordEvents(ctx.db, [change(kept, 1)]);
  await caughtUp(ctx.db, name);
  expect(got.map(({ objectUid }) => objectUid)).toEqual([kept]);
  expect(await eventsAbout(ctx.db, gone)).toEqual([]);
});

test('followers are made beside one that moves, where all reads see one state of the database', async () => {
  const name = `test-${newUid()}`;
  const followers = [{ name, owner: 'test' }];
  await makeFollowers(ctx.db, followers);
  await ctx.database.transaction(async (tx) => {
    await tx.execute(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`);
    await followerStates(tx);
    await ctx.db.execute(sql`UPDATE hot.event_follower SET position = position + 1 WHERE name = ${name}`);
    await makeFollowers(tx, followers);
  });
});

test('a new follower begins with what happens from now on', async () => {
  await recordEvents(ctx.db, [change(newUid(), 1)]);
  const { got, name } = await follower();
  const now = newUid();
  await recordEvents(ctx.db, [change(now, 1)]);
  await caughtUp(ctx.db, name);
  expect(got.map(({ objectUid }) => objectUid)).toEqual([now]);
});

describe('a handler that fails', () => {
  test('gets the same events again; other followers go on; the failure is shown', async () => {
    let mayWork = false;
    const broken = await follower({
      handle: async () => {
        if (!mayWork) throw new Error('The receiver is away.');
      },
    });
    const healthy = await follower();
    const object = newUid();
    await recordEvents(ctx.db, [change(object, 1), change(object, 2)]);
    await caughtUp(ctx.db, healthy.name);
    expect(numbersOf(healthy.got, object)).toEqual([1, 2]);
    await expect.poll(broken.state).toMatchObject({ lastError: 'The receiver is away.' });
    expect((await broken.state())?.behindSeconds).toBeGreaterThan(0);
    expect(broken.got).toEqual([]);
    mayWork = true;
    await caughtUp(ctx.db, broken.name);
    expect(numbersOf(broken.got, object)).toEqual([1, 2]);
    expect(await broken.state()).toMatchObject({ failures: 0, lastError: null, behindSeconds: 0 });
  });
});

test('of two processes one reads, and the other takes over when it ends', async () => {
  const name = `test-${newUid()}`;
  const got: { by: number; no: number }[] = [];
  const object = newUid();
  const process = (by: number) =>
    startFollowers(ctx, [
      {
        name,
        owner: 'test',
        async handle(events) {
          for (const no of numbersOf(events, object)) got.push({ by, no });
        },
      },
    ]);
  const [first] = [await process(1), await process(2)];
  for (let no = 0; no < 10; no++) {
    await recordEvents(ctx.db, [change(object, no)]);
    await caughtUp(ctx.db, name);
  }
  expect(got.map(({ no }) => no)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(new Set(got.map(({ by }) => by)).size).toBe(1);
  if (got[0]?.by === 1) await first.stop(5_000);
  await recordEvents(ctx.db, [change(object, 10)]);
  await caughtUp(ctx.db, name);
  expect(got).toHaveLength(11);
  if (got[0]?.by === 1) expect(got.at(-1)).toEqual({ by: 2, no: 10 });
});

test('a holder whose lease has ended without a word is replaced, and cannot move the position any more', async () => {
  const release = Promise.withResolvers<void>();
  const stalled = await follower({ handle: () => release.promise });
  const object = newUid();
  await recordEvents(ctx.db, [change(object, 1)]);
  await expect.poll(async () => (await holderOf(stalled.name)) !== null).toBe(true);
  // As if another process had taken over: this one was stopped longer than its lease.
  const other = randomUUID();
  await expect
    .poll(async () => {
      await queryRows(
        ctx.db,
        sql`UPDATE hot.event_follower SET holder = ${other}::uuid, lease_ends_at = now() + interval '5 seconds' WHERE name = ${stalled.name}`,
      );
      return holderOf(stalled.name);
    })
    .toBe(other);
  const before = await positionOf(stalled.name);
  release.resolve();
  await stalled.following.stop(5_000);
  expect(await positionOf(stalled.name)).toBe(before);
  expect(await holderOf(stalled.name)).toBe(other);
});

test('a lease from before the clock of the database was set back holds nobody up', async () => {
  const name = `test-${newUid()}`;
  await makeFollowers(ctx.db, [{ name, owner: 'test' }]);
  await queryRows(
    ctx.db,
    sql`UPDATE hot.event_follower SET holder = gen_random_uuid(), lease_ends_at = now() + interval '1 hour' WHERE name = ${name}`,
  );
  await recordEvents(ctx.db, [change(newUid(), 1)]);
  await startFollowers(ctx, [{ name, owner: 'test', handle: async () => undefined }]);
  await caughtUp(ctx.db, name);
});

test('a holder does not undo it when its follower was moved meanwhile', async () => {
  const release = Promise.withResolvers<void>();
  let isHandling = false;
  const handle = (): Promise<void> => {
    isHandling = true;
    return release.promise;
  };
  const stalled = await follower({ batch: 1, handle });
  const object = newUid();
  await recordEvents(ctx.db, [change(object, 1), change(object, 2), change(object, 3)]);
  await expect.poll(() => isHandling).toBe(true);
  await followAgain(ctx.db, stalled.name);
  // It renews its lease, so it holds the follower again.
  await expect.poll(() => holderOf(stalled.name)).not.toBe(null);
  release.resolve();
  const later = newUid();
  await recordEvents(ctx.db, [change(later, 1)]);
  await caughtUp(ctx.db, stalled.name);
  expect(stalled.got.map(({ objectUid, data }) => [objectUid, data])).toEqual([
    [object, change(object, 1).data],
    [later, change(later, 1).data],
  ]);
});

test('a paused process reads nothing until it is resumed', async () => {
  const { following, got, name } = await follower();
  following.pause('installation held');
  const object = newUid();
  await recordEvents(ctx.db, [change(object, 1)]);
  // A follower that is not paused is done by then.
  const other = await follower();
  await recordEvents(ctx.db, [change(object, 2)]);
  await caughtUp(ctx.db, other.name);
  expect(got).toEqual([]);
  following.resume('installation held');
  await caughtUp(ctx.db, name);
  expect(numbersOf(got, object)).toEqual([1, 2]);
});

describe('old events', () => {
  test('are deleted when every follower has read them; one that is too far behind is cut off first', async () => {
    const world = await createTestContext();
    const lines: string[] = [];
    const log = {
      ...world.log,
      error: (event: string, fields?: object) => void lines.push(JSON.stringify({ event, ...fields })),
    };
    const [old, recent] = [newUid(), newUid()];
    const broken = `test-${newUid()}`;
    const following = await startFollowers(world, [
      { name: broken, owner: 'acme/crm', handle: () => Promise.reject(new Error('broken')) },
    ]);
    await recordEvents(world.db, [change(old, 1)]);
    await queryRows(world.db, sql`UPDATE hot.event SET happened_at = now() - interval '40 days'`);
    await recordEvents(world.db, [change(recent, 1)]);
    // Of nobody but `broken` and `hooks`, which no process runs here.
    await queryRows(world.db, sql`UPDATE hot.event_follower SET position = 1000 WHERE name = 'hooks'`);

    // The installation was on hold for long, with processes that ran: nobody is cut off before it could catch up.
    await queryRows(
      world.db,
      sql`INSERT INTO hot.process (id, host, pid, roles, version, memory_mb, is_working, started_at, seen_at)
          VALUES (gen_random_uuid(), 'here', 1, '{worker}', '1', 1, true, now() - interval '2 hours', now())`,
    );
    await sweepEvents({ db: world.db, log }, 30);
    expect(await eventsAbout(world.db, old, recent)).toHaveLength(2);
    expect(lines).toEqual([]);

    await queryRows(
      world.db,
      sql`UPDATE hot.event_follower SET behind_since = behind_since - interval '1 hour' WHERE name = ${broken}`,
    );
    await sweepEvents({ db: world.db, log }, 30);
    expect(lines).toEqual([
      JSON.stringify({ event: 'events.follower_cut_off', follower: broken, owner: 'acme/crm', days: 7 }),
    ]);
    expect((await eventsAbout(world.db, old, recent)).map(({ objectUid }) => objectUid)).toEqual([recent]);
    const state = (await followerStates(world.db)).find(({ name }) => name === broken);
    expect(state?.cutOffAt).toBeInstanceOf(Date);
    await following.stop(5_000);

    const means = {
      db: world.db,
      clock: world.clock,
      installation: { ...world.installation, dnsServers: ['127.0.0.1:1'] },
    };
    const told = (await diagnose(means)).find(({ name }) => name === 'events');
    expect(told).toMatchObject({ status: 'error', message: expect.stringContaining(`${broken} of acme/crm`) });
    // It begins again with what happens from now on, when somebody has repaired it.
    expect(await followAgain(world.db, broken)).toBe(true);
    const got: string[] = [];
    await startFollowers(world, [
      {
        name: broken,
        owner: 'acme/crm',
        handle: async (events) => void got.push(...events.map((event) => event.objectUid)),
      },
    ]);
    const later = newUid();
    await recordEvents(world.db, [change(later, 1)]);
    await caughtUp(world.db, broken);
    expect(got).toEqual([later]);
  });
});

async function holderOf(name: string): Promise<string | null | undefined> {
  const [found] = await queryRows<{ holder: string | null }>(
    ctx.db,
    sql`SELECT holder::text FROM hot.event_follower WHERE name = ${name}`,
  );
  return found?.holder;
}

async function positionOf(name: string): Promise<bigint | undefined> {
  const [found] = await queryRows<{ position: bigint }>(
    ctx.db,
    sql`SELECT position FROM hot.event_follower WHERE name = ${name}`,
  );
  return found?.position;
}
