/** The settings of the installation, for administrators: an extension of the specification. */
import type { RestSettingsFragment } from '../../generated/operations.ts';
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody } from '../shapes.ts';
import { diagnosticsShape, settingsChangedShape, settingsShape } from './shapes.ts';

export const settingsRows = [
  endpoint({
    method: 'GET',
    path: '/settings',
    access: 'admin',
    summary: 'Shows the settings of the installation.',
    answers: answersBody(settingsShape),
    operation: 'InstallationSettings',
    variables: () => ({}),
    present: ({ installation }) => ok({ settings: presentSettings(installation.settings) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/settings',
    access: 'admin',
    summary: 'Changes the settings that are given.',
    details: 'All processes use a change within seconds. An empty value goes back to its default.',
    answers: answersBody(settingsChangedShape),
    operation: 'UpdateInstallationSettings',
    variables: (input) => ({
      input: {
        maintenance: flagOrNull(input, 'maintenance'),
        sessionIdleDays: integerOrNull(input, 'session_idle_days'),
        sessionDaysMax: integerOrNull(input, 'session_days_max'),
        softBounceLimit: integerOrNull(input, 'soft_bounce_limit'),
        softBounceDays: integerOrNull(input, 'soft_bounce_days'),
        bouncePausePercent: integerOrNull(input, 'bounce_pause_percent'),
        bouncePauseRecipients: integerOrNull(input, 'bounce_pause_recipients'),
        eventsPerDay: integerOrNull(input, 'events_per_day'),
        billingGraceDays: integerOrNull(input, 'billing_grace_days'),
        keepLedgerMonths: integerOrNull(input, 'keep_ledger_months'),
        keepEventsMonths: integerOrNull(input, 'keep_events_months'),
        fromAddresses: input.nullableText('from_addresses'),
        mailFrom: input.nullableText('mail_from'),
        offlinePaymentInstructions: input.nullableText('offline_payment_instructions'),
      },
    }),
    present: ({ updateInstallationSettings: settings }) =>
      done('The settings were changed', { settings: presentSettings(settings) }),
  }),
  endpoint({
    method: 'GET',
    path: '/diagnostics',
    access: 'admin',
    summary: 'Checks the installation, as npm run doctor does.',
    details:
      'From the process that answers: database, clock, disk, queue, processes, servers, domains, bounces. It asks name servers only.',
    answers: answersBody(diagnosticsShape),
    operation: 'InstallationDiagnostics',
    variables: () => ({}),
    present: ({ installation: { diagnostics } }) =>
      ok({
        status: STATUSES.find((status) => diagnostics.some((it) => it.status === status.toUpperCase())) ?? 'ok',
        diagnostics: diagnostics.map((it) => ({ ...it, status: it.status.toLowerCase() })),
      }),
  }),
];

/** The gravest first. */
const STATUSES = ['error', 'warning', 'ok'];

function presentSettings(settings: RestSettingsFragment) {
  return {
    maintenance: settings.maintenance,
    session_idle_days: settings.sessionIdleDays,
    session_days_max: settings.sessionDaysMax,
    soft_bounce_limit: settings.softBounceLimit,
    soft_bounce_days: settings.softBounceDays,
    bounce_pause_percent: settings.bouncePausePercent,
    bounce_pause_recipients: settings.bouncePauseRecipients,
    from_addresses: settings.fromAddresses,
    mail_from: settings.mailFrom,
    events_per_day: settings.eventsPerDay,
    billing_grace_days: settings.billingGraceDays,
    offline_payment_instructions: settings.offlinePaymentInstructions,
    keep_ledger_months: settings.keepLedgerMonths,
    keep_events_months: settings.keepEventsMonths,
  };
}

function integerOrNull(input: Input, name: string): number | null | undefined {
  return input.integer(name) ?? emptyAsNull(input, name);
}

function flagOrNull(input: Input, name: string): boolean | null | undefined {
  return input.flag(name) ?? emptyAsNull(input, name);
}

function emptyAsNull(input: Input, name: string): null | undefined {
  return input.nullableText(name) === null ? null : undefined;
}
