/** Mails the administrators that a plugin was switched off. */
import { enqueueSwitchedOffMails } from '../../domain/delivery/messages/system-mail.ts';
import { switchedOffMailJob } from '../../jobs/plugin-jobs.ts';
import { defineTask } from '../task.ts';

export const switchedOffMailTask = defineTask(switchedOffMailJob, (ctx, plugin, { jobId }) =>
  enqueueSwitchedOffMails(ctx, jobId, plugin),
);
