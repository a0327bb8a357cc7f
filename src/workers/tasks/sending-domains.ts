/** Jobs of sending domains: the daily check, and mails about domains and senders' addresses. */
import { sendAddressMail, sendDomainMails } from '../../domain/delivery/system-mail.ts';
import { recheckDomains } from '../../domain/sending/domains/recheck-domains.ts';
import type { DriverPool } from '../../domain/sending/driver-pool.ts';
import { addressMailJob, domainMailJob, recheckDomainsJob } from '../../jobs/sending-jobs.ts';
import { defineTask, type Task } from '../task.ts';

/** The tasks, over the drivers that all jobs of this process share. */
export function sendingDomainTasks(drivers: DriverPool): Task[] {
  return [
    defineTask(recheckDomainsJob, (ctx, _payload, { abortSignal }) =>
      recheckDomains(ctx, { isStopping: () => abortSignal.aborted }),
    ),
    defineTask(domainMailJob, (ctx, domain) => sendDomainMails(ctx, drivers, domain)),
    defineTask(addressMailJob, (ctx, address) => sendAddressMail(ctx, drivers, address)),
  ];
}
