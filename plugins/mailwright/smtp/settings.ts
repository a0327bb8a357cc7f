/** The settings of one SMTP server: what an administrator may set, with defaults and limits. */
import { z } from 'zod';
import type { DriverSettings, FieldErrors, SettingsCheck, SettingsInput } from '../../../src/plugin-api/index.ts';

/** The name of `max_connections` while the number was fixed; it is still understood. */
export const FORMER_CONNECTIONS = 'connections';
/** Above this, servers of every size begin to refuse one client. */
const CONNECTIONS_MAX = 100;
/** More in flight on one connection gains nothing measurable, and a lost connection costs more. */
const WINDOW_MAX = 100;
/** Servers count messages per session, and many refuse somewhere above a thousand. */
const MESSAGES_PER_CONNECTION_MAX = 100_000;
/** Servers wait five minutes for the next command (RFC 5321 4.5.3.2.7). */
const IDLE_SECONDS_MAX = 300;
/** A relay without encryption, submission (RFC 6409), submission with implicit TLS (RFC 8314). */
const DEFAULT_PORTS = { none: 25, opportunistic: 25, starttls: 587, tls: 465 } as const;
/** How to log in; `auto` is the best mechanism that the server offers. */
const AUTH = ['auto', 'none', 'plain', 'login', 'cram-md5', 'xoauth2'] as const;
const HOST = /^(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?\.?|\[?[0-9A-Fa-f:.]{2,45}\]?)$/;

const text = (label: string) =>
  z
    .string({ error: `The ${label} must be text.` })
    .max(1000, { error: `The ${label} is too long.` })
    // oxlint-disable-next-line no-control-regex -- NUL separates the fields of a PLAIN login, line ends end a command
    .refine((value) => !/[\u0000\r\n]/.test(value), { error: `The ${label} must be a single line.` });

const count = (label: string, max: number) =>
  z.coerce.number({ error: `The ${label} must be a number.` }).pipe(
    z
      .int({ error: `The ${label} must be a whole number.` })
      .min(1, { error: `The ${label} must be at least 1.` })
      .max(max, { error: `The ${label} may not be greater than ${max}.` }),
  );

const flag = z
  .union([z.boolean(), z.enum(['true', 'false', '1', '0', 'yes', 'no', '']), z.literal(0), z.literal(1)], {
    error: 'The flag must be true or false.',
  })
  .transform((value) => value === true || value === 'true' || value === '1' || value === 'yes' || value === 1);

const optionalText = (label: string) => z.preprocess(absentWhenBlank, text(label).optional());

/** Tokens are longer than passwords: a JSON web token of a large directory has several thousand characters. */
const token = (label: string) =>
  z.preprocess(
    absentWhenBlank,
    z
      .string({ error: `The ${label} must be text.` })
      .max(10_000, { error: `The ${label} is too long.` })
      .regex(/^[\u0021-\u007e]+$/, { error: `The ${label} must not contain blanks or line ends.` })
      .optional(),
  );

const settingsSchema = z
  .object({
    host: z
      .string({ error: 'The host is required.' })
      .trim()
      .min(1, { error: 'The host is required.' })
      .regex(HOST, { error: 'The host must be a host name or an IP address.' }),
    port: z.preprocess(absentWhenBlank, count('port', 65_535).optional()),
    encryption: z.preprocess(
      (value) => (absentWhenBlank(value) === undefined ? 'starttls' : value),
      z.enum(['none', 'opportunistic', 'starttls', 'tls'], {
        error: 'The encryption must be none, opportunistic, starttls or tls.',
      }),
    ),
    username: text('username').default(''),
    password: text('password').default(''),
    auth: z.preprocess(
      (value) => (typeof value === 'string' ? absentWhenBlank(value.toLowerCase()) : absentWhenBlank(value)),
      z.enum(AUTH, { error: `The auth must be one of ${AUTH.join(', ')}.` }).optional(),
    ),
    oauth_access_token: token('access token'),
    oauth_refresh_token: token('refresh token'),
    oauth_token_url: z.preprocess(
      absentWhenBlank,
      z
        .url({ protocol: /^https?$/, error: 'The token url must be a web address.' })
        .max(2_048)
        .optional(),
    ),
    oauth_client_id: optionalText('client id'),
    oauth_client_secret: token('client secret'),
    allow_invalid_certificate: flag.default(false),
    max_connections: z.preprocess(absentWhenBlank, count('largest number of connections', CONNECTIONS_MAX).optional()),
    window: z.preprocess(absentWhenBlank, count('window', WINDOW_MAX).default(10)),
    messages_per_connection: z.preprocess(
      absentWhenBlank,
      count('messages per connection', MESSAGES_PER_CONNECTION_MAX).optional(),
    ),
    idle_seconds: z.preprocess(absentWhenBlank, count('idle time', IDLE_SECONDS_MAX).optional()),
  })
  .superRefine((settings, refusals) => {
    const refuse = (key: string, message: string) =>
      refusals.addIssue({ code: 'custom', path: [key], message, input: undefined });
    const isLogin = settings.auth !== undefined && settings.auth !== 'auto' && settings.auth !== 'none';
    if (isLogin && settings.username === '') refuse('username', 'The username is required for this login.');
    if (settings.auth !== 'xoauth2') return;
    if (settings.oauth_refresh_token === undefined && settings.oauth_access_token === undefined)
      refuse('oauth_refresh_token', 'A refresh token or an access token is required for this login.');
    if (settings.oauth_refresh_token !== undefined && settings.oauth_token_url === undefined)
      refuse('oauth_token_url', 'The token url is required with a refresh token.');
  })
  .transform((settings) => ({ ...settings, port: settings.port ?? DEFAULT_PORTS[settings.encryption] }));

/** Settings in the client's own form. */
export type SmtpSettings = z.output<typeof settingsSchema>;

/** Checks given settings; every fault is named by its key. Unknown keys are dropped. */
export function validateSettings(input: SettingsInput): SettingsCheck {
  const parsed = settingsSchema.safeParse(withoutNulls(underPresentName(input)));
  if (!parsed.success) return { ok: false, errors: fieldErrorsOf(parsed.error, FORMER_CONNECTIONS in input) };
  return { ok: true, settings: withoutGaps(parsed.data) };
}

/** Values that were not given are not stored, so that a later default applies. */
function withoutGaps(settings: SmtpSettings): DriverSettings {
  const given = Object.entries(settings).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, value] as const],
  );
  return Object.fromEntries(given);
}

/** Settings that passed `validateSettings`, typed; throws on others. */
export function parseSettings(settings: DriverSettings): SmtpSettings {
  return settingsSchema.parse(underPresentName(settings));
}

/** It is never stored under its former name: who gives it so gives it now, and it counts. */
function underPresentName({ [FORMER_CONNECTIONS]: former, ...settings }: SettingsInput): SettingsInput {
  return former === undefined ? settings : { ...settings, max_connections: former };
}

/** A form sends `null` or nothing for what is left empty. */
function withoutNulls(input: SettingsInput): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
}

function absentWhenBlank(value: unknown): unknown {
  return value === null || value === '' ? undefined : value;
}

/** Named as they were given. */
function fieldErrorsOf(error: z.ZodError, hasFormerName: boolean): FieldErrors {
  const fields: Record<string, string[]> = {};
  for (const issue of error.issues) {
    const key = String(issue.path[0] ?? 'settings');
    (fields[hasFormerName && key === 'max_connections' ? FORMER_CONNECTIONS : key] ??= []).push(issue.message);
  }
  return fields;
}
