/** Version 4 of Elastic Email's web interface: a message in fields, one recipient a request, so that the answer has the id of its mail. */
import { z } from 'zod';
import {
  checkSettings,
  endpointField,
  failureByStatus,
  httpDriver,
  jsonOf,
  optionalNumber,
  readMessageParts,
  requiredLine,
  SendingError,
  textOf,
  webhookFields,
  type AskVendor,
  type ConnectionTest,
  type DriverOptions,
  type DriverSettings,
  type FailureMatter,
  type OutgoingMessage,
  type ReadableVendor,
  type SendingDriver,
  type SettingsCheck,
  type SettingsInput,
  type VendorAnswer,
  type VendorRequest,
} from '../../../src/plugin-api/index.ts';
import { elasticMessage } from './elasticemail-message.ts';

export const NAME = 'Elastic Email';
const ORIGIN = 'https://api.elasticemail.com';
/** The vendor documents no limit: this keeps the memory of a request in bounds, and larger mails are refused by most receivers. */
const CONTENT_BYTES_MAX = 20 * 1_048_576;
/** So many an account may have. */
const CONNECTIONS_MAX = 20;

const settingsSchema = z.object({
  api_key: requiredLine('API key'),
  max_connections: optionalNumber('largest number of connections', CONNECTIONS_MAX),
  endpoint: endpointField,
  ...webhookFields,
});

export function validateElasticEmail(input: SettingsInput): SettingsCheck {
  return checkSettings(settingsSchema, input);
}

/** What every request needs. */
export function accountOf(given: DriverSettings): Pick<ReadableVendor, 'origin' | 'headers'> {
  const { api_key: key, endpoint } = settingsSchema.parse(given);
  return { origin: endpoint ?? ORIGIN, headers: { 'X-ElasticEmail-ApiKey': key, Accept: 'application/json' } };
}

export function connectElasticEmail(given: DriverSettings, options: DriverOptions): SendingDriver {
  const { origin, headers } = accountOf(given);
  return httpDriver(options, {
    ...{ name: NAME, origin },
    contentBytesMax: CONTENT_BYTES_MAX,
    prepare: (message) => requestFor(message, headers),
    idOf: (answer) => idShape.safeParse(jsonOf(answer)).data?.MessageID,
    failureOf,
    test: (ask) => testDomains(ask, headers),
  });
}

const idShape = z.object({ MessageID: z.string().min(3) });

async function requestFor(message: OutgoingMessage, headers: Readonly<Record<string, string>>): Promise<VendorRequest> {
  return {
    method: 'POST',
    path: '/v4/emails/transactional',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify(elasticMessage(await readMessageParts(message), message.idempotencyKey)),
  };
}

const errorShape = z.object({ Error: z.string() });

/** It has no codes, only a sentence: about the account with any status, about the message with 400. The first that fits counts. */
const ACCOUNT_WORDS: readonly (readonly [words: RegExp, about: FailureMatter])[] = [
  [/\b(?:suspended|under review|account (?:is )?(?:blocked|disabled))\b/i, 'blocked'],
  [/\b(?:credits?|(?:daily|monthly|sending|send) limit|limit (?:is )?(?:reached|exceeded))\b/i, 'quota'],
  [/\b(?:api ?key|access (?:token|denied|level)|unauthori[sz]ed|permissions?)\b/i, 'login'],
];
const MESSAGE_WORDS: readonly (readonly [words: RegExp, about: FailureMatter])[] = [
  [/\b(?:from|sender)\b/i, 'sender'],
  [/\brecipients?\b/i, 'recipient'],
];

export function failureOf(answer: VendorAnswer): SendingError | undefined {
  const { status: code } = answer;
  if (code >= 500 || code === 429) return undefined;
  const said = errorShape.safeParse(jsonOf(answer)).data?.Error;
  if (said === undefined) return undefined;
  const text = `${NAME} answered ${code}: ${textOf(answer)}`;
  const account = ACCOUNT_WORDS.find(([words]) => words.test(said))?.[1];
  if (account !== undefined) return new SendingError('unavailable', text, { code, about: account });
  const about = code === 400 ? MESSAGE_WORDS.find(([words]) => words.test(said))?.[1] : undefined;
  return about && new SendingError('refused', text, { code, about });
}

async function testDomains(ask: AskVendor, headers: Readonly<Record<string, string>>): Promise<ConnectionTest> {
  const answer = await ask({ method: 'GET', path: '/v4/domains', headers });
  const failed = (message: string): ConnectionTest => ({ ok: false, message });
  const failure = answer.status === 200 ? undefined : (failureOf(answer) ?? failureByStatus(NAME, answer));
  if (failure?.about === 'login')
    return failed(
      `${NAME} refused the API key. It needs the access level ViewSettings besides SendHttp, and access from this IP address: ${textOf(answer)}`,
    );
  if (failure?.about === 'blocked')
    return failed(`The account at ${NAME} may not send. Ask its support: ${textOf(answer)}`);
  if (failure?.about === 'quota')
    return failed(`The account at ${NAME} has no mails left. Buy more, or wait for its next period: ${textOf(answer)}`);
  if (failure) return failed(failure.message);
  return Array.isArray(jsonOf(answer))
    ? { ok: true }
    : failed(`${NAME} answered something else than its domains: is the endpoint right?`);
}
