/**
 * The options of a plan (specification 2.8): names, allowed values and defaults. They are stored and shown as texts, as clients
 * write them: numbers with `-1` for unlimited, `yes` and `no`. `allowance.ts` converts them for the modules.
 */
import { z } from 'zod';
import { ValidationError } from '../../../lib/errors.ts';

/** A count of something, or -1. */
const LIMIT_MAX = 2_000_000_000;
const FOOTER_LENGTH_MAX = 64 * 1024;
const TEXT_LENGTH_MAX = 255;

const limit = z.union([z.string(), z.number()]).transform((value, ctx) => {
  const text = String(value).trim();
  const number = Number(text);
  if (/^-?\d{1,10}$/.test(text) && number >= -1 && number <= LIMIT_MAX) return String(number);
  ctx.addIssue({ code: 'custom', message: 'must be a whole number, or -1 for unlimited' });
  return z.NEVER;
});
/** A limit as a number. */
export const limitInput = z.int().min(-1).max(LIMIT_MAX);
const yesNo = z.unknown().transform((value, ctx): 'yes' | 'no' => {
  const text = String(value).trim().toLowerCase();
  if (['yes', '1', 'true', 'on'].includes(text)) return 'yes';
  if (['no', '0', 'false', 'off'].includes(text)) return 'no';
  ctx.addIssue({ code: 'custom', message: 'must be yes or no' });
  return z.NEVER;
});
const text = (lengthMax: number) =>
  z
    .union([z.string(), z.number()])
    .transform(String)
    .pipe(z.string().max(lengthMax, `must not be longer than ${lengthMax} characters`));
const oneOf = <const T extends readonly [string, ...string[]]>(words: T) =>
  z.enum(words, { error: () => `must be one of: ${words.join(', ')}` });

/** Every option by its name, with the default for a new plan. */
const OPTIONS = {
  email_max: limit.default('-1'),
  list_max: limit.default('-1'),
  subscriber_max: limit.default('-1'),
  subscriber_per_list_max: limit.default('-1'),
  segment_per_list_max: limit.default('-1'),
  campaign_max: limit.default('-1'),
  automation_max: limit.default('-1'),
  billing_cycle: oneOf(['daily', 'monthly', 'yearly', 'custom', 'other']).default('custom'),
  sending_limit: text(TEXT_LENGTH_MAX).default('custom'),
  sending_quota: limit.default('-1'),
  sending_quota_time: limit.default('1'),
  sending_quota_time_unit: oneOf(['minute', 'hour', 'day', 'week', 'month', 'year']).default('hour'),
  max_process: limit.default('-1'),
  all_sending_servers: yesNo.default('yes'),
  max_size_upload_total: limit.default('500'),
  max_file_size_upload: limit.default('5'),
  unsubscribe_url_required: yesNo.default('no'),
  access_when_offline: yesNo.default('no'),
  create_sending_domains: yesNo.default('yes'),
  sending_servers_max: limit.default('-1'),
  sending_domains_max: limit.default('-1'),
  all_email_verification_servers: yesNo.default('yes'),
  create_email_verification_servers: yesNo.default('no'),
  email_verification_servers_max: limit.default('-1'),
  list_import: yesNo.default('yes'),
  list_export: yesNo.default('yes'),
  all_sending_server_types: yesNo.default('yes'),
  sending_server_types: z
    .record(z.string().regex(/^[a-z][a-z0-9-]{0,59}$/, 'must have slugs of sending servers as keys'), yesNo)
    .default({}),
  sending_server_option: oneOf(['system', 'own']).default('system'),
  sending_server_subaccount_uid: text(TEXT_LENGTH_MAX).nullable().default(null),
  api_access: yesNo.default('yes'),
  email_footer_enabled: yesNo.default('no'),
  email_footer_trial_period_only: yesNo.default('no'),
  html_footer: text(FOOTER_LENGTH_MAX).default(''),
  plain_text_footer: text(FOOTER_LENGTH_MAX).default(''),
  payment_gateway: text(TEXT_LENGTH_MAX).default(''),
} as const;

/**
 * Options that are kept and shown, and that nothing obeys. Who sets one is told so (D53); its name leaves this list with the part that
 * obeys it.
 */
const WITHOUT_EFFECT: readonly (keyof typeof OPTIONS)[] = [];

/** Which of the given options have no effect. */
export function optionsWithoutEffect(given: Readonly<Record<string, unknown>>): string[] {
  return WITHOUT_EFFECT.filter((name) => Object.hasOwn(given, name));
}

const complete = z.strictObject(OPTIONS);
/** Every option of a plan, in the stored form. */
export type PlanOptions = z.output<typeof complete>;
/** Some of them: a change, or a subscription's own options. */
export type PlanOptionsPatch = Partial<PlanOptions>;

/** All options; missing ones get their default. Throws ValidationError on `options.<name>`. */
export function parsePlanOptions(given: Readonly<Record<string, unknown>>): PlanOptions {
  return readOptions(complete, given);
}

/** Only the given ones. Throws ValidationError on `options.<name>`. */
export function parsePlanOptionsPatch(given: Readonly<Record<string, unknown>>): PlanOptionsPatch {
  const names = Object.keys(given);
  const known: PlanOptions = readOptions(complete, given);
  return Object.fromEntries(Object.entries(known).filter(([name]) => names.includes(name)));
}

function readOptions<T>(schema: z.ZodType<T>, given: Readonly<Record<string, unknown>>): T {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const fields: Record<string, string[]> = {};
  for (const issue of result.error.issues) {
    const unknownKeys = issue.code === 'unrecognized_keys' ? issue.keys : undefined;
    for (const name of unknownKeys ?? [issue.path.join('.')]) {
      const message = unknownKeys ? 'There is no such plan option.' : `The option ${name} ${issue.message}.`;
      fields[`options.${name}`] = [...(fields[`options.${name}`] ?? []), message];
    }
  }
  throw new ValidationError(fields);
}
