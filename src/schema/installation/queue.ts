/** The queue and the workers, for administrators. */
import type { TaskQueue } from '../../domain/installation/monitoring-read-model.ts';
import { readQueueState, watchQueue, type QueueState } from '../../domain/installation/queue-state.ts';
import { builder } from '../builder.ts';
import '../subscription-type.ts';
import { Installation, ProcessOfInstallation } from './queries.ts';

const forAdministrators = { admin: true } as const;

const QueueOfTask = builder.objectRef<TaskQueue>('QueueOfTask').implement({
  description: 'The jobs of one kind in the queue.',
  authScopes: forAdministrators,
  fields: (t) => ({
    task: t.exposeString('task', { description: 'The kind of job.' }),
    due: t.exposeInt('due', { description: 'Jobs that could run now.' }),
    later: t.exposeInt('later', { description: 'Jobs for a later time, with those that are tried again.' }),
    running: t.exposeInt('running'),
    failed: t.exposeInt('failed', { description: 'Jobs that are not tried any more.' }),
    oldestDueSeconds: t.exposeFloat('oldestDueSeconds', {
      description: 'How long the oldest job waits that is due; 0: none is.',
    }),
  }),
});

const sum = (tasks: QueueState['tasks'], state: 'due' | 'later' | 'running' | 'failed') =>
  tasks.reduce((total, task) => total + task[state], 0);

const QueueOfInstallation = builder.objectRef<QueueState>('InstallationQueue').implement({
  description: 'The queue and the workers of the installation: the figures that `/metrics` shows.',
  authScopes: forAdministrators,
  fields: (t) => ({
    due: t.int({ description: 'Jobs that could run now.', resolve: ({ tasks }) => sum(tasks, 'due') }),
    later: t.int({ description: 'Jobs for a later time.', resolve: ({ tasks }) => sum(tasks, 'later') }),
    running: t.int({ resolve: ({ tasks }) => sum(tasks, 'running') }),
    failed: t.int({
      description: 'Jobs that are not tried any more.',
      resolve: ({ tasks }) => sum(tasks, 'failed'),
    }),
    oldestDueSeconds: t.float({
      description: 'How long the oldest job waits that is due; 0: none is.',
      resolve: ({ tasks }) => Math.max(0, ...tasks.map(({ oldestDueSeconds }) => oldestDueSeconds)),
    }),
    workersWorking: t.int({
      description: 'Processes whose worker takes jobs.',
      resolve: ({ processes }) => processes.filter(({ isWorking }) => isWorking).length,
    }),
    tasks: t.field({ type: [QueueOfTask], description: 'By kind of job.', resolve: ({ tasks }) => [...tasks] }),
    processes: t.field({
      type: [ProcessOfInstallation],
      description: 'Processes that were alive in the last 15 seconds, the oldest first.',
      resolve: ({ processes }) => [...processes],
    }),
  }),
});

builder.objectField(Installation, 'queue', (t) =>
  t.field({
    type: QueueOfInstallation,
    description: 'The queue and the workers now.',
    resolve: (_installation, _args, ctx) => readQueueState(ctx.db),
  }),
);

builder.subscriptionField('installationQueue', (t) =>
  t.field({
    type: QueueOfInstallation,
    description: 'The queue and the workers now, then each change, at most one in two seconds.',
    authScopes: forAdministrators,
    subscribe: (_root, _args, ctx) => watchQueue(ctx, ctx.notifications),
    resolve: (state) => state,
  }),
);
