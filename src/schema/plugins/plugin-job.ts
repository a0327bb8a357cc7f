/** Jobs of plugins as administrators see them. */
import type { PluginJobState } from '../../domain/plugins/plugin-job-read-model.ts';
import { pluginJobsOf, retryPluginJobs } from '../../domain/plugins/plugin-jobs.ts';
import { pluginKeyInput } from '../../domain/plugins/plugin.ts';
import { builder } from '../builder.ts';

const forAdministrators = { admin: true } as const;

const PluginJobStatus = builder.enumType('PluginJobStatus', {
  description: 'The state of a job of a plugin.',
  values: {
    WAITING: { value: 'waiting', description: 'For its time, for the next try, or for its plugin to be active.' },
    RUNNING: { value: 'running', description: 'A process works on it.' },
    GIVEN_UP: { value: 'given_up', description: 'Every try failed. It is kept for 30 days.' },
  } as const,
});

const PluginWorkKind = builder.enumType('PluginWorkKind', {
  description: 'What of a plugin runs.',
  values: {
    JOB: { value: 'job', description: 'A job that the plugin has enqueued.' },
    CRON_LINE: { value: 'cron_line', description: 'A time of one of its cron lines.' },
    DAILY_TASK: { value: 'daily_task', description: 'The run of a day of one of its daily tasks.' },
  } as const,
});

const PluginJob = builder.objectRef<PluginJobState>('PluginJob').implement({
  description: 'Work of a plugin in the queue.',
  authScopes: forAdministrators,
  fields: (t) => ({
    id: t.exposeString('id'),
    kind: t.field({ type: PluginWorkKind, resolve: ({ hook }) => hook }),
    name: t.exposeString('name', { description: 'Of the entry in the plugin.' }),
    status: t.field({ type: PluginJobStatus, resolve: ({ status }) => status }),
    attempts: t.exposeInt('attempts', { description: 'Tries so far.' }),
    attemptsMax: t.exposeInt('attemptsMax'),
    lastError: t.exposeString('lastError', { nullable: true, description: 'Why the last try failed; null: none did.' }),
    runAt: t.expose('runAt', { type: 'DateTime', description: 'Of the next try, or of the last one.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
});

const RetriedPluginJobs = builder.objectRef<{ readonly count: number }>('RetriedPluginJobs').implement({
  authScopes: forAdministrators,
  fields: (t) => ({ count: t.exposeInt('count', { description: 'Jobs that are tried again.' }) }),
});

builder.queryField('pluginJobs', (t) =>
  t.field({
    type: [PluginJob],
    description:
      'Jobs of a plugin, and runs of its timetable: first those that were given up, then by their time. At most 200.',
    authScopes: forAdministrators,
    args: {
      vendor: t.arg.string({ required: true, check: pluginKeyInput.shape.vendor }),
      name: t.arg.string({ required: true, check: pluginKeyInput.shape.name }),
    },
    resolve: async (_root, key, ctx) => [...(await pluginJobsOf(ctx, key))],
  }),
);

builder.mutationField('retryPluginJobs', (t) =>
  t.fieldWithInput({
    type: RetriedPluginJobs,
    description: 'Tries all jobs of a plugin again that were given up, each with all its tries.',
    authScopes: forAdministrators,
    typeOptions: { checks: pluginKeyInput.shape },
    input: { vendor: t.input.string({ required: true }), name: t.input.string({ required: true }) },
    resolve: (_root, { input }, ctx) => retryPluginJobs(ctx, input),
  }),
);
