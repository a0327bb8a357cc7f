/**
 * Flows after a backup was restored: since it was made, the original installation has moved people on and sent them mails of which this database
 * knows nothing. So all are stopped, as if each had been paused: activating one asks what becomes of what is late (D85).
 */
import type { Transaction } from '../../../db/database.ts';
import { stopEach } from '../engine/outage-store.ts';
import { restTriggers } from '../triggers/trigger-store.ts';

/** Stops all active automations of the installation. Returns how many. */
export async function stopRestoredFlows(tx: Transaction): Promise<number> {
  const stopped = await stopEach(tx);
  for (const key of stopped) await restTriggers(tx, key);
  return stopped.length;
}
