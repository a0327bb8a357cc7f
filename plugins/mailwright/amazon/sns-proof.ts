/**
 * Whether Amazon SNS has posted a message. Everybody can have a topic whose messages are rightly signed, so only those of the topic in the
 * settings are taken; key and confirmation come from the host of that topic only.
 */
import { verify, X509Certificate } from 'node:crypto';
import {
  WebhookBusyError,
  type FetchAnswer,
  type PluginFetch,
  type WebhookRequest,
} from '../../../src/plugin-api/index.ts';
import { topicHost } from './settings.ts';
import { readSnsMessage, signedText, type SnsMessage } from './sns-message.ts';

/** It repeats for an hour at most; the rest is for what SNS itself holds back. */
const AGE_MS_MAX = 6 * 3_600_000;
const AHEAD_MS_MAX = 300_000;
/** The host waits five seconds. */
const TIMEOUT_MS = 4_000;
/** One for each region in use, and one more while it changes. */
const CERTIFICATES_MAX = 60;
/** A stranger who knows the topic may name certificates that are not there; each costs a request. */
const FETCHES_PER_MINUTE_MAX = 30;
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[\w-]{1,100}\.pem$/;
const MINUTE_MS = 60_000;

export class SnsProof {
  readonly #call: PluginFetch;
  readonly #certificates = new Map<string, Promise<X509Certificate | undefined>>();
  #minute = { beganAt: 0, fetches: 0 };

  constructor(fetch: PluginFetch) {
    this.#call = fetch;
  }

  /** Whether SNS sent this for the topic. Throws WebhookBusyError while the certificate cannot be had. */
  async isGenuine(request: WebhookRequest, topic: unknown): Promise<boolean> {
    const message = readSnsMessage(request);
    const host = topicHost(topic);
    if (!message || host === undefined || message.TopicArn !== topic) return false;
    if (!isNamedInHeaders(message, request) || !isOfNow(message, request.receivedAt)) return false;
    const address = certificateAddress(message.SigningCertURL, host);
    const certificate = address && (await this.#certificate(address, request.receivedAt));
    if (!certificate || !isValidAt(certificate, request.receivedAt)) return false;
    const algorithm = message.SignatureVersion === '2' ? 'sha256' : 'sha1';
    const { publicKey } = certificate;
    return (
      publicKey.asymmetricKeyType === 'rsa' &&
      verify(algorithm, Buffer.from(signedText(message)), publicKey, Buffer.from(message.Signature, 'base64'))
    );
  }

  /** Confirms that the topic may post here. Throws a sentence, or WebhookBusyError where SNS should ask again. */
  async confirm({ SubscribeURL: address = '' }: SnsMessage, topic: unknown): Promise<void> {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    const isRight =
      url?.origin === `https://${topicHost(topic)}` &&
      url.searchParams.get('Action') === 'ConfirmSubscription' &&
      url.searchParams.get('TopicArn') === topic;
    if (!isRight) throw new Error('The address for the confirmation is not one of the topic.');
    const { status } = await this.#get(url.href);
    if (status >= 500 || status === 429) throw new WebhookBusyError(`SNS answered the confirmation with ${status}.`);
    if (status !== 200)
      throw new Error(
        `SNS answered the confirmation with ${status}: ask for another confirmation in the console of SNS.`,
      );
  }

  /** Undefined: there is none at this address. */
  async #certificate(address: string, now: Date): Promise<X509Certificate | undefined> {
    const known = this.#certificates.get(address);
    if (known) return known;
    if (!this.#mayFetch(now)) throw new WebhookBusyError('Too many certificates were asked for in this minute.');
    const fetching = this.#fetchCertificate(address);
    const [oldest] = this.#certificates.keys();
    if (oldest !== undefined && this.#certificates.size >= CERTIFICATES_MAX) this.#certificates.delete(oldest);
    this.#certificates.set(address, fetching);
    // What was not found, or not answered, is asked for again.
    const keepIfFound = (certificate?: X509Certificate) => certificate ?? void this.#certificates.delete(address);
    fetching.then(keepIfFound, () => keepIfFound());
    return fetching;
  }

  #mayFetch(now: Date): boolean {
    if (Math.abs(now.getTime() - this.#minute.beganAt) >= MINUTE_MS)
      this.#minute = { beganAt: now.getTime(), fetches: 0 };
    return ++this.#minute.fetches <= FETCHES_PER_MINUTE_MAX;
  }

  async #fetchCertificate(address: string): Promise<X509Certificate | undefined> {
    const answer = await this.#get(address);
    if (answer.status >= 500 || answer.status === 429)
      throw new WebhookBusyError(`The certificate of SNS cannot be had: the answer was ${answer.status}.`);
    if (answer.status !== 200) return undefined;
    try {
      return new X509Certificate(answer.body);
    } catch {
      return undefined;
    }
  }

  async #get(address: string): Promise<FetchAnswer> {
    try {
      return await this.#call(address, { timeoutMs: TIMEOUT_MS });
    } catch (error) {
      throw new WebhookBusyError(error instanceof Error ? error.message : String(error));
    }
  }
}

/** SNS repeats both in headers; raw delivery, which is not signed, has others. */
function isNamedInHeaders({ Type, MessageId }: SnsMessage, { headers }: WebhookRequest): boolean {
  return headers['x-amz-sns-message-type'] === Type && headers['x-amz-sns-message-id'] === MessageId;
}

function isOfNow({ Timestamp }: SnsMessage, now: Date): boolean {
  const age = now.getTime() - Date.parse(Timestamp);
  return age < AGE_MS_MAX && age > -AHEAD_MS_MAX;
}

/** The address, written anew, where a certificate of this host of SNS is. */
function certificateAddress(address: string, host: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const { origin, pathname } = new URL(address);
  return origin === `https://${host}` && CERTIFICATE_PATH.test(pathname) ? `${origin}${pathname}` : undefined;
}

function isValidAt({ validFrom, validTo }: X509Certificate, at: Date): boolean {
  return Date.parse(validFrom) <= at.getTime() && at.getTime() <= Date.parse(validTo);
}
