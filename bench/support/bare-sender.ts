/**
 * What Node's sockets cost without a driver: finished bytes (envelope and content in one) over one connection at a time
 * after the other, replies only counted. The floor under every driver, against the receiver that offers CHUNKING.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface BareInput {
  readonly port: number;
  readonly connections: number;
  /** Messages that leave in one write, and are answered before the next one leaves. */
  readonly perWrite: number;
  readonly messages: number;
  readonly bytes: number;
}

const LF = 10;
const COMMANDS_PER_MESSAGE = 4;
/** Different bytes, more than the processor's caches hold: a campaign's messages are. */
const DIFFERENT = 60;

/** Sends so many, and resolves when all are answered. */
export async function sendBare({ port, connections, perWrite, messages, bytes }: BareInput): Promise<void> {
  const writes = Array.from({ length: DIFFERENT }, (_, index) => oneWrite(index, perWrite, bytes));
  let left = Math.ceil(messages / perWrite);
  const lane = async (): Promise<void> => {
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    const replies = new Replies(socket);
    await replies.count(1);
    socket.write('EHLO bench.invalid\r\n');
    await replies.count(3);
    while (left > 0) {
      socket.write(writes[left-- % DIFFERENT] ?? '');
      await replies.count(perWrite * COMMANDS_PER_MESSAGE);
    }
    socket.end();
    await once(socket, 'close');
  };
  await Promise.all(Array.from({ length: connections }, lane));
}

function oneWrite(index: number, perWrite: number, bytes: number): Buffer {
  const content = Buffer.alloc(bytes, 97 + (index % 26));
  const messages = Array.from({ length: perWrite }, (_, of) => {
    const person = index * perWrite + of;
    const commands = `RSET\r\nMAIL FROM:<bounces@bench.invalid>\r\nRCPT TO:<person${person}@bench.invalid>\r\nBDAT ${bytes} LAST\r\n`;
    return Buffer.concat([Buffer.from(commands), content]);
  });
  return Buffer.concat(messages);
}

class Replies {
  #lines = 0;
  #wanted = 0;
  #resolve: (() => void) | undefined;

  constructor(socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; at++) if (chunk[at] === LF) this.#lines++;
      if (this.#lines < this.#wanted) return;
      this.#resolve?.();
    });
  }

  async count(lines: number): Promise<void> {
    this.#wanted = lines;
    if (this.#lines < lines) await new Promise<void>((resolve) => (this.#resolve = resolve));
    this.#lines -= lines;
  }
}
