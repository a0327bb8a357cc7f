/** What has become of letting people in who match already, and its end before the time. */
import { inTransaction, type Context } from '../../context.ts';
import { noEnrolment } from '../automation-errors.ts';
import { ENROLMENTS_KEPT } from './enrolment.ts';
import { latestEnrolments, type Enrolment } from './enrolment-read-model.ts';
import { endEnrolment } from './enrolment-store.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';

/** Ends the one that is running: who has entered stays. Throws WrongStateError `NO_ENROLMENT`, `AUTOMATION_NOT_FOUND`. */
export async function cancelEntering(ctx: Context, uid: string): Promise<Enrolment> {
  return inTransaction(ctx, async (tx) => {
    const { customerId, id: automationId } = await findOwnedAutomation(tx, uid);
    const key = { customerId, automationId };
    const [latest] = await latestEnrolments(tx.db, key, 1);
    if (!latest || !(await endEnrolment(tx.db, latest, { status: 'cancelled' }))) throw noEnrolment();
    const [ended] = await latestEnrolments(tx.db, key, 1);
    return ended ?? latest;
  });
}

/** The latest ones with their progress, the newest first. Throws `AUTOMATION_NOT_FOUND`. */
export async function enrolmentsOf(ctx: Context, uid: string): Promise<readonly Enrolment[]> {
  const { customerId, id: automationId } = await findOwnedAutomation(ctx, uid);
  return latestEnrolments(ctx.db, { customerId, automationId }, ENROLMENTS_KEPT);
}
