/** The settings of one SMTP server: what an admin may write, its defaults and its limits. */
import { z } from 'zod';
import type { DriverSettings, FieldErrors, SettingsCheck, SettingsInput } from '../../../src/plugin-api/index.ts';

/** Above this, servers of every size begin to refuse one client. */
const CONNECTIONS_MAX = 100;
/** More in flight on one connection gains nothing measurable, and makes a lost connection cost more. */
const WINDOW_MAX = 100;
/** A relay without encryption, submission (RFC 6409), submission with implicit TLS (RFC 8314). */
const DEFAULT_PORTS = { none: 25, starttls: 587, tls: 465 } as const;
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
      z.enum(['none', 'starttls', 'tls'], { error: 'The encryption must be none, starttls or tls.' }),
    ),
    username: text('username').default(''),
    password: text('password').default(''),
    allow_invalid_certificate: flag.default(false),
    connections: z.preprocess(absentWhenBlank, count('connections', CONNECTIONS_MAX).default(5)),
    window: z.preprocess(absentWhenBlank, count('window', WINDOW_MAX).default(10)),
  })
  .transform((settings) => ({ ...settings, port: settings.port ?? DEFAULT_PORTS[settings.encryption] }));

/** Settings in the form that the client works with. */
export type SmtpSettings = z.output<typeof settingsSchema>;

/** Checks what an admin wrote; every fault is named by its key. Unknown keys are dropped. */
export function validateSettings(input: SettingsInput): SettingsCheck {
  const parsed = settingsSchema.safeParse(withoutNulls(input));
  return parsed.success ? { ok: true, settings: parsed.data } : { ok: false, errors: fieldErrorsOf(parsed.error) };
}

/** Settings that passed `validateSettings`, typed; throws on others. */
export function parseSettings(settings: DriverSettings): SmtpSettings {
  return settingsSchema.parse(settings);
}

/** A form sends `null` or nothing for what is left empty. */
function withoutNulls(input: SettingsInput): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
}

function absentWhenBlank(value: unknown): unknown {
  return value === null || value === '' ? undefined : value;
}

function fieldErrorsOf(error: z.ZodError): FieldErrors {
  const fields: Record<string, string[]> = {};
  for (const issue of error.issues) (fields[String(issue.path[0] ?? 'settings')] ??= []).push(issue.message);
  return fields;
}
