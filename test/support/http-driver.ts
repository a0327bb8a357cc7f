/** A driver for the vendor of http-vendor.ts that keeps all rules; tests replace parts of it by wrong ones. */
import { Agent, request } from 'node:http';
import {
  SendingError,
  type DriverOptions,
  type OutgoingMessage,
  type SendingDriver,
  type SendingDriverRegistration,
  type SettingsInput,
} from '../../src/plugin-api/index.ts';
import { signatureOf } from './http-vendor.ts';

const MESSAGES_EACH = 1;

export const httpDriver: SendingDriverRegistration = {
  type: 'test-http',
  name: 'Vendor',
  description: 'A vendor with an HTTP interface.',
  configKeys: ['url', 'api_key'],
  secretKeys: ['api_key'],
  idempotencyKeySeconds: 3_600,
  validate({ url, api_key: key }: SettingsInput) {
    const errors = {
      ...(typeof url === 'string' && URL.canParse(url) && url.length < 1_000
        ? {}
        : { url: ['The address is no URL.'] }),
      ...(typeof key === 'string' && /^[\w-]{1,200}$/.test(key) ? {} : { api_key: ['The API key is missing.'] }),
    };
    if (Object.keys(errors).length > 0) return { ok: false, errors };
    return { ok: true, settings: { url: String(url), api_key: String(key) } };
  },
  connect: (settings, options) => new HttpDriver(String(settings['url']), String(settings['api_key']), options),
  webhook: {
    verify: ({ headers, body }) => headers['x-signature'] === signatureOf(body),
    parse: ({ body }) => {
      const events: readonly { event: string; id: string; message: string }[] = JSON.parse(
        Buffer.from(body).toString(),
      );
      return events.map(({ event, id, message }) =>
        event === 'bounce'
          ? { kind: 'bounced', id, messageId: message, bounceType: 'hard' }
          : { kind: 'ignored', name: event },
      );
    },
  },
};

export class HttpDriver implements SendingDriver {
  readonly capacity: number;
  readonly url: string;
  readonly key: string;
  readonly options: DriverOptions;
  readonly agent: Agent;
  readonly #inFlight = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(url: string, key: string, options: DriverOptions) {
    this.url = url;
    this.key = key;
    this.options = options;
    this.capacity = options.connectionsMax * MESSAGES_EACH;
    this.agent = new Agent({ keepAlive: true, maxSockets: options.connectionsMax });
  }

  async send(message: OutgoingMessage) {
    if (this.#isClosed) throw new SendingError('unavailable', 'The driver is closed.');
    if (message.mayStillLeave && !(await message.mayStillLeave()))
      throw new SendingError('unavailable', 'It may not leave.');
    const sending = this.post(message);
    this.#inFlight.add(sending);
    const { status, body } = await sending.finally(() => this.#inFlight.delete(sending));
    if (status === 429) throw new SendingError('deferred', 'The vendor said: later.', { code: status });
    if (status !== 200) throw new SendingError('refused', `The vendor refused: ${body}`, { code: status });
    return { runtimeMessageId: String(JSON.parse(body).id), reply: `${status} ${body}` };
  }

  post({ envelope, idempotencyKey, content }: OutgoingMessage) {
    return this.ask('POST', { 'X-To': encodeURIComponent(envelope.to), 'X-Key': idempotencyKey }, content);
  }

  async test() {
    try {
      const { status } = await this.ask('GET', {});
      return status === 200
        ? ({ ok: true } as const)
        : ({ ok: false, message: `The vendor answers ${status}.` } as const);
    } catch (error) {
      return { ok: false, message: String(error) } as const;
    }
  }

  async close() {
    this.#isClosed = true;
    await Promise.allSettled(this.#inFlight);
    this.agent.destroy();
  }

  ask(method: string, headers: object, content?: Uint8Array): Promise<{ status: number; body: string }> {
    let isHandedOver = false;
    return new Promise((resolve, reject) => {
      const asking = request(this.url, {
        ...{ method, agent: this.agent },
        headers: { Authorization: `Bearer ${this.key}`, ...headers },
        timeout: this.options.replyTimeoutMs,
      });
      asking.on('response', async (response) => {
        const body = Buffer.concat(await response.toArray()).toString();
        resolve({ status: response.statusCode ?? 0, body });
      });
      asking.on('finish', () => (isHandedOver = asking.socket?.bytesWritten !== 0 && !asking.socket?.connecting));
      asking.on('timeout', () => asking.destroy(new SendingError('unknown', 'The vendor does not answer.')));
      asking.on('error', (error) => {
        const isUnknown = isHandedOver && error instanceof SendingError;
        reject(isUnknown ? error : new SendingError('unavailable', 'The vendor cannot be reached.'));
      });
      asking.end(content);
    });
  }
}
