/** Mails about charges of saved payment methods. */
import { enqueuePaymentMails } from '../../domain/delivery/messages/system-mail.ts';
import { paymentMailJob } from '../../jobs/billing-jobs.ts';
import { defineTask } from '../task.ts';

export const paymentMailTask = defineTask(paymentMailJob, (ctx, { customerId, intentUid }, { jobId }) =>
  enqueuePaymentMails(ctx, jobId, { customerId: BigInt(customerId), intentUid }),
);
