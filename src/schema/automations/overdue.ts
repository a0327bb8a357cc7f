/** What becomes of late steps when an automation goes on. */
import { z } from 'zod';
import type { OverdueChoice } from '../../domain/automations/stopping/set-automation-status.ts';
import { ValidationError } from '../../lib/errors.ts';
import { builder } from '../builder.ts';
import { closedSet } from '../enums.ts';

type Mode = OverdueChoice['mode'];

const OverdueMode = closedSet<Mode>('OverdueMode', 'What becomes of steps that are late by more than an hour.', {
  now: 'All at once.',
  spread: 'Evenly over `overdueHours`.',
  skip_mails: 'All at once, without the mails that should have gone more than `overdueHours` ago.',
  wait_anew: 'Waits begin again; what does not wait goes on at once.',
});

/** A month, as the domain checks it. */
const hoursInput = z.int().min(1).max(744);

export function overdueArgs() {
  return builder.args((t) => ({
    overdue: t.field({ type: OverdueMode }),
    overdueHours: t.int({
      description: 'Needed with `spread` and `skip_mails`, refused with others.',
      check: hoursInput,
    }),
  }));
}

const NO_HOURS = 'The overdue hours are for spread and skip_mails only. Leave them out, or choose one of these.';

interface Asked {
  readonly overdue?: string | null | undefined;
  readonly overdueHours?: number | null | undefined;
}

/** Throws ValidationError on `overdueHours`. */
export function overdueOf({ overdue, overdueHours }: Asked): OverdueChoice | undefined {
  if (overdue !== 'spread' && overdue !== 'skip_mails') {
    if (typeof overdueHours === 'number') throw new ValidationError({ overdueHours: [NO_HOURS] });
    return overdue === 'now' || overdue === 'wait_anew' ? { mode: overdue } : undefined;
  }
  if (!hoursInput.safeParse(overdueHours).success || typeof overdueHours !== 'number')
    throw new ValidationError({ overdueHours: ['The overdue hours must be from 1 to 744.'] });
  return overdue === 'spread'
    ? { mode: 'spread', hours: overdueHours }
    : { mode: 'skip_mails', olderThanHours: overdueHours };
}
