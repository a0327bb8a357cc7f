/** Wakes the processes that move people through flows: something has become due. It goes out with the commit. */
import { notify } from '../../../db/listen.ts';
import type { Transaction } from '../../../db/database.ts';

export const FLOWS_CHANNEL = 'flows';

/** A notification that gets lost costs a second: they look by the clock too. */
export function wakeFlows(tx: Transaction): Promise<void> {
  return notify(tx, FLOWS_CHANNEL, '');
}
