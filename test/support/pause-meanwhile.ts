/** Somebody who pauses an automation while a job of it is at work. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { setAutomationStatus } from '../../src/domain/automations/stopping/set-automation-status.ts';
import type { Context } from '../../src/domain/context.ts';
import { interrupted } from './interrupted.ts';

/** Does `work` in a process in which the automation is to be paused just before the statement: the pause has to wait for the transaction. */
export async function pauseMeanwhile(
  ctx: Context,
  { uid, statement }: { readonly uid: string; readonly statement: string },
  work: (ctx: Context) => Promise<unknown>,
): Promise<void> {
  let hasWaited = false;
  let isPaused = false;
  let pausing: Promise<unknown> = Promise.resolve();
  const isHeldUp = async () =>
    (await ctx.db.execute(
      sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%automation%FOR UPDATE%'`,
    )) > 0;
  const worker = interrupted(ctx, { statement, no: 1 }, async () => {
    pausing = setAutomationStatus(ctx, uid, 'inactive').finally(() => (isPaused = true));
    while (!isPaused && !(await isHeldUp())) await sleep(20);
    hasWaited = !isPaused;
  });
  await work(worker);
  await pausing;
  expect(hasWaited, 'the pause waits for the transaction').toBe(true);
}
