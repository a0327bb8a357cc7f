/** Jobs of the event record. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Cuts off followers that are too far behind, and deletes old events. */
export const sweepEventsJob = defineJob({
  name: 'events.sweep',
  payload: z.looseObject({}),
  attemptsMax: 1,
});
