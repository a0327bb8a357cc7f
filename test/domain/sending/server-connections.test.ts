/** The number of connections of a server, shared by processes: cuts, joining, beginning anew, drivers that cannot grow. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { createDriverPool, type DriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { FairPermits } from '../../../src/domain/sending/fair-permits.ts';
import { ServerConnections } from '../../../src/domain/sending/routing/server-connections.ts';
import { PROCESS_ID } from '../../../src/lib/process-id.ts';
import type { SendingDriver } from '../../../src/plugin-api/index.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';
import { withDriver } from '../../support/with-hooks.ts';

const ctx = await createTestContext();

/** The largest numbers that drivers were made with, and what they were told then. */
const made: number[] = [];
const told: number[] = [];
let closed = 0;
for (const type of ['growing', 'fixed'])
  withDriver(ctx.hooks, {
    ...{ type, name: type, description: '', secretKeys: [] },
    configKeys: type === 'growing' ? ['max_connections'] : [],
    validate: () => ({ ok: true, settings: {} }),
    connect: (_settings, { connectionsMax }): SendingDriver => {
      made.push(connectionsMax);
      return {
        capacity: connectionsMax,
        send: async ({ messageId }) => ({ runtimeMessageId: messageId, reply: '200' }),
        ...(type === 'growing' ? { useConnections: (count: number) => void told.push(count) } : {}),
        test: async () => ({ ok: true }),
        close: async () => void (closed += 1),
      };
    },
  });

let pool: DriverPool;
beforeEach(async () => {
  await ctx.db.execute(sql`DELETE FROM hot.process`);
  [made.length, told.length, closed] = [0, 0, 0];
  pool = createDriverPool(ctx.hooks);
});
afterEach(() => pool.close());

async function newServer(type: 'growing' | 'fixed', connections: number) {
  const world = await campaignWorld(ctx, { recipients: 1, smtpPort: 9, server: { connections } });
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  const [server] = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`UPDATE sending_server SET type = ${type}, settings = '{}' WHERE customer_id = ${customerId} RETURNING id`,
  );
  return { id: server?.id ?? 0n, customerId };
}

/** It is not gone after some seconds without a heartbeat: nobody sends one here, and a busy machine may need longer. */
const enter = (id: string, ageSeconds: number) =>
  ctx.db.execute(
    sql`INSERT INTO hot.process (id, host, pid, roles, version, seen_at, seen_since, memory_mb, is_working)
        VALUES (${id}::uuid, 'here', 1, '{worker}', '1', now() + interval '10 minutes',
                now() - make_interval(secs => ${ageSeconds}), 1, true)`,
  );

interface Stored {
  readonly connections: number;
  readonly ceiling: number | null;
  readonly holdMs: number;
  readonly isHeld: boolean;
  readonly holdBegan: boolean;
}

async function storedOf(serverId: bigint): Promise<Stored | undefined> {
  const [stored] = await queryRows<Stored>(
    ctx.db,
    sql`SELECT connections, ceiling, hold_ms AS "holdMs", ceiling IS NOT NULL AND coalesce(held_until > now(), true) AS "isHeld",
               held_until IS NOT NULL AS "holdBegan"
          FROM hot.sending_connections WHERE server_id = ${serverId}`,
  );
  return stored;
}

/** As a process that sends through the server uses the number; it has been known for a while. */
function process(serverId: bigint, connections: number) {
  const used: number[] = [];
  const driver = { capacity: 100, useConnections: (count: number) => void used.push(count) };
  const permits = new FairPermits(driver.capacity);
  const numbers = new ServerConnections({
    ctx,
    serverId,
    max: 20,
    isGrowing: true,
    driver,
    permits,
    startedAt: performance.now() - 60_000,
  });
  numbers.seen({ connections, processes: 2, knownMs: 60_000 });
  return { numbers, used };
}

it.each(['raised', 'lowered'] as const)(
  'a cut is kept when another process has %s the number meanwhile',
  async (change) => {
    const { id } = await newServer('growing', 20);
    await ctx.db.execute(
      sql`UPDATE hot.sending_connections SET connections = 10, decider = gen_random_uuid(), decider_until = now() + interval '1 minute' WHERE server_id = ${id}`,
    );
    await enter(PROCESS_ID, 60);
    const { numbers, used } = process(id, 10);
    numbers.accepted(performance.now());
    await expect.poll(() => used.length).toBeGreaterThan(1);
    const others = change === 'raised' ? 14 : 3;
    await ctx.db.execute(
      sql`UPDATE hot.sending_connections SET connections = ${others}::int, version = version + 1 WHERE server_id = ${id}`,
    );
    numbers.pushedBack(performance.now());
    const expected = change === 'raised' ? 5 : 3;
    await expect.poll(() => storedOf(id)).toMatchObject({ connections: expected, ceiling: 9, isHeld: true });
    // What it uses follows the row.
    await expect.poll(() => used.at(-1)).toBe(expected);
  },
);

it('begins to hold a refused number when the server takes new mail, not while it answers what was in flight', async () => {
  const { id } = await newServer('growing', 10);
  await enter(PROCESS_ID, 60);
  const { numbers, used } = process(id, 10);
  numbers.accepted(performance.now());
  await expect.poll(() => used.length).toBeGreaterThan(1);
  const before = performance.now();
  numbers.pushedBack(performance.now());
  await expect.poll(() => storedOf(id)).toMatchObject({ connections: 5, ceiling: 9, holdBegan: false });
  // More than a round of messages that were in flight.
  for (let index = 0; index < 300; index++) {
    numbers.accepted(before);
    await sleep(2);
  }
  expect(await storedOf(id)).toMatchObject({ ceiling: 9, holdBegan: false });
  const began = async () => {
    for (let index = 0; index < 100; index++) numbers.accepted(performance.now());
    return storedOf(id);
  };
  await expect.poll(began).toMatchObject({ ceiling: 9, holdBegan: true });
});

it('uses one connection while the others cannot know of it, and for two seconds after', async () => {
  const { customerId } = await newServer('growing', 12);
  // Its first two seconds begin now, however long a busy machine took to make the server.
  await pool.close();
  pool = createDriverPool(ctx.hooks);
  await pool.channelFor(ctx, customerId);
  // Its own heartbeat is not stored yet.
  expect(told.at(-1)).toBe(1);
  // Four seconds, not two, until the others know it long enough: a busy machine may need some of them.
  await enter(PROCESS_ID, -2);
  await pool.channelFor(ctx, customerId);
  // There is no other one.
  expect(told.at(-1)).toBe(12);
  await enter(crypto.randomUUID(), 60);
  await pool.channelFor(ctx, customerId);
  expect(told.at(-1)).toBe(1);
  await ctx.db.execute(sql`UPDATE hot.process SET seen_since = seen_since - interval '4 seconds'`);
  await pool.channelFor(ctx, customerId);
  expect(told.at(-1)).toBe(6);
});

it('counts itself where its heartbeat is missing', async () => {
  const { customerId } = await newServer('growing', 12);
  await enter(crypto.randomUUID(), 60);
  await sleep(2_100);
  await pool.channelFor(ctx, customerId);
  expect(told.at(-1)).toBe(6);
});

it('begins anew after an hour without mail, in every respect', async () => {
  const { id } = await newServer('growing', 20);
  await ctx.db.execute(
    sql`UPDATE hot.sending_connections SET connections = 9, ceiling = 9, hold_ms = 600000, held_until = now() + interval '1 day',
               decider_until = now() - interval '61 minutes' WHERE server_id = ${id}`,
  );
  const { numbers } = process(id, 2);
  numbers.accepted(performance.now());
  await expect
    .poll(() => storedOf(id))
    .toEqual({ connections: 2, ceiling: null, holdMs: 2_000, isHeld: false, holdBegan: false });
});

it('leaves nothing of a server that was deleted while it sent', async () => {
  const { id } = await newServer('growing', 20);
  const { numbers, used } = process(id, 20);
  await ctx.db.execute(sql`DELETE FROM sending_server WHERE id = ${id}`);
  numbers.accepted(performance.now());
  numbers.pushedBack(performance.now());
  await expect.poll(() => used.at(-1)).toBe(5);
  await sleep(300);
  expect(await storedOf(id)).toBeUndefined();
});

it('gives a driver that cannot grow its part of the messages at once, and keeps it when that changes', async () => {
  const { customerId } = await newServer('fixed', 6);
  await enter(PROCESS_ID, 60);
  const first = await pool.channelFor(ctx, customerId);
  expect(first?.permits.capacity).toBe(6);
  await enter(crypto.randomUUID(), 60);
  expect(await pool.channelFor(ctx, customerId)).toBe(first);
  expect(first?.permits.capacity).toBe(3);
  expect([made, closed]).toEqual([[6], 0]);
});
