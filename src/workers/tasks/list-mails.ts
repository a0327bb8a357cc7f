/** Jobs of the mails that lists send automatically: to the people on them, and to their owners. */
import { deleteOldAnswers } from '../../domain/audience/segments/answer-store.ts';
import { deleteOldConfirmationMails } from '../../domain/audience/confirmation-store.ts';
import { expirePending } from '../../domain/audience/expire-pending.ts';
import { deleteOldSignUps } from '../../domain/audience/sign-up-store.ts';
import { enqueuePersonMail } from '../../domain/audience/mails/person-mail.ts';
import { enqueueUnsubscribeDigest } from '../../domain/audience/mails/unsubscribe-notices.ts';
import {
  expirePendingJob,
  notifyUnsubscribesJob,
  sendConfirmationJob,
  sendListMailJob,
} from '../../jobs/audience-jobs.ts';
import { defineTask, type Task } from '../task.ts';

/** The first two are of the version before, which queued mails as jobs: they become messages, each once. */
export const listMailTasks: readonly Task[] = [
  defineTask(sendConfirmationJob, ({ db }, { subscriberId: id, eventId, ...list }) =>
    enqueuePersonMail(db, { ...list, id }, { kind: 'confirmation', eventId }),
  ),
  defineTask(sendListMailJob, ({ db }, { subscriberId: id, eventId, kind, ...list }) =>
    enqueuePersonMail(db, { ...list, id }, { kind, eventId }),
  ),
  defineTask(notifyUnsubscribesJob, (ctx, { customerId, listId }) =>
    enqueueUnsubscribeDigest(ctx, { customerId, id: listId }),
  ),
];

export const expirePendingTask = defineTask(expirePendingJob, async (ctx) => {
  await expirePending(ctx);
  await deleteOldConfirmationMails(ctx.db);
  await deleteOldSignUps(ctx.db);
  await deleteOldAnswers(ctx.db);
});
