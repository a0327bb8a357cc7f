/** Mails the administrators that a plugin was switched off. */
import { sendSwitchedOffMails } from '../../domain/delivery/system-mail.ts';
import type { DriverPool } from '../../domain/sending/driver-pool.ts';
import { switchedOffMailJob } from '../../jobs/plugin-jobs.ts';
import { defineTask, type Task } from '../task.ts';

export function switchedOffMailTask(drivers: DriverPool): Task {
  return defineTask(switchedOffMailJob, (ctx, plugin) => sendSwitchedOffMails(ctx, drivers, plugin));
}
