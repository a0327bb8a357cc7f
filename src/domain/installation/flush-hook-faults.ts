/** Adds what a process has counted of plugins' faults to the installation's counters; the heartbeat does so every few seconds. */
import type { Queryable } from '../../db/database.ts';
import { addHookFaults, type HookFaults } from './hook-fault-store.ts';

/** What a process has counted since it was last taken. */
export interface CountedHookFaults {
  take(): readonly HookFaults[];
  add(faults: HookFaults): void;
}

/** After a failure it is added the next time. */
export async function flushHookFaults(db: Queryable, counted: CountedHookFaults): Promise<void> {
  const taken = counted.take();
  if (taken.length === 0) return;
  try {
    await addHookFaults(db, taken);
  } catch (error) {
    for (const one of taken) counted.add(one);
    throw error;
  }
}
