/** The figures of the whole installation for `/metrics`: each scrape reads them from the database. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { secondsOverdue } from '../domain/automations/runs/node-store.ts';
import { stalledCampaigns } from '../domain/campaigns/campaign-progress-store.ts';
import type { Context } from '../domain/context.ts';
import { campaignsByStatus, queueByTask } from '../domain/installation/monitoring-read-model.ts';
import { hookFaultTotals } from '../domain/installation/hook-fault-store.ts';
import { ALIVE_SECONDS, livingProcesses } from '../domain/installation/process-store.ts';
import { holdOf } from '../domain/installation/restore-guard.ts';
import { growingTypes } from '../domain/sending/connections-setting.ts';
import { connectionsInAll } from '../domain/sending/routing/connections-store.ts';
import { restingServers } from '../domain/sending/routing/sending-health-read-model.ts';
import { sendingTotals } from '../domain/sending/sending-total-store.ts';
import { followerStates } from '../events/follower-read-model.ts';
import type { Exchange } from '../http/exchange.ts';
import { messageOf } from '../lib/errors.ts';

/** Several scrapers, or one that asks often, read the database once in this time. */
const CACHE_MS = 2_000;

/** Returns what reads the figures. When the database is away, only `mailwright_database_up` and this process have figures. */
export function addInstallationMetrics(
  registry: Registry,
  { db, hooks }: Context,
): (exchange: Exchange) => Promise<void> {
  const metrics = installationMetrics(registry);
  const up = new Gauge({
    name: 'mailwright_database_up',
    help: 'Whether the database answered this scrape: without it the figures of the installation are missing.',
    registers: [registry],
  });
  let readAt = -Infinity;
  let reading: Promise<void> | undefined;
  return async ({ log }) => {
    if (performance.now() - readAt < CACHE_MS) return reading;
    readAt = performance.now();
    reading = readInstallation({ db, hooks }, metrics).then(
      () => up.set(1),
      (error: unknown) => {
        log.warn('metrics.not_read', { message: messageOf(error) });
        for (const metric of Object.values(metrics)) metric.reset();
        up.set(0);
      },
    );
    return reading;
  };
}

function installationMetrics(registry: Registry) {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({
      name: `mailwright_${name}`,
      help: `${help} Of the whole installation.`,
      labelNames,
      registers: [registry],
    });
  return {
    jobs: gauge('queue_jobs', 'Jobs in the queue.', ['task', 'state']),
    age: gauge('queue_oldest_due_seconds', 'How long the oldest job waits that is due.'),
    campaigns: gauge('campaigns', 'Campaigns that are not finished.', ['status']),
    recipients: gauge('campaign_recipients_waiting', 'Recipients who have not got their message yet.', ['status']),
    stalled: gauge('campaigns_stalled', 'Campaigns under way that make no progress.'),
    messages: new Counter({
      name: 'mailwright_messages_total',
      help: 'What became of messages, by server: the uid of a system server, or "customers". Of the whole installation.',
      labelNames: ['server', 'outcome'],
      registers: [registry],
    }),
    hookFailures: new Counter({
      name: 'mailwright_hook_failures_total',
      help: 'How often the code of a plugin failed when a hook was called. Of the whole installation.',
      labelNames: ['plugin', 'hook'],
      registers: [registry],
    }),
    hookLate: new Counter({
      name: 'mailwright_hook_late_total',
      help: 'How often it was late: over 250 ms, or cut off after 5 s if it is asynchronous (a BEHAVIOR: after 60 s). Of the whole installation.',
      labelNames: ['plugin', 'hook'],
      registers: [registry],
    }),
    resting: gauge('sending_servers_resting', 'Sending servers that are paused because they had trouble.'),
    connections: gauge(
      'sending_connections',
      'Connections that an active sending server may use now, by server: the uid of a system server, or "customers" for the sum of theirs.',
      ['server'],
    ),
    behind: gauge('event_follower_behind_seconds', 'Age of the oldest event that a follower has not handled.', [
      'follower',
    ]),
    flowsBehind: gauge('automations_behind_seconds', 'For how long the longest overdue step of an automation waits.'),
    processes: gauge('processes', 'Processes that were alive in the last 15 seconds.', ['role']),
    working: gauge('workers_working', 'Processes whose worker takes jobs.'),
    memory: gauge('processes_memory_bytes', 'Resident memory of all processes.'),
    onHold: gauge('on_hold', '1 while nothing is sent because of a restored backup.'),
  };
}

async function readInstallation(
  { db, hooks }: Pick<Context, 'db' | 'hooks'>,
  metrics: ReturnType<typeof installationMetrics>,
): Promise<void> {
  const [queue, byStatus, stalls, totals, resting, servers, followers, flowsBehind, alive, hold, hookFaults] =
    await Promise.all([
      queueByTask(db),
      campaignsByStatus(db),
      stalledCampaigns(db),
      sendingTotals(db),
      restingServers(db),
      connectionsInAll(db, growingTypes(hooks)),
      followerStates(db),
      secondsOverdue(db),
      livingProcesses(db, ALIVE_SECONDS),
      holdOf(db),
      hookFaultTotals(db),
    ]);
  // Kinds and states that are not there any more.
  for (const metric of Object.values(metrics)) metric.reset();
  for (const { task, oldestDueSeconds: _age, ...states } of queue)
    for (const [state, count] of Object.entries(states)) metrics.jobs.set({ task, state }, count);
  metrics.age.set(Math.max(0, ...queue.map(({ oldestDueSeconds }) => oldestDueSeconds)));
  for (const { status, campaigns, open } of byStatus) {
    metrics.campaigns.set({ status }, campaigns);
    metrics.recipients.set({ status }, open);
  }
  metrics.stalled.set(stalls.length);
  for (const { server, outcome, messages } of totals) metrics.messages.inc({ server, outcome }, messages);
  for (const { plugin, hook, failed, late } of hookFaults) {
    metrics.hookFailures.inc({ plugin, hook }, failed);
    metrics.hookLate.inc({ plugin, hook }, late);
  }
  metrics.resting.set(resting);
  for (const { server, connections } of servers) metrics.connections.set({ server }, connections);
  for (const { name, behindSeconds } of followers) metrics.behind.set({ follower: name }, behindSeconds);
  metrics.flowsBehind.set(flowsBehind);
  for (const { roles } of alive) for (const role of roles) metrics.processes.inc({ role });
  metrics.working.set(alive.filter(({ isWorking }) => isWorking).length);
  metrics.memory.set(alive.reduce((sum, { memoryMb }) => sum + memoryMb * 1_048_576, 0));
  metrics.onHold.set(hold === null ? 0 : 1);
}
