/**
 * Lets in people who match already (D71): by the number that a look has answered (preview-entering.ts), and a rate. Publishing and activating let
 * nobody in.
 */
import { z } from 'zod';
import { enrolJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { parseInput } from '../../../lib/text.ts';
import type { Queryable } from '../../../db/database.ts';
import { inTransaction, type Context } from '../../context.ts';
import { enrolmentChanged, enrolmentRunning, nobodyEnters, notActive } from '../automation-errors.ts';
import { PEOPLE_MAX, PER_HOUR_MAX, toleranceOf } from './enrolment.ts';
import type { Enrolment, EnrolmentKey } from './enrolment-read-model.ts';
import { insertEnrolment } from './enrolment-store.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import { lookAt, type Whom } from './preview-entering.ts';

export const enterExistingInput = z.object({
  people: z.int().min(1).max(PEOPLE_MAX),
  perHour: z.int().min(1).max(PER_HOUR_MAX),
});

export interface EnterExistingInput extends Whom {
  /** How many may enter, as the preview said: the number now must be near. */
  readonly people: number;
  readonly perHour: number;
}

/**
 * Begins to let them in: a job does it, so many an hour. Throws what `previewEntering` throws, ValidationError `ENROLMENT_CHANGED` when another
 * number may enter, WrongStateError `AUTOMATION_NOT_ACTIVE`, `NOBODY_ENTERS`, `ENROLMENT_RUNNING`.
 */
export async function enterExisting(ctx: Context, uid: string, given: EnterExistingInput): Promise<Enrolment> {
  const { people: confirmed, perHour } = parseInput(enterExistingInput, {
    people: given.people,
    perHour: given.perHour,
  });
  const automation = await findOwnedAutomation(ctx, uid);
  if (automation.status !== 'active') throw notActive();
  const { preview, rule, segmentUid } = await lookAt(ctx, automation, given);
  const { mayEnter, matching } = preview;
  if (mayEnter === 0) throw nobodyEnters();
  const tolerance = toleranceOf(confirmed);
  if (Math.abs(mayEnter - confirmed) > tolerance) throw enrolmentChanged({ confirmed, mayEnter });
  const withoutTriggers = given.withoutTriggers ?? false;
  const asked = { rule, segmentUid, withoutTriggers, confirmed, enteredMax: confirmed + tolerance, perHour, matching };
  return inTransaction(ctx, async (tx) => {
    const { customerId, id: automationId, listId, status } = await findOwnedAutomation(tx, uid, 'change');
    if (status !== 'active') throw notActive();
    const made = await insertEnrolment(tx.db, { customerId, automationId, listId, ...asked });
    if (!made) throw enrolmentRunning();
    await enqueueEnrolment(tx.db, made);
    return made;
  });
}

/** The next portion of an enrolment, so many seconds from now. */
export async function enqueueEnrolment(
  db: Queryable,
  { customerId, id }: EnrolmentKey,
  delaySeconds = 0,
): Promise<void> {
  const payload = { customerId: String(customerId), enrolmentId: String(id) };
  await enqueue(db, enrolJob, payload, {
    key: `${enrolJob.name} ${id}`,
    ...(delaySeconds > 0 ? { delaySeconds } : {}),
  });
}
