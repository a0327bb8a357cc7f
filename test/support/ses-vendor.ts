/**
 * Version 2 of Amazon SES as its documents describe it: signed requests, `outbound-emails`, the account, identities and configuration sets. Paths,
 * fields and the statuses of errors are those of the schemas in `@aws-sdk/client-sesv2` 3.1169.0 (`dist-es/schemas/schemas_0.js`).
 */
import { createHash, createHmac } from 'node:crypto';
import { z } from 'zod';
import { startApiVendor, type ApiAnswer, type ApiRequest, type ApiVendor } from './api-vendor.ts';

export const SES_KEY = {
  access_key_id: 'AKIATESTTESTTESTTEST',
  secret_access_key: 'secret/of+the+test/account',
} as const;
export const SES_REGION = 'eu-west-1';
export const SES_SET = 'mailwright-events';
export const SES_TOPIC = `arn:aws:sns:${SES_REGION}:123456789012:mailwright`;

/** It takes requests that were signed within five minutes. */
const AGE_MS_MAX = 300_000;
const CONTENT_BASE64_MAX = 40 * 1_048_576;
const TAG = /^[A-Za-z0-9_-]{1,256}$/;

export interface SesAccount {
  readonly account?: object;
  /** Domains that are verified. */
  readonly identities?: readonly string[];
  readonly sets?: Readonly<Record<string, object>>;
}

export function startSesVendor({
  account = {},
  identities = ['house.test'],
  sets = { [SES_SET]: { SendingOptions: { SendingEnabled: true } } },
}: SesAccount = {}): Promise<ApiVendor> {
  const known = new Map(identities.map((name) => [name, 'SUCCESS']));
  const answerAboutIdentity = identitiesOf(known);
  const { makeTemplate, sendToAddress } = ownMails(known);
  return startApiVendor({
    settings: (endpoint) => ({
      ...{ region: SES_REGION, ...SES_KEY, endpoint },
      ...{ configuration_set: SES_SET, sns_topic_arn: SES_TOPIC },
    }),
    refusalOf,
    isSend: ({ method, path }) => method === 'POST' && path === '/v2/email/outbound-emails',
    messageOf,
    accepted: ({ id }) => ({ status: 200, body: { MessageId: id } }),
    idOf: (number) => `0102018f3a5b7c9d-${String(number).padStart(8, '0')}-1111-2222-3333-444444444444-000000`,
    other: (request) => {
      const { method, path } = request;
      const set = sets[path.replace('/v2/email/configuration-sets/', '')];
      if (method === 'GET' && path === '/v2/email/account')
        return {
          status: 200,
          body: {
            ...{ DedicatedIpAutoWarmupEnabled: false, EnforcementStatus: 'HEALTHY', ProductionAccessEnabled: true },
            SendQuota: { Max24HourSend: 50_000, MaxSendRate: 14, SentLast24Hours: 10 },
            ...{ SendingEnabled: true, ...account },
          },
        };
      if (method === 'POST' && path === '/v2/email/custom-verification-email-templates') return makeTemplate(request);
      if (method === 'POST' && path === '/v2/email/outbound-custom-verification-emails') return sendToAddress(request);
      if (path.startsWith('/v2/email/identities')) return answerAboutIdentity(request);
      if (method === 'GET' && set) return { status: 200, body: set };
      return sesError(404, 'NotFoundException', 'There is nothing here.');
    },
    refuses: sesError(400, 'BadRequestException', "Missing final '@domain'"),
    defers: sesError(429, 'TooManyRequestsException', 'Maximum sending rate exceeded.'),
  });
}

/** As AWS answers in JSON: the name of the error is in a header. */
export function sesError(status: number, type: string, message: string): ApiAnswer {
  return {
    status,
    headers: { 'x-amzn-ErrorType': `${type}:http://internal.amazon.com/coral/com.amazonaws.ses/` },
    body: { message },
  };
}

const templateShape = z.strictObject({
  TemplateName: z.string().regex(/^[\w-]{1,64}$/),
  ...{ FromEmailAddress: z.email(), TemplateSubject: z.string().min(1), TemplateContent: z.string().min(1) },
  ...{ SuccessRedirectionURL: z.url(), FailureRedirectionURL: z.url() },
});
const toAddressShape = z.strictObject({ EmailAddress: z.email(), TemplateName: z.string().min(1) });

/** Mails of one's own text to addresses that are to be verified (API reference: CreateCustomVerificationEmailTemplate, SendCustomVerificationEmail). */
function ownMails(known: Map<string, string>) {
  const templates = new Set<string>();
  return {
    makeTemplate({ body }: ApiRequest): ApiAnswer {
      const template = templateShape.parse(JSON.parse(body.toString('utf8')));
      const from = template.FromEmailAddress;
      if (![from, from.slice(from.indexOf('@') + 1)].some((name) => known.get(name) === 'SUCCESS'))
        return sesError(400, 'BadRequestException', `Email address is not verified: ${from}`);
      if (templates.has(template.TemplateName))
        return sesError(400, 'AlreadyExistsException', `Template ${template.TemplateName} already exists.`);
      templates.add(template.TemplateName);
      return { status: 200, body: {} };
    },
    sendToAddress({ body }: ApiRequest): ApiAnswer {
      const { EmailAddress: address, TemplateName: name } = toAddressShape.parse(JSON.parse(body.toString('utf8')));
      if (!templates.has(name)) return sesError(404, 'NotFoundException', `Template ${name} does not exist.`);
      known.set(address, 'PENDING');
      return { status: 200, body: { MessageId: 'verification-1' } };
    },
  };
}

const TOKENS = ['aaa', 'bbb', 'ccc'];

/** Identities that are added are verified when somebody has looked at them once. */
function identitiesOf(known: Map<string, string>): (request: ApiRequest) => ApiAnswer {
  const typeOf = (name: string) => (name.includes('@') ? 'EMAIL_ADDRESS' : 'DOMAIN');
  const one = (name: string): ApiAnswer => {
    const status = known.get(name) ?? 'PENDING';
    const dkim = {
      SigningEnabled: true,
      Status: status,
      SigningHostedZone: 'dkim.eu-west-1.amazonses.com',
      Tokens: TOKENS,
    };
    const body = {
      ...{ IdentityType: typeOf(name), VerifiedForSendingStatus: status === 'SUCCESS', VerificationStatus: status },
      DkimAttributes: typeOf(name) === 'DOMAIN' ? dkim : { SigningEnabled: false, Status: 'NOT_STARTED' },
    };
    return { status: 200, body };
  };
  return ({ method, path, query, body }) => {
    const name = decodeURIComponent(path.split('/')[4] ?? '');
    if (method === 'POST') {
      const { EmailIdentity: added } = z.object({ EmailIdentity: z.string() }).parse(JSON.parse(body.toString('utf8')));
      if (known.has(added)) return sesError(400, 'AlreadyExistsException', `Email identity ${added} already exist.`);
      known.set(added, 'PENDING');
      return one(added);
    }
    if (name === '') {
      const list = [...known].slice(0, Number(query.get('PageSize')));
      const EmailIdentities = list.map(([IdentityName, status]) => ({
        ...{ IdentityName, IdentityType: typeOf(IdentityName), VerificationStatus: status },
        SendingEnabled: status === 'SUCCESS',
      }));
      return { status: 200, body: { EmailIdentities } };
    }
    if (!known.has(name)) return sesError(404, 'NotFoundException', `Email identity ${name} does not exist.`);
    const answer = one(name);
    known.set(name, 'SUCCESS');
    return answer;
  };
}

const sendShape = z.object({
  Destination: z.object({ ToAddresses: z.array(z.string()).length(1) }),
  Content: z.object({ Raw: z.object({ Data: z.base64().max(CONTENT_BASE64_MAX) }) }),
  EmailTags: z.array(z.object({ Name: z.string().regex(TAG), Value: z.string().regex(TAG) })).optional(),
  ConfigurationSetName: z.string().optional(),
});

function messageOf({ body, headers }: ApiRequest): { to: string; content: string } | ApiAnswer {
  if (headers['content-type'] !== 'application/json')
    return sesError(400, 'SerializationException', 'The content must be JSON.');
  const { success, data } = sendShape.safeParse(JSON.parse(body.toString('utf8')));
  if (!success) return sesError(400, 'BadRequestException', 'The request is not valid.');
  if (data.ConfigurationSetName !== undefined && data.ConfigurationSetName !== SES_SET)
    return sesError(404, 'NotFoundException', `Configuration set <${data.ConfigurationSetName}> does not exist.`);
  const [to = ''] = data.Destination.ToAddresses;
  return { to, content: Buffer.from(data.Content.Raw.Data, 'base64').toString('utf8') };
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=(\w+)\/(\d{8})\/([\w-]+)\/ses\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/;

/** Checks the signature by the rules of Signature Version 4. */
function refusalOf({ method, path, query, headers, body }: ApiRequest): ApiAnswer | undefined {
  const [, id, day, region, names = '', signature] = AUTHORIZATION.exec(headers.authorization ?? '') ?? [];
  if (signature === undefined)
    return sesError(403, 'MissingAuthenticationTokenException', 'Missing Authentication Token');
  if (id !== SES_KEY.access_key_id)
    return sesError(403, 'UnrecognizedClientException', 'The security token included in the request is invalid.');
  const time = String(headers['x-amz-date']);
  const at = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (!(Math.abs(Date.now() - at) < AGE_MS_MAX) || !time.startsWith(String(day)))
    return sesError(403, 'InvalidSignatureException', `Signature expired: ${time} is now earlier than it may be.`);
  const isComplete = ['host', 'x-amz-date', ...(headers['content-type'] ? ['content-type'] : [])].every((name) =>
    names.split(';').includes(name),
  );
  const digest = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');
  const mac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const lines = names.split(';').map((name) => `${name}:${String(headers[name])}\n`);
  const request = `${method}\n${path.split('/').map(encoded).join('/')}\n${query}\n${lines.join('')}\n${names}\n${digest(body)}`;
  const scope = `${day}/${region}/ses/aws4_request`;
  let key = mac(`AWS4${SES_KEY.secret_access_key}`, String(day));
  for (const part of [String(region), 'ses', 'aws4_request']) key = mac(key, part);
  const right = mac(key, `AWS4-HMAC-SHA256\n${time}\n${scope}\n${digest(request)}`).toString('hex');
  return isComplete && signature === right && region === SES_REGION
    ? undefined
    : sesError(
        403,
        'InvalidSignatureException',
        'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.',
      );
}

/** As RFC 3986 has it. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}
