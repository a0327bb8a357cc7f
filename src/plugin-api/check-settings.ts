/** How drivers check what a person or a program gives as settings: by a schema of one field each, whose faults are named by their keys. */
import { z } from 'zod';
import type { SettingsCheck, SettingsInput } from './sending-driver.ts';
import { isWebhookKey, newWebhookKey } from './webhook-proof.ts';

const CONNECTIONS_MAX = 100;
const LINE_LENGTH_MAX = 1_000;
const WEBHOOK_KEY_RULE = 'The webhook key must be 32 digits from 0 to 9 and a to f; leave it empty to get a new one.';

/** A form sends an empty text, or null, for what is left empty. */
export const absentWhenBlank = (value: unknown) => (value === '' || value === null ? undefined : value);

/** One line of text that must be given. */
export function requiredLine(label: string) {
  return z.preprocess(absentWhenBlank, line(label));
}

/** One line of text, or nothing. */
export function optionalLine(label: string) {
  return z.preprocess(absentWhenBlank, line(label).optional());
}

function line(label: string) {
  return (
    z
      .string({ error: `The ${label} is required.` })
      .max(LINE_LENGTH_MAX, { error: `The ${label} is too long.` })
      // oxlint-disable-next-line no-control-regex -- line ends and NUL would end a header or a field of a login
      .refine((value) => !/[\u0000-\u001f\u007f]/.test(value), { error: `The ${label} must be a single line.` })
      .refine((value) => value.trim() !== '', { error: `The ${label} is required.` })
  );
}

/** A whole number from 1, or nothing. */
export function optionalNumber(label: string, max: number) {
  return z.preprocess(
    absentWhenBlank,
    z.coerce
      .number({ error: `The ${label} must be a number.` })
      .int({ error: `The ${label} must be a whole number.` })
      .min(1, { error: `The ${label} must be at least 1.` })
      .max(max, { error: `The ${label} may not be greater than ${max}.` })
      .optional(),
  );
}

/** One of the names; the first where nothing is given. */
export function choiceOf<const Name extends string>(label: string, names: readonly [Name, ...Name[]]) {
  return z.preprocess(
    (value) => absentWhenBlank(value) ?? names[0],
    z.enum(names, { error: `The ${label} must be one of ${names.join(', ')}.` }),
  );
}

/** A setting that every driver of a web interface has: another address than the vendor's usual one, without a path. */
export const endpointField = z.preprocess(
  absentWhenBlank,
  z
    .string({ error: 'The endpoint must be a web address.' })
    .max(LINE_LENGTH_MAX, { error: 'The endpoint is too long.' })
    .refine((value) => isOrigin(value), {
      error: 'The endpoint must be an http or https address without a path, such as https://api.example.com.',
    })
    .transform((value) => new URL(value).origin)
    .optional(),
);

export const connectionsField = optionalNumber('largest number of connections', CONNECTIONS_MAX);

/** For the keys of WEBHOOK_KEYS; a missing `webhook_key` is made. */
export const webhookFields = {
  webhook_key: z.preprocess(
    (value) => absentWhenBlank(value) ?? newWebhookKey(),
    z.string({ error: WEBHOOK_KEY_RULE }).refine(isWebhookKey, { error: WEBHOOK_KEY_RULE }),
  ),
  webhook_username: optionalLine('user name of the webhook'),
  webhook_password: optionalLine('password of the webhook'),
};

/** Fields by their keys, such as `{ api_key: requiredLine('API key') }`; or a schema, for rules about several of them. */
export type SettingsFields = Readonly<Record<string, z.ZodType>> | z.ZodType<Record<string, unknown>>;

/** The settings with defaults, or the faults by key. Keys that the fields do not know are dropped. */
export function checkSettings(fields: SettingsFields, input: SettingsInput): SettingsCheck {
  const schema = fields instanceof z.ZodType ? fields : z.object(fields);
  const parsed = schema.safeParse(input);
  if (!parsed.success) {
    const errors: Record<string, string[]> = {};
    for (const { path, message } of parsed.error.issues) (errors[String(path[0])] ??= []).push(message);
    return { ok: false, errors };
  }
  const settings: Record<string, string | number | boolean> = {};
  for (const [key, value] of Object.entries(parsed.data))
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') settings[key] = value;
  return { ok: true, settings };
}

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, pathname, search, hash, username, password } = new URL(text);
  const isWeb = protocol === 'https:' || protocol === 'http:';
  return isWeb && pathname === '/' && search === '' && hash === '' && username === '' && password === '';
}
