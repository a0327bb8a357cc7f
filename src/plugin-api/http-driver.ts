/**
 * A sending driver for a vendor with a web interface: one request per message. What all vendors need is here (connections, time-outs,
 * the meaning of statuses, closing); a plugin adds how its vendor's requests and answers look.
 */
import {
  SendingError,
  type ConnectionTest,
  type DriverOptions,
  type OutgoingMessage,
  type SendingDriver,
  type SendResult,
} from './sending-driver.ts';
import {
  NoAnswerError,
  retryAfterSeconds,
  type VendorAnswer,
  type VendorHttp,
  type VendorRequest,
} from './vendor-http.ts';

/** Sends one request. Throws SendingError `unavailable` when it was certainly not received, `unknown` when there is no answer. */
export type AskVendor = (request: VendorRequest) => Promise<VendorAnswer>;

export interface HttpVendor {
  /** `https://api.example.com`. */
  readonly origin: string;
  /** The name of the vendor in errors. */
  readonly name: string;
  /** The request for one message. */
  prepare(message: OutgoingMessage): VendorRequest | Promise<VendorRequest>;
  /**
   * The id by which the vendor's reports name the message, from an answer with a status from 200 to 299; undefined when the answer is
   * not as documented. The outcome is unknown then.
   */
  idOf(answer: VendorAnswer, message: OutgoingMessage): string | undefined;
  /** The meaning of any other answer, where the vendor's own words say more than the status; undefined: by the status. */
  failureOf?(answer: VendorAnswer, message: OutgoingMessage): SendingError | undefined;
  /** As `SendingDriver.prepareSender`. */
  prepareSender?(fromEmail: string, ask: AskVendor): Promise<void>;
  /** Asks an authenticated read endpoint. A SendingError that `ask` throws becomes the answer. */
  test(ask: AskVendor): Promise<ConnectionTest>;
  /** The largest `content` the vendor takes, in bytes. */
  readonly contentBytesMax: number;
  /** The vendor takes addresses with letters outside ASCII before the @. */
  readonly takesSmtpUtf8?: boolean;
}

/** A person waits for a test, a campaign for an answer; vendors answer within seconds, or not at all. */
const TIMEOUT_MS_MAX = 60_000;
const TEXT_LENGTH_MAX = 500;
/** Of proxies that may have passed the request on: two of the standard, and those of Cloudflare and others (empty answer, time-outs). */
const FROM_GATEWAYS: ReadonlySet<number> = new Set([502, 504, 520, 522, 524, 598, 599]);
/** Ids of vendors; anything else could not be stored or found again. */
const VENDOR_ID = /^[\x21-\x7e]{1,998}$/;

/** The driver; opens nothing yet. */
export function httpDriver(options: DriverOptions, vendor: HttpVendor): SendingDriver {
  return new HttpDriver(options, vendor);
}

class HttpDriver implements SendingDriver {
  readonly prepareSender?: (fromEmail: string) => Promise<void>;
  readonly #vendor: HttpVendor;
  readonly #http: VendorHttp;
  readonly #inFlight = new Set<Promise<unknown>>();
  #connections: number;
  #isClosed = false;

  constructor(options: DriverOptions, vendor: HttpVendor) {
    this.#vendor = vendor;
    this.#connections = options.connectionsMax;
    this.#http = openHttp(options, vendor);
    if (vendor.prepareSender)
      this.prepareSender = async (fromEmail) =>
        vendor.prepareSender?.(fromEmail, (request) => this.#ask(request).catch(asUnavailable));
  }

  get capacity(): number {
    return this.#connections;
  }

  useConnections(count: number): void {
    this.#connections = count;
    this.#http.useConnections(count);
  }

  async send(message: OutgoingMessage): Promise<SendResult> {
    if (this.#isClosed) throw new SendingError('unavailable', 'The connection to the vendor is closed.');
    const sending = this.#send(message);
    this.#inFlight.add(sending);
    return sending.finally(() => this.#inFlight.delete(sending));
  }

  async #send(message: OutgoingMessage): Promise<SendResult> {
    refuseUnfit(message, this.#vendor);
    await requireMayLeave(message);
    const request = await this.#vendor.prepare(message);
    await requireMayLeave(message);
    const answer = await this.#ask(request);
    if (answer.status < 200 || answer.status > 299)
      throw this.#vendor.failureOf?.(answer, message) ?? failureByStatus(this.#vendor.name, answer);
    const runtimeMessageId = this.#vendor.idOf(answer, message);
    if (runtimeMessageId === undefined || !VENDOR_ID.test(runtimeMessageId))
      throw new SendingError(
        'unknown',
        `${this.#vendor.name} answered ${answer.status}, and the rest cannot be understood: ${textOf(answer)}`,
        { code: answer.status },
      );
    return { runtimeMessageId, reply: `${answer.status} ${textOf(answer) || 'accepted'}` };
  }

  async test(): Promise<ConnectionTest> {
    try {
      return await this.#vendor.test((request) => this.#ask(request));
    } catch (error) {
      return { ok: false, message: error instanceof Error ? error.message : String(error) };
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#inFlight);
    this.#http.close();
  }

  #ask(request: VendorRequest): Promise<VendorAnswer> {
    return answerTo(this.#http, request, this.#vendor.name);
  }
}

/** A question that is not answered leaves no message in doubt. */
function asUnavailable(error: unknown): never {
  throw error instanceof SendingError ? new SendingError('unavailable', error.message, error) : error;
}

/** For requests besides messages: an idle connection ends after some seconds. */
export function askVendor(options: DriverOptions, vendor: Pick<HttpVendor, 'origin' | 'name'>): AskVendor {
  const connection = openHttp({ ...options, connectionsMax: 1 }, vendor);
  return (request) => answerTo(connection, request, vendor.name);
}

function openHttp(options: DriverOptions, { origin }: Pick<HttpVendor, 'origin'>): VendorHttp {
  if (!options.openHttp) throw new Error('This version of Mailwright opens no connections for drivers.');
  return options.openHttp(origin, {
    connections: options.connectionsMax,
    timeoutMs: Math.min(options.replyTimeoutMs, TIMEOUT_MS_MAX),
  });
}

async function answerTo(connections: VendorHttp, request: VendorRequest, name: string): Promise<VendorAnswer> {
  try {
    return await connections.request(request);
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error;
    throw error.wasSent
      ? new SendingError('unknown', `${name} got the request and did not answer: ${error.message}`)
      : new SendingError('unavailable', `${name} cannot be reached: ${error.message}`);
  }
}

function refuseUnfit({ needsSmtpUtf8, content }: OutgoingMessage, vendor: HttpVendor): void {
  if (needsSmtpUtf8 && vendor.takesSmtpUtf8 !== true)
    throw new SendingError('refused', `${vendor.name} takes no address with letters outside ASCII before the @.`, {
      ...{ code: 550, enhancedStatus: '5.6.7', about: 'recipient' },
    });
  if (content.byteLength > vendor.contentBytesMax)
    throw new SendingError(
      'refused',
      `The message is larger than the ${Math.floor(vendor.contentBytesMax / 1_048_576)} MB that ${vendor.name} takes.`,
      { code: 552, about: 'message' },
    );
}

async function requireMayLeave({ mayStillLeave }: OutgoingMessage): Promise<void> {
  if (mayStillLeave && !(await mayStillLeave()))
    throw new SendingError('unavailable', 'The message may no longer be sent.');
}

/**
 * What an answer means by its status alone. 500 and 503 say that nothing was done; 502, 504 and their like come from a gateway that does not know.
 * A redirect or a page that does not exist is a wrong address in the settings.
 */
export function failureByStatus(name: string, answer: VendorAnswer): SendingError {
  const { status } = answer;
  const text = `${name} answered ${status}: ${textOf(answer) || 'no text'}`;
  const details = { code: status, retryAfterSeconds: retryAfterSeconds(answer) };
  if (status === 400 || status === 413 || status === 422)
    return new SendingError('refused', text, { ...details, about: 'message' });
  if (status === 401 || status === 403 || status === 407)
    return new SendingError('unavailable', text, { ...details, about: 'login' });
  if (status === 402) return new SendingError('unavailable', text, { ...details, about: 'quota' });
  if (status === 429 || status === 420) return new SendingError('deferred', text, { ...details, about: 'rate' });
  if (status === 409 || status === 500) return new SendingError('deferred', text, { ...details, about: 'server' });
  if (FROM_GATEWAYS.has(status)) return new SendingError('unknown', text, details);
  return new SendingError('unavailable', text, { ...details, about: 'server' });
}

/** The first words of an answer's body in one line; of an HTML page without its tags. */
export function textOf({ body, headers }: VendorAnswer): string {
  const text = body.subarray(0, TEXT_LENGTH_MAX * 8).toString('utf8');
  const plain = headers['content-type']?.includes('html')
    ? text.replace(/<(?:style|script)[^]{0,4000}?<\/(?:style|script)>/g, ' ').replace(/<[^<>]{0,500}>/g, ' ')
    : text;
  // oxlint-disable-next-line no-control-regex -- what a stranger sends is stored and shown
  return plain
    .replace(/[\u0000-\u0020\u007f\u0085\u2028\u2029]+/g, ' ')
    .trim()
    .slice(0, TEXT_LENGTH_MAX);
}
