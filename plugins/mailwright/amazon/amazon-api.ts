/**
 * Amazon SES, version 2 of its interface: the whole message as MIME, one recipient a request. It is no template, so that `{{...}}` arrives as
 * written. SES replaces `Message-ID` and `Date`; all other headers stay. Its own counting of opens and clicks depends on the configuration set
 * and cannot be switched off for a message.
 */
import { z } from 'zod';
import {
  checkSettings,
  connectionsField,
  endpointField,
  httpDriver,
  jsonOf,
  requiredLine,
  type DriverOptions,
  type DriverSettings,
  type OutgoingMessage,
  type SendingDriver,
  type SettingsCheck,
  type SettingsInput,
  type VendorRequest,
} from '../../../src/plugin-api/index.ts';
import { testAccount } from './account-test.ts';
import { failureOf } from './failures.ts';
import { requireVerified } from './verified-sender.ts';
import { regionField, reportFields, SES, TAG, tagOf } from './settings.ts';
import { signed } from './signature-v4.ts';

/** It takes 40 MB after base64, which makes 3 bytes 4. */
const CONTENT_BYTES_MAX = 29 * 1_048_576;
const ACCESS_KEY = /^\w{16,128}$/;

const settingsSchema = z.object({
  region: regionField,
  access_key_id: requiredLine('access key ID').pipe(
    z.string().regex(ACCESS_KEY, { error: 'The access key ID has 16 to 128 letters and digits.' }),
  ),
  secret_access_key: requiredLine('secret access key'),
  ...reportFields,
  max_connections: connectionsField,
  endpoint: endpointField,
});

export function validateAmazon(input: SettingsInput): SettingsCheck {
  return checkSettings(settingsSchema, input);
}

type Settings = z.output<typeof settingsSchema>;

export function connectAmazon(given: DriverSettings, options: DriverOptions): SendingDriver {
  const { settings, origin, sign } = accountOf(given);
  const { region, configuration_set: set } = settings;
  return httpDriver(options, {
    ...{ name: SES, origin },
    contentBytesMax: CONTENT_BYTES_MAX,
    prepare: (message) => sign(requestFor(message, settings)),
    idOf: (answer) => idShape.safeParse(jsonOf(answer)).data?.MessageId,
    failureOf,
    prepareSender: (fromEmail, ask) => requireVerified((request) => ask(sign(request)), { fromEmail, region }),
    test: (ask) => testAccount((path) => ask(sign({ method: 'GET', path })), { region, set }),
  });
}

/** Where the account is, and how requests to it are signed. */
export function accountOf(given: DriverSettings): {
  readonly settings: Settings;
  readonly origin: string;
  readonly sign: (request: VendorRequest) => VendorRequest;
} {
  const settings = settingsSchema.parse(given);
  const { region, access_key_id: id, secret_access_key: secret, endpoint } = settings;
  const origin = endpoint ?? `https://email.${region}.amazonaws.com`;
  const { host } = new URL(origin);
  const key = { id, secret, region, service: 'ses' };
  return { settings, origin, sign: (request) => signed({ ...request, host, at: new Date() }, key) };
}

const idShape = z.object({ MessageId: z.string().min(1) });

/** Without the sender: SES reads it from the message. */
function requestFor(
  { content, envelope, idempotencyKey }: OutgoingMessage,
  { configuration_set: ConfigurationSetName }: Settings,
): VendorRequest {
  const { buffer, byteOffset, byteLength } = content;
  return {
    method: 'POST',
    path: '/v2/email/outbound-emails',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      Destination: { ToAddresses: [envelope.to] },
      Content: { Raw: { Data: Buffer.from(buffer, byteOffset, byteLength).toString('base64') } },
      EmailTags: [{ Name: TAG, Value: tagOf(idempotencyKey) }],
      ConfigurationSetName,
    }),
  };
}
