/** What the rows of the installation's settings answer. */
import { z } from 'zod';
import { actionShape, countShape } from '../shapes.ts';

const shape = z
  .strictObject({
    maintenance: z.boolean(),
    session_idle_days: countShape,
    session_days_max: countShape,
    soft_bounce_limit: countShape,
    soft_bounce_days: countShape,
    bounce_pause_percent: countShape,
    bounce_pause_recipients: countShape,
    from_addresses: z.enum(['any', 'verified']),
    mail_from: z.string(),
    events_per_day: countShape,
    billing_grace_days: countShape,
    offline_payment_instructions: z.string(),
    keep_ledger_months: countShape,
    keep_events_months: countShape,
  })
  .meta({ id: 'Settings' });

export const settingsShape = z.strictObject({ settings: shape });
export const settingsChangedShape = actionShape({ settings: shape });

const diagnosticStatus = z.enum(['ok', 'warning', 'error']);
export const diagnosticsShape = z.strictObject({
  status: diagnosticStatus.meta({ description: 'The gravest of all checks.' }),
  diagnostics: z.array(
    z.strictObject({
      name: z.string(),
      status: diagnosticStatus,
      message: z.string(),
      advice: z.string().nullable().meta({ description: 'What to do; null when nothing has to be done.' }),
    }),
  ),
});
