/**
 * One websocket with bounds: a message that the client does not take closes it, whatever else happens. Only what the
 * kernel holds and one bounded buffer is ever kept for a reader that stopped.
 */
import type { WebSocket } from 'ws';
import { SLOW_READER_MS_MAX, SOCKET_BUFFERED_BYTES_MAX, SOCKET_CLOSE_MS_MAX, SOCKET_PING_EVERY_MS } from './limits.ts';

/** Close codes of our own; those of the protocol are 4400 and up as well, and do not meet these. */
export const SLOW_READER_CODE = 4413;
export const TOKEN_ENDED_CODE = 4401;
export const TOO_MANY_SOCKETS_CODE = 4429;
export const GOING_AWAY_CODE = 1001;
/** "Service restart" (RFC 6455's registry): clients connect again, which some do not do after the 44xx above. */
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
    // A reset is followed by 'close'; without a listener it would end the process.
    socket.on('error', () => undefined);
    this.#ping = setInterval(() => this.#pingOrEnd(), SOCKET_PING_EVERY_MS);
    this.#ping.unref();
  }

  /** Resolves when the message has left for the kernel: who sends in a loop then waits for the reader. */
  async send(data: string): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > SOCKET_BUFFERED_BYTES_MAX) return this.close(SLOW_READER_CODE, 'Reader too slow');
    this.#noteUnsent();
    await new Promise<void>((resolve) => this.#socket.send(data, () => resolve()));
    this.#noteSent();
  }

  /** Says goodbye, and does not wait long for the answer. */
  close(code: number, reason: string): void {
    if (this.#socket.readyState === this.#socket.CLOSED) return;
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), SOCKET_CLOSE_MS_MAX).unref();
  }

  #noteUnsent(): void {
    this.#unsent++;
    this.#slowTimer ??= setTimeout(() => this.close(SLOW_READER_CODE, 'Reader too slow'), SLOW_READER_MS_MAX).unref();
  }

  /** Progress restarts the clock: slow is who takes nothing, not who has much waiting. */
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
