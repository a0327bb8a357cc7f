/**
 * Quiet hours or a frequency cap were changed (D82): what they hold back is looked at again, at nodes, in the queue and in the ledgers of campaigns.
 * What is still not allowed waits anew, for as long as is set now. The job; repeating it is harmless.
 */
import { enqueueHeldMails, type ChangedHolding } from '../../accounts/enqueue-held-mails.ts';
import { freeHeldRecipientsOf } from '../../campaigns/free-held-recipients.ts';
import { freeHeldMessages } from '../../delivery/messages/held-mail-store.ts';
import { inTransaction, type Context } from '../../context.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { freeHeldRuns, holdingNodes } from './held-run-store.ts';
import { wakeFlows } from '../runs/wake-flows.ts';

/** Of one transaction. */
const AT_ONCE = 5_000;

/** Begins anew when the process stops before all is done. */
export async function freeHeldMails(ctx: Context, changed: ChangedHolding, isStopping: () => boolean): Promise<void> {
  for (const free of [freeRuns, freeMessages, freeHeldRecipientsOf])
    if (!(await free(ctx, changed, isStopping))) return enqueueHeldMails(ctx.db, changed);
}

/** False: the process stops, and some are left. */
async function freeRuns(ctx: Context, changed: ChangedHolding, isStopping: () => boolean): Promise<boolean> {
  for (const key of await holdingNodes(ctx.db, changed))
    for (let freed = AT_ONCE; freed === AT_ONCE;) {
      if (isStopping()) return false;
      freed = await inTransaction(ctx, async ({ tx }) => {
        const runs = await freeHeldRuns(tx, key, { now: await databaseNow(tx), max: AT_ONCE });
        if (runs > 0) await wakeFlows(tx);
        return runs;
      });
    }
  return true;
}

async function freeMessages({ db }: Context, changed: ChangedHolding, isStopping: () => boolean): Promise<boolean> {
  for (let freed = AT_ONCE; freed === AT_ONCE;) {
    if (isStopping()) return false;
    freed = await freeHeldMessages(db, { ...changed, max: AT_ONCE });
  }
  return true;
}
