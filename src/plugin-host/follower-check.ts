/** What an entry of the hook `event_follower` must be. */
import { z } from 'zod';
import { PLUGIN_EVENT_KINDS } from '../plugin-api/index.ts';
import { functionShape } from './entry-check.ts';
import { checkNamed, entryName, wholeNumber } from './job-checks.ts';

const BATCH_MAX = 500;
/** Its events wait meanwhile, and no process can take them over. */
const SECONDS_MAX = 300;

export const checkEventFollower = checkNamed(
  z.object({
    name: entryName,
    kinds: z.array(z.enum(PLUGIN_EVENT_KINDS, 'is no kind of event')).min(1, 'must have one at least').optional(),
    batch: wholeNumber(1, BATCH_MAX).optional(),
    secondsMax: wholeNumber(1, SECONDS_MAX).optional(),
    handle: functionShape(),
  }),
);
