/**
 * After an outage of more than an hour, flows in which steps are late by as much are stopped, and their owners are told (D85): activating one
 * asks what becomes of what is late (`setAutomationStatus`). Flows without such steps go on.
 */
import { stoppedMailJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { enqueueSystemMails } from '../../delivery/messages/system-mail.ts';
import { inTransaction, type Context } from '../../context.ts';
import { keepPosition } from '../events/flow-follower-store.ts';
import { noteWork, readersOf, stopLate } from './outage-store.ts';
import { restTriggers } from '../triggers/trigger-store.ts';

const OUTAGE_SECONDS = 3_600;
const HOUR_SECONDS = 3_600;
/** More users rarely manage one customer's automations. */
const READERS_MAX = 10;

/** Called by each worker again and again while it works. Returns how many automations were stopped. */
export async function watchOutage(ctx: Context): Promise<number> {
  return inTransaction(ctx, async ({ tx, log }) => {
    const seconds = await noteWork(tx);
    if (seconds <= OUTAGE_SECONDS) return 0;
    const stopped = await stopLate(tx, OUTAGE_SECONDS);
    log.warn('automations.outage', { seconds: Math.round(seconds), stopped: stopped.length });
    const hours = Math.floor(seconds / HOUR_SECONDS);
    for (const { customerId, automationId } of stopped) {
      await restTriggers(tx, { customerId, automationId });
      await keepPosition(tx, { customerId, automationId });
      await enqueue(tx, stoppedMailJob, { customerId: String(customerId), automationId: String(automationId), hours });
    }
    return stopped.length;
  });
}

export interface StoppedFlow {
  readonly customerId: bigint;
  readonly automationId: bigint;
  readonly hours: number;
}

/** Mails the users of the customer that the automation was stopped, and what to do. */
export async function enqueueStoppedMails(ctx: Context, jobId: string, { hours, ...key }: StoppedFlow): Promise<void> {
  const readers = await readersOf(ctx.db, key, { status: 'inactive', max: READERS_MAX });
  const mails = readers.map(({ email, name }) => ({
    to: email,
    subject: `The automation ${name} was stopped after an outage`,
    paragraphs: [
      `Mailwright did not run for ${hours === 1 ? 'one hour' : `${hours} hours`}. Steps of the automation ${name} are late by more than an hour, so it was stopped: nothing late is sent without asking you.`,
      `Activate it to go on: ${ctx.installation.baseUrl}`,
      'You can then send everything at once, spread it over some hours, leave out old mails, or let the waits begin anew.',
    ],
  }));
  await enqueueSystemMails(ctx, jobId, mails);
}
