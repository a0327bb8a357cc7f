/** Amazon SNS of the region of ses-vendor.ts: signed messages, its certificate, and the address that confirms a subscription. */
import { randomUUID, sign } from 'node:crypto';
import { plugin } from '../../plugins/mailwright/amazon/index.ts';
import type { FetchAnswer, Plugin, PluginFetch, WebhookRequest } from '../../src/plugin-api/index.ts';
import { SES_TOPIC } from './ses-vendor.ts';
import { testCertificate, type TestCertificate } from './test-certificate.ts';

export const SNS_ORIGIN = 'https://sns.eu-west-1.amazonaws.com';
const CERTIFICATE_URL = `${SNS_ORIGIN}/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem`;

export interface SnsOptions {
  readonly version?: '1' | '2';
  readonly at?: Date;
  /** Instead of those of a real message; signed. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Changed after signing. */
  readonly altered?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** By whom it is signed, if not by SNS. */
  readonly by?: TestCertificate;
}

export interface Sns {
  /** For `services.fetch` of the plugin. */
  readonly fetch: PluginFetch;
  /** Addresses that were fetched. */
  readonly fetched: readonly string[];
  /** Answers the next fetches so, or fails them. */
  answer(...answers: readonly (number | string | Error)[]): void;
  /** A notification whose text is this, or this as JSON. */
  notification(message: object | string, options?: SnsOptions): WebhookRequest;
  confirmation(options?: SnsOptions): WebhookRequest;
  /** Any other message. */
  message(type: string, options?: SnsOptions): WebhookRequest;
}

let made: TestCertificate | undefined;

export function startSns({ certificate = (made ??= testCertificate()) } = {}): Sns {
  const fetched: string[] = [];
  const answers: (number | string | Error)[] = [];
  const message = (type: string, { version = '2', at = new Date(), ...options }: SnsOptions = {}): WebhookRequest => {
    const id = randomUUID();
    const fields = { Type: type, MessageId: id, TopicArn: SES_TOPIC, Timestamp: at.toISOString(), ...options.fields };
    const text = Object.entries(fields)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => `${key}\n${value}\n`)
      .join('');
    const key = (options.by ?? certificate).privateKey;
    const signature = sign(version === '2' ? 'sha256' : 'sha1', Buffer.from(text), key).toString('base64');
    const proof = { SignatureVersion: version, Signature: signature, SigningCertURL: CERTIFICATE_URL };
    // SNS says that it is text.
    const headers = {
      ...{ 'content-type': 'text/plain; charset=UTF-8', 'x-amz-sns-topic-arn': fields.TopicArn },
      ...{ 'x-amz-sns-message-type': type, 'x-amz-sns-message-id': fields.MessageId },
      ...options.headers,
    };
    const unsigned = type === 'Notification' ? { UnsubscribeURL: `${SNS_ORIGIN}/?Action=Unsubscribe` } : {};
    const body = Buffer.from(JSON.stringify({ ...fields, ...proof, ...unsigned, ...options.altered }, null, 2));
    return { method: 'POST', headers, query: {}, body, receivedAt: at };
  };
  const token = 'a'.repeat(60);
  const confirmation = {
    ...{ Message: 'You have chosen to subscribe to the topic.', Token: token },
    SubscribeURL: `${SNS_ORIGIN}/?Action=ConfirmSubscription&TopicArn=${SES_TOPIC}&Token=${token}`,
  };
  return {
    fetched,
    answer: (...next) => void answers.push(...next),
    async fetch(url) {
      fetched.push(url);
      const next = answers.shift() ?? (url === CERTIFICATE_URL ? certificate.pem : 200);
      if (next instanceof Error) throw next;
      return typeof next === 'number' ? answerOf(next, '') : answerOf(200, next);
    },
    message,
    notification: (text, options = {}) =>
      message('Notification', {
        ...options,
        fields: { Message: typeof text === 'string' ? text : JSON.stringify(text), ...options.fields },
      }),
    confirmation: (options = {}) =>
      message('SubscriptionConfirmation', { ...options, fields: { ...confirmation, ...options.fields } }),
  };
}

function answerOf(status: number, text: string): FetchAnswer {
  return { status, headers: {}, body: Buffer.from(text), text: () => text, json: () => JSON.parse(text) };
}

/** The plugin with this SNS instead of that of AWS. */
export function amazonWith({ fetch }: Pick<Sns, 'fetch'>): Plugin {
  return { ...plugin, register: (hooks, services) => plugin.register?.(hooks, { ...services, fetch }) };
}
