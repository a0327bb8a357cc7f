/** Jobs about plugins. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Mails the administrators that a plugin was switched off. */
export const switchedOffMailJob = defineJob({
  name: 'plugins.switched_off_mail',
  payload: z.object({ plugin: z.string(), reason: z.string() }),
  // The queue waits longer each time: over an hour in all, in case the plugin was the way mail took.
  attemptsMax: 10,
});
