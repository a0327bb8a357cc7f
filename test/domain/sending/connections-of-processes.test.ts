/** Two processes that share a server's connections: who counts, and what each uses after the database was away. */
import { beforeEach, expect, it, vi } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { enterProcess, leaveProcess, signOfLife } from '../../../src/domain/installation/process-store.ts';
import { FairPermits } from '../../../src/domain/sending/fair-permits.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';
import { queryRows } from '../../../scripts/support/query-rows.ts';

const ctx = await createTestContext();
const HOUR_MS = 3_600_000;

beforeEach(async () => {
  await ctx.db.execute(sql`DELETE FROM hot.process`);
});

/** The modules as another process loads them: with its own PROCESS_ID. */
async function loadProcess() {
  vi.resetModules();
  const { PROCESS_ID: id } = await import('../../../src/lib/process-id.ts');
  const { readNumber } = await import('../../../src/domain/sending/routing/connections-store.ts');
  const { ServerConnections } = await import('../../../src/domain/sending/routing/server-connections.ts');
  const state = { id, host: 'here', pid: 1, roles: ['worker'], version: '1', memoryMb: 1, isWorking: true };
  const told: number[] = [];
  return {
    id,
    state,
    told,
    enter: () => enterProcess(ctx.db, state),
    sign: (isWorking = true) => signOfLife(ctx.db, { ...state, isWorking }),
    read: (serverId: bigint) => readNumber(ctx.db, { serverId, decider: id }),
    /** It has sent for an hour. */
    connections: (serverId: bigint) =>
      new ServerConnections({
        ctx,
        serverId,
        max: 20,
        isGrowing: true,
        driver: { capacity: 100, useConnections: (count) => void told.push(count) },
        permits: new FairPermits(100),
        startedAt: performance.now() - HOUR_MS,
      }),
  };
}

const passed = (seconds: number) =>
  ctx.db.execute(
    sql`UPDATE hot.process SET seen_at = seen_at - make_interval(secs => ${seconds}), started_at = started_at - make_interval(secs => ${seconds}),
               seen_since = seen_since - make_interval(secs => ${seconds})`,
  );

async function serverWith(connections: number): Promise<bigint> {
  const world = await campaignWorld(ctx, { recipients: 1, smtpPort: 9, server: { connections } });
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  const [server] = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`SELECT id FROM sending_server WHERE customer_id = ${customerId}`,
  );
  return server?.id ?? 0n;
}

it('counts those that were seen lately and may send, whatever their workers do at the moment', async () => {
  const [serverId, first, second] = [await serverWith(12), await loadProcess(), await loadProcess()];
  expect(second.id).not.toBe(first.id);
  await first.enter();
  await second.enter();
  expect(await first.read(serverId)).toMatchObject({ processes: 2 });
  expect(await second.read(serverId)).toMatchObject({ processes: 2 });
  // Its worker is interrupted, say: its connections may still be open.
  await second.sign(false);
  expect(await first.read(serverId)).toMatchObject({ processes: 2 });
  // Killed.
  await passed(13);
  await first.sign();
  expect(await first.read(serverId)).toMatchObject({ processes: 1 });
  // Back again, and stopped in order.
  await second.sign();
  expect(await first.read(serverId)).toMatchObject({ processes: 2 });
  await leaveProcess(ctx.db, second.id);
  await second.sign();
  expect(await first.read(serverId)).toMatchObject({ processes: 1 });
});

it('gives nobody the whole number after the database was away', async () => {
  const [serverId, first, second] = [await serverWith(12), await loadProcess(), await loadProcess()];
  const numbers = [first.connections(serverId), second.connections(serverId)];
  // As each next second of sending does: reads the number, and uses its part.
  const read = async () => {
    for (const [index, process] of [first, second].entries()) {
      const shared = await process.read(serverId);
      if (shared) numbers[index]?.seen({ ...shared, connections: 12 });
    }
    return [first.told.at(-1), second.told.at(-1)];
  };
  await first.enter();
  await second.enter();
  await passed(HOUR_MS / 1_000 - 1);
  await first.sign();
  await second.sign();
  // Their heartbeats had a gap.
  expect(await read()).toEqual([1, 1]);
  await ctx.db.execute(sql`UPDATE hot.process SET seen_since = seen_since - interval '5 seconds'`);
  expect(await read()).toEqual([6, 6]);

  // Away for fifteen seconds: nobody's heartbeat was stored.
  await passed(15);
  expect(await read()).toEqual([1, 1]);
  // The first one's comes, and the second one's not yet.
  await first.sign();
  expect(await read()).toEqual([1, 1]);
  await second.sign();
  await passed(5);
  expect(await read()).toEqual([6, 6]);

  // The rows are lost, as after a crash or from a backup.
  await ctx.db.execute(sql`DELETE FROM hot.process`);
  expect(await read()).toEqual([1, 1]);
  await first.enter();
  expect(await read()).toEqual([1, 1]);
  await second.enter();
  await passed(5);
  expect(await read()).toEqual([6, 6]);
});
