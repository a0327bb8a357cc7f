/**
 * One websocket with limits: a message that the client does not take closes it. For a reader that stopped, only the kernel's
 * buffer and one limited buffer are kept.
 */
import type { WebSocket } from 'ws';
import { SLOW_READER_MS_MAX, SOCKET_BUFFERED_BYTES_MAX, SOCKET_CLOSE_MS_MAX, SOCKET_PING_EVERY_MS } from './limits.ts';

/**
 * Close codes. The client `graphql-ws` gives up after 4401 and 4429, among others, and connects again after every other 44xx and
 * after 1001, 1012 and 1013.
 */
export const SLOW_READER_CODE = 4413;
/** The token has ended, or is none: another try changes nothing. */
export const TOKEN_ENDED_CODE = 4401;
/** An idle socket gave way to a newer one: coming back would only end another one. */
export const REPLACED_CODE = 4429;
/** "Try again later" (RFC 6455's registry). */
export const TOO_MANY_SOCKETS_CODE = 1013;
export const GOING_AWAY_CODE = 1001;
/** "Service restart" (RFC 6455's registry): clients reconnect, which some do not after the 44xx above. */
export const MAINTENANCE_CODE = 1012;

export class SocketTransport {
  readonly #socket: WebSocket;
  readonly #ping: NodeJS.Timeout;
  #unsent = 0;
  #slowTimer: NodeJS.Timeout | undefined;
  #alive = true;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('pong', () => (this.#alive = true));
    socket.once('close', () => this.#stop());
    // After a reset comes 'close'; without an error listener the process would end.
    socket.on('error', () => undefined);
    this.#ping = setInterval(() => this.#pingOrEnd(), SOCKET_PING_EVERY_MS);
    this.#ping.unref();
  }

  /** Resolves when the message has been given to the kernel: a loop that sends waits for the reader. */
  async send(data: string): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > SOCKET_BUFFERED_BYTES_MAX) return this.close(SLOW_READER_CODE, 'Reader too slow');
    this.#noteUnsent();
    await new Promise<void>((resolve) => this.#socket.send(data, () => resolve()));
    this.#noteSent();
  }

  /** Closes the connection, and does not wait long for the answer. */
  close(code: number, reason: string): void {
    if (this.#socket.readyState === this.#socket.CLOSED) return;
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), SOCKET_CLOSE_MS_MAX).unref();
  }

  #noteUnsent(): void {
    this.#unsent++;
    this.#slowTimer ??= setTimeout(() => this.close(SLOW_READER_CODE, 'Reader too slow'), SLOW_READER_MS_MAX).unref();
  }

  /** Progress restarts the timer: a reader is too slow if it takes nothing, however much waits for it. */
  #noteSent(): void {
    this.#unsent--;
    if (this.#unsent === 0) {
      clearTimeout(this.#slowTimer);
      this.#slowTimer = undefined;
    } else this.#slowTimer?.refresh();
  }

  #pingOrEnd(): void {
    if (!this.#alive) return this.#socket.terminate();
    this.#alive = false;
    this.#socket.ping(() => undefined);
  }

  #stop(): void {
    clearInterval(this.#ping);
    clearTimeout(this.#slowTimer);
  }
}
