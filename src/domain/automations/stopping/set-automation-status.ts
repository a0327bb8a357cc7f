/** Activates an automation, or stops it: then nobody enters, and who is inside stays where they are (D85). */
import { z } from 'zod';
import { parseInput } from '../../../lib/text.ts';
import { inTransaction, type Context, type TransactionContext } from '../../context.ts';
import { hasOverdue, notPublished } from '../automation-errors.ts';
import { writeStatus } from '../automation-store.ts';
import type { Automation, AutomationStatus } from '../automation.ts';
import { changeTriggers } from '../triggers/change-triggers.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { followFromNow, unreadSince } from '../events/flow-follower-store.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import { unblockPeople } from '../entries/entry-store.ts';
import { chooseForLate, lateNodes, resumeNodes } from '../runs/late-run-store.ts';
import { enqueueLookAgain } from './look-again.ts';
import type { LateChoice } from './held-mails.ts';
import { enqueueResumedMails } from './resume-mails.ts';
import { wakeFlows } from '../runs/wake-flows.ts';

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
    const choice = status === 'active' ? await prepareToGoOn(tx, automation, overdue) : undefined;
    const since = await unreadSince(tx.db, automation);
    await writeStatus(tx.db, automation, status);
    await changeTriggers(tx, automation, status);
    if (status === 'active') await goOn(tx, automation, { choice, since });
    return { uid };
  });
}

/** What happened to people while it was stopped lets nobody in (D71), but those inside are looked at. */
async function goOn(
  { db, tx }: TransactionContext,
  automation: Automation,
  { choice, since }: { readonly choice: LateChoice | undefined; readonly since: Date | undefined },
): Promise<void> {
  const key = { customerId: automation.customerId, automationId: automation.id };
  await followFromNow(db, automation);
  if (since) await enqueueLookAgain(db, { ...key, since });
  await enqueueResumedMails(db, { ...key, choice });
  await wakeFlows(tx);
}

/** How many runs are late by more than an hour: what would be asked about if the flow went on now. Throws `AUTOMATION_NOT_FOUND`. */
export async function overdueRuns(ctx: Context, uid: string): Promise<number> {
  const { customerId, id: automationId } = await findOwnedAutomation(ctx, uid);
  const now = await databaseNow(ctx.db);
  return sumOf(await lateNodes(ctx.db, { customerId, automationId }, new Date(now.getTime() - OVERDUE_MS)));
}

/** What was chosen for late runs; undefined: they go on as they are. */
async function prepareToGoOn(
  { tx, db }: TransactionContext,
  { customerId, id: automationId, liveVersion }: Automation,
  choice: OverdueChoice | undefined,
): Promise<LateChoice | undefined> {
  if (liveVersion === null) throw notPublished();
  const key = { customerId, automationId };
  const now = await databaseNow(db);
  const since = new Date(now.getTime() - OVERDUE_MS);
  const runs = sumOf(await lateNodes(db, key, since));
  if (runs > 0 && !choice) throw hasOverdue(runs);
  await resumeNodes(tx, key, now);
  await unblockPeople(tx, key);
  if (!choice || choice.mode === 'now') return undefined;
  const { mode } = choice;
  const until = mode === 'skip_mails' ? new Date(now.getTime() - choice.olderThanHours * HOUR_MS) : since;
  const nodes = await lateNodes(db, key, until);
  const late = { mode, until, from: now, hours: mode === 'spread' ? choice.hours : 0 };
  await chooseForLate(tx, key, { nodes, choice: late });
  return late;
}

function sumOf(nodes: readonly { readonly runs: number }[]): number {
  return nodes.reduce((sum, { runs }) => sum + runs, 0);
}
