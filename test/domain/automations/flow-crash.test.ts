/** The processes that move people through flows die between any two statements, are killed, and run at once: each step takes effect once. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { advanceDue } from '../../../src/domain/automations/engine/advance-due.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { mortalProcess } from '../../support/mortal-process.ts';

const PROGRAM = path.resolve(import.meta.dirname, '../../support/flow-process.ts');
const KILLS = 3;
/** A process has some hundred statements when nothing is done yet. */
const STATEMENTS_STEP = 15;
/** More than a process has. */
const DEATHS_MAX = 400;

const world = await startFlowWorld(new Date().toISOString());
const inOneMinute = () => new Date(world.now().getTime() + 60_000).toISOString();
const flow = {
  triggers: [{ type: 'execute' }],
  nodes: [
    { id: 'rest', type: 'wait', for: { minutes: 1 } },
    { id: 'mark', type: 'add_tag', tag: 'marked' },
    { id: 'leave', type: 'unsubscribe' },
    { id: 'stop', type: 'end' },
  ],
  edges: [
    { from: 'start', to: 'rest' },
    { from: 'rest', to: 'mark' },
    { from: 'mark', to: 'leave' },
    { from: 'leave', to: 'stop' },
  ],
};
const STEPS = ['rest entered', 'rest passed', 'mark passed', 'leave passed', 'stop passed'];

/** The different histories of these people's runs, and with them how many people have one. */
async function histories(ids: readonly bigint[]): Promise<Record<string, number>> {
  const rows = await queryRows<{ steps: string }>(
    world.ctx.db,
    sql`SELECT string_agg(node || ' ' || what, ', ' ORDER BY no) AS steps FROM hot.flow_step WHERE person_id = ANY (${[...ids]}::bigint[]) GROUP BY run_id`,
  );
  return Object.fromEntries(
    Object.entries(Object.groupBy(rows, ({ steps }) => steps)).map(([steps, all]) => [steps, all?.length ?? 0]),
  );
}

/** Everybody has gone the whole way once, and nothing is left of it but the history. */
async function expectWholeWay(published: Awaited<ReturnType<typeof world.publish>>, ids: readonly bigint[]) {
  expect(await histories(ids)).toEqual({ [STEPS.join(', ')]: ids.length });
  const count = `entered ${ids.length}, passed ${ids.length}`;
  expect(await world.counts(published)).toEqual({ rest: count, mark: count, leave: count, stop: count });
  const [left] = await queryRows<{ runs: number; open: number; left: number; events: number }>(
    world.ctx.db,
    sql`SELECT (SELECT count(*)::int FROM hot.flow_run WHERE person_id = ANY (${[...ids]}::bigint[])) AS runs,
               (SELECT count(*)::int FROM hot.flow_entry WHERE person_id = ANY (${[...ids]}::bigint[]) AND ended_at IS NULL) AS open,
               (SELECT count(*)::int FROM subscriber WHERE id = ANY (${[...ids]}::bigint[]) AND status = 'unsubscribed' AND tags = '{marked}') AS left,
               (SELECT count(*)::int FROM consent_event WHERE subscriber_id = ANY (${[...ids]}::bigint[]) AND status = 'unsubscribed') AS events`,
  );
  expect(left).toEqual({ runs: 0, open: 0, left: ids.length, events: ids.length });
}

test('a process that dies between any two statements has moved people or not, and the next one goes on', async () => {
  const published = await world.publish(flow);
  const all: bigint[] = [];
  let diesAt = 1;
  for (let isDead = true; isDead; diesAt++) {
    expect(diesAt).toBeLessThan(DEATHS_MAX);
    const ids = await subscriberPeople(world.ctx.db, world.list, 2);
    all.push(...ids);
    await world.enter(published, ids);
    const later = inOneMinute();
    const process = mortalProcess(world.ctx, diesAt);
    const isStopping = () => process.isDead();
    await advanceDue(process.ctx, { now: () => new Date(later), isStopping }).catch((error: unknown) => {
      if (!process.isDead()) throw error;
    });
    isDead = process.isDead();
    await world.run(later);
    expect(await histories(ids)).toEqual({ [STEPS.join(', ')]: ids.length });
  }
  // It died at each of them.
  expect(diesAt).toBeGreaterThan(40);
  await expectWholeWay(published, all);
});

test('processes are killed, then two work at once', async () => {
  const published = await world.publish(flow);
  const ids = await subscriberPeople(world.ctx.db, world.list, 3_000);
  await world.enter(published, ids);
  const later = inOneMinute();
  const advance = async (...more: readonly string[]) => {
    const args = [PROGRAM, world.ctx.database.url, later, ...more];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    await once(child, 'exit');
    return child.signalCode ?? child.exitCode;
  };
  const exits: unknown[] = [];
  for (let kill = 1; kill <= KILLS; kill++) exits.push(await advance(String(kill * STATEMENTS_STEP)));
  expect(exits[0]).toBe('SIGKILL');
  expect(await Promise.all([advance(), advance()])).toEqual([0, 0]);
  // What one of them found locked is done now.
  expect(await advance()).toBe(0);
  await expectWholeWay(published, ids);
});
