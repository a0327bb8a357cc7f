/** What becomes of the triggers of an automation that look at people, when it is activated or stopped. */
import type { TransactionContext } from '../../context.ts';
import type { Automation, AutomationStatus } from '../automation.ts';
import { beginTriggers } from './begin-triggers.ts';
import { isPositionKept } from '../events/flow-follower-store.ts';
import { restTriggers } from './trigger-store.ts';
import { readVersion } from '../runs/version-read-model.ts';

/** What was to come while it was stopped does not, unless an outage stopped it and it is at most a day late: its dates and timetables begin anew, and who is in its segments by now is remembered. */
export async function changeTriggers(
  tx: TransactionContext,
  { customerId, id: automationId, liveVersion }: Automation,
  status: AutomationStatus,
): Promise<void> {
  if (status !== 'active' || liveVersion === null) return restTriggers(tx.tx, { customerId, automationId });
  const key = { customerId, automationId, version: liveVersion };
  const version = await readVersion(tx.db, key);
  if (version) await beginTriggers(tx, { key, ...version, isAnew: true, keepsSlots: await isPositionKept(tx.db, key) });
}
