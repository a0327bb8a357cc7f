/** Quiet hours, as they are given and shown. */
import { parseQuietHours, quietHours, type QuietHours } from '../../domain/audience/quiet-hours.ts';
import { builder } from '../builder.ts';

export const QuietHoursInput = builder.inputType('QuietHoursInput', {
  checks: quietHours.shape,
  fields: (t) => ({
    from: t.string({ required: true, description: 'The first quiet minute.' }),
    to: t.string({
      required: true,
      description: 'The first minute that is not quiet; before `from`: of the next day.',
    }),
    timezone: t.string({
      description: 'The time zone of these hours. Null: each person’s own, if it is known.',
    }),
  }),
});

export const QuietHoursType = builder.objectRef<QuietHours>('QuietHours').implement({
  description: 'Nobody gets mail between these times.',
  authScopes: { authenticated: true },
  fields: (t) => ({
    from: t.exposeString('from'),
    to: t.exposeString('to'),
    timezone: t.string({ nullable: true, resolve: ({ timezone }) => timezone ?? null }),
  }),
});

/** As it is shown. */
export const shownQuietHours = (stored: unknown) => parseQuietHours(stored);
