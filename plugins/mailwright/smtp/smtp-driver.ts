/** The driver that the host calls: checks the envelope and leaves the rest to the connection pool. */
import type {
  ConnectionTest,
  DriverOptions,
  DriverSettings,
  OutgoingMessage,
  SendingDriver,
  SendResult,
} from '../../../src/plugin-api/index.ts';
import { AccessTokens } from './access-tokens.ts';
import { ConnectionPool } from './connection-pool.ts';
import { envelopeFault } from './envelope.ts';
import { unavailable } from './reply-meaning.ts';
import { openSession, quit } from './session.ts';
import { parseSettings, type SmtpSettings } from './settings.ts';

/** A host name or an address literal: nothing that could end the EHLO line. */
const CLIENT_NAME = /^[A-Za-z0-9._:[\]-]{1,255}$/;

/** Makes a driver from checked settings; opens nothing yet. */
export function connectSmtp(settings: DriverSettings, options: DriverOptions): SendingDriver {
  if (!CLIENT_NAME.test(options.clientName)) throw new Error('The client name is no host name and no address literal');
  return new SmtpDriver(parseSettings(settings), options);
}

class SmtpDriver implements SendingDriver {
  readonly #settings: SmtpSettings;
  readonly #options: DriverOptions;
  readonly #pool: ConnectionPool;
  readonly #tokens: AccessTokens;

  constructor(settings: SmtpSettings, options: DriverOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#tokens = new AccessTokens(settings, options.postForm);
    this.#pool = new ConnectionPool({ ...options, settings, tokens: this.#tokens });
  }

  get capacity(): number {
    return this.#pool.usable * this.#settings.window;
  }

  send(message: OutgoingMessage): Promise<SendResult> {
    const fault = envelopeFault(message.envelope);
    return fault ? Promise.reject(fault) : this.#pool.send(message);
  }

  useConnections(count: number): void {
    this.#pool.useConnections(count);
  }

  /** Connects, logs in, sends NOOP and disconnects. */
  async test(): Promise<ConnectionTest> {
    try {
      const { signal } = new AbortController();
      const { channel } = await openSession({
        ...this.#options,
        settings: this.#settings,
        tokens: this.#tokens,
        signal,
      });
      const answer = await channel.request('NOOP');
      await quit(channel);
      return answer.isPositive
        ? { ok: true }
        : { ok: false, message: unavailable('The server refused NOOP', answer).message };
    } catch (error) {
      return { ok: false, message: error instanceof Error ? error.message : String(error) };
    }
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
