/** Jobs of sending domains: the daily look, and the mails about what became of them and of senders' addresses. */
import { sendSystemMail } from '../../domain/delivery/system-mail.ts';
import { domainMail } from '../../domain/sending/domains/domain-mail.ts';
import { recheckDomains } from '../../domain/sending/domains/recheck-domains.ts';
import { addressMail } from '../../domain/sending/addresses/address-mail.ts';
import type { DriverPool } from '../../domain/sending/driver-pool.ts';
import { addressMailJob, domainMailJob, recheckDomainsJob } from '../../jobs/sending-jobs.ts';
import { defineTask, type Task } from '../task.ts';

/** The tasks, over the drivers that all jobs of this process share. */
export function sendingDomainTasks(drivers: DriverPool): Task[] {
  return [
    defineTask(recheckDomainsJob, async (ctx, _payload, { abortSignal }) => {
      await recheckDomains(ctx, { isStopping: () => abortSignal.aborted });
    }),
    defineTask(domainMailJob, async (ctx, payload) => {
      for (const mail of await domainMail(ctx, payload)) await sendSystemMail(ctx, drivers, mail);
    }),
    defineTask(addressMailJob, async (ctx, payload) => {
      const mail = await addressMail(ctx, payload);
      if (mail) await sendSystemMail(ctx, drivers, mail);
    }),
  ];
}
