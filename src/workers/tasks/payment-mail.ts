/** Mails about charges of saved payment methods. */
import { sendPaymentMails } from '../../domain/delivery/system-mail.ts';
import type { DriverPool } from '../../domain/sending/driver-pool.ts';
import { paymentMailJob } from '../../jobs/billing-jobs.ts';
import { defineTask, type Task } from '../task.ts';

export function paymentMailTask(drivers: DriverPool): Task {
  return defineTask(paymentMailJob, (ctx, { customerId, intentUid }) =>
    sendPaymentMails(ctx, drivers, { customerId: BigInt(customerId), intentUid }),
  );
}
