/** Jobs of plugins as administrators see them. An extension of the specification. */
import { z } from 'zod';
import type { RestPluginJobFragment } from '../../generated/operations.ts';
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { actionShape, answersBody, timeShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';
import { keyOf } from './present.ts';

const jobShape = z
  .strictObject({
    id: z.string(),
    kind: z.enum(['job', 'cron_line', 'daily_task']),
    name: z.string().meta({ description: 'Of the entry in the plugin.' }),
    status: z.enum(['waiting', 'running', 'given_up']),
    attempts: z.number().int().meta({ description: 'Tries so far.' }),
    attempts_max: z.number().int(),
    last_error: z.string().nullable().meta({ description: 'Why the last try failed.' }),
    run_at: timeShape.meta({ description: 'Of the next try, or of the last one.' }),
    created_at: timeShape,
  })
  .meta({ id: 'PluginJob' });

export const pluginJobRows = [
  endpoint({
    method: 'GET',
    path: '/plugins/:vendor/:name/jobs',
    access: 'admin',
    summary:
      'Lists the jobs of a plugin that wait, run, or were given up: those that were given up first, at most 200.',
    answers: answersBody(z.array(jobShape)),
    operation: 'PluginJobs',
    variables: keyOf,
    present: ({ pluginJobs }) => ok(pluginJobs.nodes.map(presentJob)),
  }),
  endpoint({
    method: 'POST',
    path: '/plugins/:vendor/:name/jobs/retry',
    access: 'admin',
    summary: 'Tries all jobs of a plugin again that were given up, each with all its tries.',
    answers: answersBody(actionShape({ count: z.number().int().meta({ description: 'Jobs that are tried again.' }) })),
    operation: 'RetryPluginJobs',
    variables: (input) => ({ input: keyOf(input) }),
    present: ({ retryPluginJobs: { count } }) => done('The jobs are tried again', { count }),
  }),
];

function presentJob(job: RestPluginJobFragment) {
  const { id, name, attempts } = job;
  return {
    ...{ id, name, attempts },
    kind: job.kind.toLowerCase(),
    status: job.status.toLowerCase(),
    attempts_max: job.attemptsMax,
    last_error: job.lastError,
    run_at: restTime(job.runAt),
    created_at: restTime(job.createdAt),
  };
}
