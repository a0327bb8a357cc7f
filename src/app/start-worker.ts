/** The worker of this process: its tasks with their shared parts, and the schedule. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../config/settings.ts';
import type { Notifications } from '../db/listen.ts';
import { PERSON_EVENTS_CHANNEL } from '../events/person-event.ts';
import type { Context } from '../domain/context.ts';
import { startFlowWaker } from '../domain/automations/engine/flow-waker.ts';
import { FLOWS_CHANNEL } from '../domain/automations/runs/wake-flows.ts';
import { startFlowFollower } from '../domain/automations/events/flow-follower.ts';
import { createActiveCampaigns } from '../domain/delivery/campaigns/active-campaign.ts';
import { startMessageSender } from '../domain/delivery/messages/message-sender.ts';
import { webhooksFollower } from '../domain/webhooks/follow-lifecycle.ts';
import { WEBHOOK_ACTIVITY_CHANNEL } from '../domain/webhooks/webhook-activity-store.ts';
import { startWebhookActivityFollower } from '../domain/webhooks/webhook-activity-follower.ts';
import { startWebhookSender } from '../domain/webhooks/webhook-sender.ts';
import { createDnsQuery } from '../lib/dns-records.ts';
import { pluginFollowers } from '../domain/plugins/plugin-followers.ts';
import { createDriverPool, type DriverPool } from '../domain/sending/driver-pool.ts';
import { mxThrough } from '../domain/sending/routing/mailbox-group.ts';
import type { SourceKey } from '../domain/source-key.ts';
import { announceSourceChange } from '../domain/statistics/announce-campaign-change.ts';
import { followEvents } from '../events/follow-events.ts';
import { crontab } from '../workers/crontab.ts';
import { hooksFollower } from '../workers/fire-hooks.ts';
import { runWorker } from '../workers/run-worker.ts';
import { automationTasks } from '../workers/tasks/automations.ts';
import { bounceTasks } from '../workers/tasks/bounces.ts';
import { dropAbandonedImportsTask } from '../workers/tasks/drop-abandoned-imports.ts';
import { dropAbandonedUploadsTask } from '../workers/tasks/drop-abandoned-uploads.ts';
import { accountTasks } from '../workers/tasks/accounts.ts';
import { sweepEventsTask } from '../workers/tasks/events.ts';
import { erasePersonTask } from '../workers/tasks/erase-person.ts';
import { removeFieldValuesTask } from '../workers/tasks/remove-field-values.ts';
import { pluginTasks } from '../workers/tasks/plugins.ts';
import { expirePendingTask, listMailTasks } from '../workers/tasks/list-mails.ts';
import {
  dropPartitionsTask,
  makePartitionsTask,
  refreshReceivedTask,
  reviveCampaignsTask,
  wakeCampaignTask,
} from '../workers/tasks/maintenance.ts';
import { messageTestTasks } from '../workers/tasks/message-tests.ts';
import { snapshotTask, sendAtTimeTask, startScheduledCampaignTask } from '../workers/tasks/plan-campaign.ts';
import { paymentTasks } from '../workers/tasks/payments.ts';
import { renewSubscriptionsTask } from '../workers/tasks/renew-subscriptions.ts';
import { verificationTasks } from '../workers/tasks/verifications.ts';
import { dispatchImportTask, runImportTask } from '../workers/tasks/run-import.ts';
import { paymentMailTask } from '../workers/tasks/payment-mail.ts';
import { webhookTasks } from '../workers/tasks/webhooks.ts';
import { switchedOffMailTask } from '../workers/tasks/switched-off-mail.ts';
import { sendingDomainTasks } from '../workers/tasks/sending-domains.ts';
import { sendBatchTask } from '../workers/tasks/send-batch.ts';
import type { Task } from '../workers/task.ts';

export interface RunningWorker {
  isWorking(): boolean;
  /** What is wrong with the queue; undefined: nothing. */
  queueProblem(): string | undefined;
  pause(reason: string): void;
  resume(reason: string): void;
  /** Starts no new message from now on; `stop` waits for those in flight. */
  beginStop(): void;
  stop(graceMs: number): Promise<void>;
}

/** Messages still in flight then are settled when their lease ends; a driver would wait ten minutes for the answer. */
const DRIVERS_CLOSE_MS = 500;

const NONE: RunningWorker = {
  isWorking: () => true,
  queueProblem: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
  beginStop: () => undefined,
  stop: async () => undefined,
};

/** Runs jobs in the role `worker`. A process with only the role `cron` enqueues scheduled jobs and runs none. */
export async function startWorker(
  ctx: Context,
  settings: Settings,
  { notifications, pausedFor }: { readonly notifications: Notifications; readonly pausedFor?: string | undefined },
): Promise<RunningWorker> {
  const works = settings.ROLES.includes('worker');
  const ticks = settings.ROLES.includes('cron');
  if (!works && !ticks) return NONE;
  const drivers = createDriverPool(ctx.hooks, { resolveMx: mxThrough(createDnsQuery(settings.DNS_SERVERS)) });
  const worker = await runWorker({
    ctx,
    tasks: works ? tasksOf(ctx, drivers) : [],
    concurrency: settings.WORKER_CONCURRENCY,
    crontab: ticks ? crontab : [],
    pausedFor,
  });
  const following = await followEvents(
    { ...ctx, notifications },
    works ? [hooksFollower(ctx), webhooksFollower(ctx)] : [],
  );
  if (pausedFor !== undefined) following.pause(pausedFor);
  const followPlugins = (): void => following.use(works ? pluginFollowers(ctx) : []);
  followPlugins();
  const messages = works ? startMessageSender({ ctx, drivers, workerId: worker.id, pausedFor }) : undefined;
  const flows = works ? startFlowWaker(ctx, pausedFor) : undefined;
  const people = works ? startFlowFollower(ctx, pausedFor) : undefined;
  const webhooks = works ? startWebhookSender({ ctx, workerId: worker.id, pausedFor }) : undefined;
  const activity = works ? startWebhookActivityFollower(ctx, pausedFor) : undefined;
  const loops = [messages, flows, people, webhooks, activity];
  const endings = [
    messages && notifications.listen('messages', () => messages.wake()),
    flows && notifications.listen(FLOWS_CHANNEL, () => flows.wake()),
    people && notifications.listen(PERSON_EVENTS_CHANNEL, () => people.wake()),
    webhooks && notifications.listen('webhooks', () => webhooks.wake()),
    activity && notifications.listen(WEBHOOK_ACTIVITY_CHANNEL, () => activity.wake()),
  ];
  const endPlugins = ctx.hooks.onChange(followPlugins);
  return {
    ...worker,
    pause(reason) {
      for (const one of [worker, following, ...loops]) one?.pause(reason);
    },
    resume(reason) {
      for (const one of [worker, following, ...loops]) one?.resume(reason);
    },
    beginStop() {
      worker.beginStop();
      for (const loop of loops) loop?.beginStop();
    },
    async stop(graceMs) {
      endPlugins();
      for (const end of endings) end?.();
      const startedAt = performance.now();
      worker.beginStop();
      await Promise.all([following, ...loops].map(async (one) => one?.stop(graceMs)));
      // Last: until now its name proves that the process of these messages lives.
      await worker.stop(Math.max(0, graceMs - (performance.now() - startedAt)));
      await Promise.race([drivers.close(), sleep(DRIVERS_CLOSE_MS)]);
    },
  };
}

/** All tasks, with the parts that sending tasks share in this process. */
function tasksOf(ctx: Context, drivers: DriverPool): Task[] {
  const tools = {
    drivers,
    campaigns: createActiveCampaigns(),
    announce: (source: SourceKey) => announceSourceChange(ctx, source),
  };
  return [
    snapshotTask,
    sendAtTimeTask,
    startScheduledCampaignTask,
    sendBatchTask(tools),
    ...[dispatchImportTask, runImportTask],
    ...verificationTasks,
    ...listMailTasks,
    ...sendingDomainTasks,
    switchedOffMailTask,
    ...webhookTasks,
    paymentMailTask,
    ...messageTestTasks,
    expirePendingTask,
    erasePersonTask,
    removeFieldValuesTask,
    ...[dropAbandonedImportsTask, dropAbandonedUploadsTask],
    ...accountTasks,
    sweepEventsTask,
    ...pluginTasks,
    ...automationTasks,
    makePartitionsTask,
    dropPartitionsTask,
    renewSubscriptionsTask,
    ...paymentTasks,
    ...bounceTasks,
    refreshReceivedTask,
    reviveCampaignsTask,
    wakeCampaignTask,
  ];
}
