/**
 * The settings that an administrator changes while the installation runs; what a process needs to start is in
 * src/config/settings.ts. Name, type, default, range and text are here, once. The database stores differences from the defaults,
 * each under `settings.<name>` in the table `setting`.
 */
import { z } from 'zod';
import { emailAddress, multiLine } from '../../lib/text.ts';
import { SOFT_BOUNCE_DAYS_MAX, SOFT_BOUNCE_LIMIT_MAX } from '../limits.ts';

interface Setting<Value extends boolean | number | string> {
  readonly type: 'Boolean' | 'Int' | 'String';
  readonly schema: z.ZodType<Value>;
  readonly default: Value;
  /** In words: completes "it must be ...". */
  readonly allowed: string;
  readonly about: string;
}

/** Some ten years: no number of days or months is larger, and dates stay within the database's range. */
const DAYS_MAX = 3_650;
const MONTHS_MAX = 1_200;
/** Some 11,000 a second: more than an installation records. */
const EVENTS_PER_DAY_MAX = 1_000_000_000;
const INSTRUCTIONS_LENGTH_MAX = 2_000;

export const settingsTable = {
  maintenance: {
    ...{ type: 'Boolean', schema: z.boolean(), default: false, allowed: 'true or false' },
    about:
      'Closes REST and GraphQL (503) to all but administrators and customers whose plan says `access_when_offline`. Sending and the links in mails still work.',
  },
  sessionIdleDays: {
    ...number(1, DAYS_MAX, 30),
    about:
      'Days without use after which a login ends: the session of a browser, and a token that logging in gave. A smaller number takes effect at the next use of a login.',
  },
  sessionDaysMax: {
    ...number(1, DAYS_MAX, 90),
    about: 'Days after which a login ends in any case, counted from logging in. A smaller number takes effect at once.',
  },
  softBounceLimit: {
    ...number(0, SOFT_BOUNCE_LIMIT_MAX, 5),
    about:
      'Soft bounces of different messages after which an address is suppressed, unless a customer sets another number; 0: never.',
  },
  softBounceDays: {
    ...number(1, SOFT_BOUNCE_DAYS_MAX, 30),
    about: 'Number of days in which these soft bounces are counted.',
  },
  bouncePausePercent: {
    ...number(0, 100, 95),
    about:
      'A campaign pauses when this percentage of its latest recipients is refused as "mailbox unknown"; 0: never. A process that is sending a campaign keeps the rule with which it began.',
  },
  bouncePauseRecipients: {
    ...number(20, 100_000, 1_000),
    about: 'Number of latest recipients checked. Smaller campaigns are never paused.',
  },
  eventsPerDay: {
    ...number(0, EVENTS_PER_DAY_MAX, 1_000_000),
    about:
      'Events from outside (`POST /events`) that a customer may record within 24 hours; 0: no limit. More are refused with 429.',
  },
  fromAddresses: {
    ...{ type: 'String', schema: z.enum(['any', 'verified']), default: 'any', allowed: 'any or verified' },
    about:
      "Whether customers may send from any address, or only from verified ones (by a link in a mail, or below a verified domain). The operator's own account always may.",
  },
  mailFrom: {
    ...{ type: 'String', schema: z.union([z.literal(''), emailAddress()]), default: '' },
    allowed: 'an e-mail address, or empty',
    about: 'Sender of system mails, such as mails about sending domains. Empty: `no-reply@` and the host of BASE_URL.',
  },
  billingGraceDays: {
    ...number(0, 365, 7),
    about: 'Days a renewal may be paid after its period has begun; then the subscription ends.',
  },
  offlinePaymentInstructions: {
    ...{ type: 'String', schema: multiLine(INSTRUCTIONS_LENGTH_MAX) },
    default:
      'Pay by bank transfer and name the invoice. Then report the payment here; an administrator checks and approves it.',
    allowed: `a text of at most ${INSTRUCTIONS_LENGTH_MAX} characters`,
    about: 'How to pay; an unpaid invoice shows this text. Write your bank account into it.',
  },
  keepLedgerMonths: {
    ...number(0, MONTHS_MAX, 0),
    about:
      'Number of whole months for which the ledger (who got which campaign) is kept. Older months are deleted every night if their campaigns are done; figures are always kept. 0 keeps all.',
  },
  keepEventsMonths: {
    ...number(0, MONTHS_MAX, 0),
    about: 'The same for the events: opens, clicks, unsubscribes, bounces and complaints.',
  },
} as const satisfies Record<string, Setting<boolean | number | string>>;

export type SettingName = keyof typeof settingsTable;
export type InstallationSettings = { readonly [Name in SettingName]: z.output<(typeof settingsTable)[Name]['schema']> };

export const SETTINGS_DEFAULT: InstallationSettings = settingsFrom({});

/** The settings, with the default for each that is missing or not allowed in this version of the program. */
export function settingsFrom(stored: Readonly<Record<string, unknown>>): InstallationSettings {
  const entries = Object.entries(settingsTable).map(([name, { schema, default: value }]) => {
    const { success, data } = schema.safeParse(stored[name]);
    return [name, success ? data : value];
  });
  return Object.freeze(Object.fromEntries(entries));
}

function number(min: number, max: number, value: number) {
  const allowed = `a number from ${min} to ${max}`;
  return { type: 'Int', schema: z.int(allowed).min(min).max(max), default: value, allowed } as const;
}
