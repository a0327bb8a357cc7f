/** Jobs of sending domains: the daily check, mails about domains and senders' addresses, and mails to their postmaster. */
import { sendAddressMail, sendDomainMails, sendPostmasterMails } from '../../domain/delivery/system-mail.ts';
import { recheckDomains } from '../../domain/sending/domains/recheck-domains.ts';
import type { DriverPool } from '../../domain/sending/driver-pool.ts';
import { postmasterMailJob } from '../../jobs/bounce-jobs.ts';
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
    defineTask(postmasterMailJob, (ctx, mail) => sendPostmasterMails(ctx, drivers, mail)),
  ];
}
