/** Jobs of automations. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

const id = z.coerce.bigint();

/** A call is a promise to everybody who waits: the queue tries for days. */
const CALL_ATTEMPTS_MAX = 25;

/** Moves everybody on who waits at an API-call node, batch by batch. */
export const callEverybodyJob = defineJob({
  name: 'automations.call-everybody',
  payload: z.object({
    ...{ customerId: id, automationId: id, node: z.string(), calledAt: z.coerce.date() },
    payload: z.record(z.string(), z.unknown()).nullable(),
  }),
  attemptsMax: CALL_ATTEMPTS_MAX,
  isLong: true,
});
