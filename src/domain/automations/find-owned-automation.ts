/** Finds an automation by its uid for the caller: own, foreign or unknown. */
import { isUid } from '../../lib/ids.ts';
import { viewerOf, type Context } from '../context.ts';
import { automationNotFound, foreignAutomation } from './automation-errors.ts';
import { automationExists, findAutomation } from './automation-store.ts';
import type { Automation } from './automation.ts';

/** The caller's automation. Throws NotFoundError `AUTOMATION_NOT_FOUND`, ForeignResourceError of the same code. */
export async function findOwnedAutomation(
  ctx: Context,
  uid: string,
  lock: 'none' | 'change' = 'none',
): Promise<Automation> {
  if (!isUid(uid)) throw automationNotFound();
  const automation = await findAutomation(ctx.db, { customerId: viewerOf(ctx).customerId, uid }, lock);
  if (automation) return automation;
  throw (await automationExists(ctx.db, uid)) ? foreignAutomation() : automationNotFound();
}
