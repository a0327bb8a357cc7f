/** Activates an automation, or stops it: then nobody enters, and who is inside stays where they are (D85). */
import { z } from 'zod';
import { parseInput } from '../../lib/text.ts';
import { unreachable } from '../../lib/errors.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { hasOverdue, notPublished } from './automation-errors.ts';
import { writeStatus } from './automation-store.ts';
import type { Automation, AutomationStatus } from './automation.ts';
import { changeTriggers } from './change-triggers.ts';
import { databaseNow } from './clock-read-model.ts';
import { followFromNow } from './flow-follower-store.ts';
import { findOwnedAutomation } from './find-owned-automation.ts';
import { askOfOverdue, countOverdue, spreadOverdue } from './parked-run-store.ts';
import { RUN_REQUESTS } from './run.ts';
import { wakeFlows } from './wake-flows.ts';

const HOUR_MS = 3_600_000;
/** Who is late by less does not notice it. */
const OVERDUE_MS = HOUR_MS;
/** A month: by then a mail is no answer to anything. */
const HOURS_MAX = 24 * 31;

const hours = z.int().min(1).max(HOURS_MAX);

/** What becomes of steps that are late by more than an hour when a flow goes on. */
export const overdueChoice = z.discriminatedUnion('mode', [
  /** All at once. */
  z.strictObject({ mode: z.literal('now') }),
  /** Evenly over so many hours. */
  z.strictObject({ mode: z.literal('spread'), hours }),
  /** All at once, without the mails that should have gone more than so many hours ago. */
  z.strictObject({ mode: z.literal('skip_mails'), olderThanHours: hours }),
  /** Waits begin again; what does not wait goes on at once. */
  z.strictObject({ mode: z.literal('wait_anew') }),
]);
export type OverdueChoice = z.output<typeof overdueChoice>;

/**
 * Repeating it is harmless. Throws WrongStateError `AUTOMATION_NOT_PUBLISHED`; `AUTOMATION_HAS_OVERDUE` when it is to go on, steps are late by
 * more than an hour, and no choice is given; `AUTOMATION_NOT_FOUND`.
 */
export async function setAutomationStatus(
  ctx: Context,
  uid: string,
  status: AutomationStatus,
  choice?: OverdueChoice,
): Promise<{ uid: string }> {
  const { overdue } = parseInput(z.object({ overdue: overdueChoice.optional() }), { overdue: choice });
  return inTransaction(ctx, async (tx) => {
    const automation = await findOwnedAutomation(tx, uid, 'change');
    if (automation.status === status) return { uid };
    if (status === 'active') await prepareToGoOn(tx, automation, overdue);
    await writeStatus(tx.db, automation, status);
    await changeTriggers(tx, automation, status);
    if (status !== 'active') return { uid };
    await followFromNow(tx.db, automation);
    await wakeFlows(tx.tx);
    return { uid };
  });
}

/** How many runs are late by more than an hour: what would be asked about if the flow went on now. Throws `AUTOMATION_NOT_FOUND`. */
export async function overdueRuns(ctx: Context, uid: string): Promise<number> {
  const { customerId, id: automationId } = await findOwnedAutomation(ctx, uid);
  const now = await databaseNow(ctx.db);
  return countOverdue(ctx.db, { customerId, automationId }, new Date(now.getTime() - OVERDUE_MS));
}

async function prepareToGoOn(
  { tx, db }: TransactionContext,
  { customerId, id: automationId, liveVersion }: Automation,
  choice: OverdueChoice | undefined,
): Promise<void> {
  if (liveVersion === null) throw notPublished();
  const key = { customerId, automationId };
  const now = await databaseNow(db);
  const since = new Date(now.getTime() - OVERDUE_MS);
  const runs = await countOverdue(db, key, since);
  if (runs === 0) return;
  if (!choice) throw hasOverdue(runs);
  switch (choice.mode) {
    case 'now':
      return;
    case 'spread':
      return spreadOverdue(tx, key, { since, now, hours: choice.hours });
    case 'skip_mails': {
      const before = new Date(now.getTime() - choice.olderThanHours * HOUR_MS);
      return askOfOverdue(tx, key, { since: before, request: RUN_REQUESTS.skipMails });
    }
    case 'wait_anew':
      return askOfOverdue(tx, key, { since, request: RUN_REQUESTS.waitAnew });
    default:
      return unreachable(choice);
  }
}
