/** Jobs of the mails that lists send automatically: to the people on them, and to their owners. */
import { deleteOldAnswers } from '../../domain/audience/segments/answer-store.ts';
import { deleteOldConfirmationMails } from '../../domain/audience/confirmation-store.ts';
import { expirePending } from '../../domain/audience/expire-pending.ts';
import { deleteOldSignUps } from '../../domain/audience/sign-up-store.ts';
import { sendPersonMail, sendUnsubscribeDigest } from '../../domain/delivery/send-list-mail.ts';
import type { DriverPool } from '../../domain/sending/driver-pool.ts';
import {
  expirePendingJob,
  notifyUnsubscribesJob,
  sendConfirmationJob,
  sendListMailJob,
} from '../../jobs/audience-jobs.ts';
import { defineTask, type Task } from '../task.ts';

/** The tasks, over the drivers that all jobs of this process share. */
export function listMailTasks(drivers: DriverPool): Task[] {
  return [
    defineTask(sendConfirmationJob, (ctx, { subscriberId: id, ...cause }) =>
      sendPersonMail(ctx, drivers, { ...cause, id, kind: 'confirmation' }),
    ),
    defineTask(sendListMailJob, (ctx, { subscriberId: id, ...cause }) =>
      sendPersonMail(ctx, drivers, { ...cause, id }),
    ),
    defineTask(notifyUnsubscribesJob, (ctx, { customerId, listId }) =>
      sendUnsubscribeDigest(ctx, drivers, { customerId, id: listId }),
    ),
  ];
}

export const expirePendingTask = defineTask(expirePendingJob, async (ctx) => {
  await expirePending(ctx);
  await deleteOldConfirmationMails(ctx.db);
  await deleteOldSignUps(ctx.db);
  await deleteOldAnswers(ctx.db);
});
