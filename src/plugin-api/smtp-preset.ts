/** A driver for a vendor that takes mail by SMTP: the driver `smtp` with the vendor's host, ports and headers. */
import { z } from 'zod';
import {
  absentWhenBlank,
  checkSettings,
  choiceOf,
  connectionsField,
  optionalNumber,
  requiredLine,
} from './check-settings.ts';
import type {
  DriverOptions,
  DriverSettings,
  OutgoingMessage,
  SenderRule,
  SendingDriver,
  SendingDriverRegistration,
  SendResult,
  SettingsInput,
} from './sending-driver.ts';
import type { WebhookReceiver } from './webhook.ts';

export interface SmtpPreset {
  readonly type: string;
  readonly name: string;
  readonly description: string;
  /** Region to host, the usual region first; one of them, with an empty name, where there are no regions. */
  readonly hosts: Readonly<Record<string, string>>;
  /** The first is the usual one. */
  readonly ports: readonly [number, ...number[]];
  /** The user name where the vendor gives everybody the same. */
  readonly username?: string;
  /** The vendor takes so many messages on one connection. */
  readonly messagesPerConnection?: number;
  /** The vendor's own settings besides those of SMTP, and how each is checked. */
  readonly more?: Readonly<Record<string, z.ZodType>>;
  /** Those of `more` that are credentials. */
  readonly secretKeys?: readonly string[];
  /** Header lines, each with its CRLF, that carry the message's `idempotencyKey` to the vendor's reports. */
  headersOf(message: OutgoingMessage, settings: DriverSettings): string;
  /** The vendor's id of the message in its reply; undefined: reports name it by our own id only. */
  idOf?(reply: string): string | undefined;
  /** As in the registration. */
  readonly signsDkim?: true;
  readonly replacesReturnPath?: true;
  readonly reportKeys?: readonly string[];
  readonly senders?: SenderRule;
  readonly webhook?: WebhookReceiver;
}

/** A port where TLS begins at once (RFC 8314). */
const TLS_PORT = 465;
const KEYS = ['host', 'port', 'encryption', 'username', 'password', 'max_connections'] as const;
const HOST = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$/;
const HOST_RULE = 'The host must be a host name.';
const PORT_MAX = 65_535;

/** The registration of the preset. */
export function smtpPreset(preset: SmtpPreset): SendingDriverRegistration {
  const schema = schemaOf(preset);
  const hasRegions = !('' in preset.hosts);
  return {
    type: preset.type,
    name: preset.name,
    description: preset.description,
    configKeys: [...(hasRegions ? ['region'] : []), ...KEYS, ...Object.keys(preset.more ?? {})],
    secretKeys: ['password', ...(preset.secretKeys ?? [])],
    releasesContent: true,
    addsHeaders: true,
    ...(preset.signsDkim && { signsDkim: preset.signsDkim }),
    ...(preset.replacesReturnPath && { replacesReturnPath: preset.replacesReturnPath }),
    ...(preset.senders && { senders: preset.senders }),
    ...(preset.reportKeys && { reportKeys: preset.reportKeys }),
    validate: (settings) => checkSettings(schema, settings),
    connect: (settings, options) => connectPreset(preset, settings, options),
    ...(preset.webhook && { webhook: preset.webhook }),
  };
}

function schemaOf({ hosts, username, more = {} }: SmtpPreset) {
  const [usual = '', ...others] = Object.keys(hosts);
  return z
    .object({
      ...more,
      ...(usual !== '' && { region: choiceOf('region', [usual, ...others]) }),
      host: z.preprocess(absentWhenBlank, z.string({ error: HOST_RULE }).regex(HOST, { error: HOST_RULE }).optional()),
      port: optionalNumber('port', PORT_MAX),
      encryption: z.preprocess(
        absentWhenBlank,
        z.enum(['none', 'starttls', 'tls'], { error: 'The encryption must be none, starttls or tls.' }).optional(),
      ),
      username: z.preprocess((value) => absentWhenBlank(value) ?? username, requiredLine('username')),
      password: requiredLine('password'),
      max_connections: connectionsField,
    })
    .transform((settings): Record<string, unknown> => settings);
}

/** The settings of the driver `smtp`. What was not given follows from the rest, so another region is another host. */
function smtpSettings({ hosts, ports, messagesPerConnection }: SmtpPreset, settings: DriverSettings): SettingsInput {
  const [usual = ''] = Object.keys(hosts);
  const port = settings['port'] ?? ports[0];
  return {
    ...Object.fromEntries(KEYS.flatMap((key) => (settings[key] === undefined ? [] : [[key, settings[key]]]))),
    host: settings['host'] ?? hosts[String(settings['region'] ?? usual)] ?? '',
    port,
    encryption: settings['encryption'] ?? (port === TLS_PORT ? 'tls' : 'starttls'),
    ...(messagesPerConnection !== undefined && { messages_per_connection: messagesPerConnection }),
  };
}

function connectPreset(preset: SmtpPreset, settings: DriverSettings, options: DriverOptions): SendingDriver {
  if (!options.connectSmtp) throw new Error('This version of Mailwright has no SMTP for other drivers.');
  const smtp = options.connectSmtp(smtpSettings(preset, settings));
  return {
    get capacity() {
      return smtp.capacity;
    },
    async send(message) {
      const result = await smtp.send(withHeaders(message, preset.headersOf(message, settings)));
      return withVendorId(result, preset);
    },
    useConnections: (count) => smtp.useConnections?.(count),
    test: () => smtp.test(),
    close: () => smtp.close(),
  };
}

function withHeaders(message: OutgoingMessage, lines: string): OutgoingMessage {
  return lines === ''
    ? message
    : { ...message, content: Buffer.concat([Buffer.from(lines, 'latin1'), message.content]) };
}

function withVendorId(result: SendResult, { idOf }: SmtpPreset): SendResult {
  const id = idOf?.(result.reply);
  return id === undefined ? result : { ...result, runtimeMessageId: id };
}
