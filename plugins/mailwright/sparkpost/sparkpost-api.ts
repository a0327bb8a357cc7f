/** SparkPost's web interface: the whole message as MIME, one recipient a request. */
import { z } from 'zod';
import {
  checkSettings,
  choiceOf,
  connectionsField,
  endpointField,
  failureByStatus,
  httpDriver,
  jsonOf,
  requiredLine,
  SendingError,
  textOf,
  webhookFields,
  type AskVendor,
  type ConnectionTest,
  type DriverOptions,
  type DriverSettings,
  type OutgoingMessage,
  type SendingDriver,
  type SettingsCheck,
  type SettingsInput,
  type VendorAnswer,
  type VendorRequest,
} from '../../../src/plugin-api/index.ts';
import { escapeHeaders } from './template-language.ts';
import { OWN_ID } from './webhook.ts';

export const NAME = 'SparkPost';
/** Accounts of the two regions know nothing of each other. */
export const REGIONS = {
  us: { api: 'https://api.sparkpost.com', smtp: 'smtp.sparkpostmail.com' },
  eu: { api: 'https://api.eu.sparkpost.com', smtp: 'smtp.eu.sparkpostmail.com' },
} as const;
/** Its limit for the content of a message. */
const CONTENT_BYTES_MAX = 20 * 1_048_576;
/**
 * Links and pixels are ours already. Without `transactional` it replaces our List-Unsubscribe by its own; its list of people who unsubscribed
 * by its own links does not count then.
 */
export const OPTIONS = { open_tracking: false, click_tracking: false, transactional: true } as const;

const settingsSchema = z.object({
  region: choiceOf('region', ['us', 'eu']),
  api_key: requiredLine('API key'),
  ...webhookFields,
  max_connections: connectionsField,
  endpoint: endpointField,
});

export function validateSparkPost(input: SettingsInput): SettingsCheck {
  return checkSettings(settingsSchema, input);
}

export function connectSparkPost(given: DriverSettings, options: DriverOptions): SendingDriver {
  const { origin, ...account } = accountOf(given);
  return httpDriver(options, {
    ...{ name: NAME, origin },
    contentBytesMax: CONTENT_BYTES_MAX,
    prepare: (message) => requestFor(message, account.authorization),
    idOf: acceptedId,
    failureOf,
    test: (ask) => testAccount(ask, account),
  });
}

/** Where the account is, and how to log in. */
export function accountOf(given: DriverSettings): Account & { readonly origin: string } {
  const { region, api_key: authorization, endpoint } = settingsSchema.parse(given);
  return { origin: endpoint ?? REGIONS[region].api, region, authorization };
}

function requestFor({ content, envelope, idempotencyKey }: OutgoingMessage, authorization: string): VendorRequest {
  const message = escapeHeaders(textOfMessage(content));
  return {
    method: 'POST',
    path: '/api/v1/transmissions',
    headers: { Authorization: authorization, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      options: { ...OPTIONS, perform_substitutions: false },
      recipients: [
        {
          address: { email: envelope.to },
          metadata: { [OWN_ID]: idempotencyKey },
          ...(message.values && { substitution_data: message.values }),
        },
      ],
      content: { email_rfc822: message.content },
    }),
  };
}

/** A field of JSON has no bytes: other than UTF-8 would arrive as something else. */
function textOfMessage(content: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new SendingError('refused', `${NAME} takes messages in UTF-8 only, and this one has other bytes.`, {
      about: 'message',
    });
  }
}

const acceptedShape = z.object({
  results: z.looseObject({
    id: z.coerce.string().min(1),
    total_accepted_recipients: z.number(),
    total_rejected_recipients: z.number(),
  }),
});

/** A transmission can be made, and its only recipient refused. */
function acceptedId(answer: VendorAnswer): string | undefined {
  const results = acceptedShape.safeParse(jsonOf(answer)).data?.results;
  if (results && results.total_accepted_recipients === 0 && results.total_rejected_recipients > 0)
    throw new SendingError('refused', `${NAME} refused the recipient: ${textOf(answer)}`, {
      ...{ code: answer.status, about: 'recipient' },
    });
  return results?.id;
}

const errorsShape = z.object({
  errors: z.array(
    z.looseObject({
      code: z.coerce.string().optional(),
      message: z.coerce.string().default(''),
      description: z.coerce.string().default(''),
    }),
  ),
});
/** An hour, a day or a month, or the whole life of a sandbox. */
const LIMIT = /exceeds? (?:the )?(?:\w+ )?sending limit/i;
const SUSPENDED = /\b(?:suspended|terminated)\b/i;
const SENDER_CODES = new Set(['7000', '7001', '7002']);
/** Its list of addresses that bounced or complained, and what is no address. */
const RECIPIENT = /recipient address was suppressed|at least one valid recipient|invalid recipient|address\.email/i;

/** SparkPost's own words and codes. */
function failureOf(answer: VendorAnswer): SendingError | undefined {
  const { status: code } = answer;
  const errors = errorsShape.safeParse(jsonOf(answer)).data?.errors ?? [];
  const said = errors.map(({ message, description }) => `${message} ${description}`).join(' ');
  const text = `${NAME} answered ${code}: ${textOf(answer)}`;
  if (code >= 500) return undefined;
  if (code === 420 || LIMIT.test(said)) return new SendingError('unavailable', text, { code, about: 'quota' });
  if ((code === 401 || code === 403) && SUSPENDED.test(said))
    return new SendingError('unavailable', text, { code, about: 'blocked' });
  if (code !== 400 && code !== 422) return undefined;
  if (errors.some((error) => SENDER_CODES.has(error.code ?? '')))
    return new SendingError('refused', text, { code, about: 'sender' });
  if (RECIPIENT.test(said)) return new SendingError('refused', text, { code, about: 'recipient' });
  return undefined;
}

const periodShape = z
  .looseObject({ used: z.number(), limit: z.number(), end: z.string().optional() })
  .nullish()
  .catch(null);
const accountShape = z.object({
  results: z.looseObject({
    status: z.string(),
    status_reason_category: z.string().nullish(),
    // Accounts of enterprises have none.
    usage: z.looseObject({ day: periodShape, month: periodShape }).nullish(),
  }),
});

interface Account {
  readonly region: keyof typeof REGIONS;
  readonly authorization: string;
}

async function testAccount(ask: AskVendor, { region, authorization }: Account): Promise<ConnectionTest> {
  const path = '/api/v1/account?include=usage';
  const answer = await ask({ method: 'GET', path, headers: { Authorization: authorization } });
  if (answer.status !== 200) return { ok: false, message: whyNotAllowed(answer, region) };
  const account = accountShape.safeParse(jsonOf(answer)).data?.results;
  if (!account)
    return { ok: false, message: `${NAME} answered something else than its account: is the endpoint right?` };
  if (account.status !== 'active') {
    const why = account.status_reason_category ? ` (${account.status_reason_category})` : '';
    return { ok: false, message: `The account at ${NAME} is ${account.status}${why}. Write to its support.` };
  }
  const { day, month } = account.usage ?? {};
  const used = [day, month].find((period) => period && period.limit > 0 && period.used >= period.limit);
  if (!used) return { ok: true };
  const until = used.end ? ` It can send again after ${used.end}, or with a larger plan.` : '';
  return {
    ok: false,
    message: `The account has used ${used.used} of its ${used.limit} messages of this ${used === day ? 'day' : 'month'} at ${NAME}.${until}`,
  };
}

function whyNotAllowed(answer: VendorAnswer, region: keyof typeof REGIONS): string {
  const failure = failureOf(answer) ?? failureByStatus(NAME, answer);
  if (failure.about === 'blocked') return `${NAME} has suspended this account. Write to its support: ${textOf(answer)}`;
  if (answer.status === 401)
    return `${NAME} refused the API key. Is it whole, is it still there, and is it a key of the region "${region}"?`;
  if (answer.status === 403)
    return `The API key may not read the account: give it the right to read the account besides that for transmissions at ${NAME}.`;
  return failure.message;
}
