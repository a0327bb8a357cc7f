/**
 * Watches campaigns under way. A campaign with due recipients that makes no progress for three times as long as usual, and waits
 * for nothing that comes by itself (campaign-wait.ts), gets an alarm in the log and in its `status_reason`. Every process
 * watches, also web processes: when all workers are dead nobody else would notice.
 */
import type { Queryable } from '../../db/database.ts';
import { tryLockUntilCommit } from '../../db/lock.ts';
import { inTransaction, type Context } from '../context.ts';
import { ledgerOfCampaign } from '../delivery/ledger/delivery.ts';
import { dueOf, noteAlarm, noteExcuse, noteProgress, stalledNow, type Stall } from './campaign-progress-store.ts';
import { clearStalls, reportStall } from './campaign-state-store.ts';
import { campaignWaits } from './campaign-wait.ts';
import { reasonText, type StallCause } from './status-reason.ts';

/** Checks once, unless another process does. Returns the campaigns with a new alarm. */
export async function watchProgress(ctx: Context): Promise<string[]> {
  return inTransaction(ctx, async ({ db, log }) => {
    if (!(await tryLockUntilCommit(db, 'mailwright:watch'))) return [];
    await noteProgress(db);
    await clearStalls(db);
    const alarms: string[] = [];
    const stalled = await stalledNow(db);
    const waits = stalled.length > 0 ? await campaignWaits(db, stalled) : [];
    for (const [index, stall] of stalled.entries()) {
      const wait = waits[index];
      const cause = wait?.isInOrder ? undefined : (wait?.reason ?? (await causeOf(db, stall)));
      if (cause === undefined) {
        await noteExcuse(db, stall);
        continue;
      }
      await alarm(db, stall, cause);
      log.error('campaign.stalled', { campaign: stall.uid, since: stall.since, cause: reasonText(cause) });
      alarms.push(stall.uid);
    }
    return alarms;
  });
}

/** What a due recipient waits for; undefined: nobody is due. */
async function causeOf(db: Queryable, { customerId, campaignId, snapshotOn }: Stall): Promise<StallCause | undefined> {
  if (snapshotOn === null) return { code: 'not_planned', params: {} };
  const row = await dueOf(db, ledgerOfCampaign({ customerId, campaignId, snapshotOn }));
  if (!row?.hasSnapshot) return { code: 'not_planned', params: {} };
  if (!row.due) return undefined;
  const { reason, reply } = row.due;
  if (reason !== null) return { code: 'delivery', params: { reason, reply } };
  return { code: row.isUnderWay ? 'server_silent' : 'not_taken_up', params: { reply } };
}

async function alarm(db: Queryable, { customerId, campaignId, since }: Stall, cause: StallCause): Promise<void> {
  await noteAlarm(db, { customerId, campaignId });
  await reportStall(db, { customerId, campaignId }, { code: 'stalled', params: { since: since.toISOString(), cause } });
}
