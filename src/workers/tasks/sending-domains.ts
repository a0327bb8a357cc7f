/** Jobs of sending domains: the daily check, mails about domains and senders' addresses, and mails to their postmaster. */
import {
  enqueueAddressMail,
  enqueueDomainMails,
  enqueuePostmasterMails,
} from '../../domain/delivery/messages/system-mail.ts';
import { recheckDomains } from '../../domain/sending/domains/recheck-domains.ts';
import { postmasterMailJob } from '../../jobs/bounce-jobs.ts';
import { addressMailJob, domainMailJob, recheckDomainsJob } from '../../jobs/sending-jobs.ts';
import { defineTask, type Task } from '../task.ts';

export const sendingDomainTasks: readonly Task[] = [
  defineTask(recheckDomainsJob, (ctx, _payload, { abortSignal }) =>
    recheckDomains(ctx, { isStopping: () => abortSignal.aborted }),
  ),
  defineTask(domainMailJob, (ctx, domain, { jobId }) => enqueueDomainMails(ctx, jobId, domain)),
  defineTask(addressMailJob, (ctx, address, { jobId }) => enqueueAddressMail(ctx, jobId, address)),
  defineTask(postmasterMailJob, (ctx, mail, { jobId }) => enqueuePostmasterMails(ctx, jobId, mail)),
];
