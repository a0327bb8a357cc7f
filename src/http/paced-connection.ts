/**
 * Lets `node:http` read one request of a connection at a time. Its parser takes every request that one read of the socket
 * contains, up to 2,000 of 64 KiB, and all of them would run at once, even if the client reads no answers. Here the parser gets
 * the bytes up to the end of one head, and the next ones when that request is answered and its answer has left the process; until
 * then the socket is not read (decision record 0301).
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { countContent, isTinyChunks } from './tiny-chunks.ts';

/** How fast a client has to read its answers. */
export interface AnswerPace {
  readonly windowMs: number;
  /** So many bytes have to be taken in each window, or all that wait. */
  readonly bytesMin: number;
}

/** 1 KiB a second. The kernel buffers some hundred kilobytes for a slow line, and takes more only when a third of it is sent. */
export const ANSWER_PACE: AnswerPace = { windowMs: 60_000, bytesMin: 1_024 * 60 };
/**
 * Requests of one connection that run at the same time. Clients rarely send several without waiting, and answers go out in order
 * anyway: a second one would only make us buffer its answer.
 */
export const REQUESTS_AT_WORK_MAX = 1;

/** Bytes of heads and of chunked bodies: at most 1,600 tiny chunks come before a body is refused for them (tiny-chunks.ts). */
const PARSED_AT_ONCE = 8_192;
/** The end of a head. Bytes of a body may look like it: then they reach the parser in two pieces. */
const END_OF_HEAD = Buffer.from('\n\r\n');

export interface PacedConnections {
  /** To be called for each request that the server reads, before it is served. */
  begin(req: IncomingMessage, res: ServerResponse): void;
  /** The connection belongs to another protocol from now on. */
  release(socket: Socket): void;
  /** No further request of this connection is read. */
  end(socket: Duplex): void;
  /** Ends connections that have sent nothing yet: `node:http` takes them for busy. */
  closeUnused(): void;
  close(): void;
}

/** Paces every connection that `server` gets from now on. */
export function paceConnections(server: Server, pace: AnswerPace): PacedConnections {
  const connections = new Map<Duplex, PacedConnection>();
  server.on('connection', (socket: Socket) => {
    const refuse = (code: string): void => {
      server.emit('clientError', Object.assign(new Error('This body is not read.'), { code }), socket);
    };
    connections.set(socket, new PacedConnection(socket, refuse));
    socket.once('close', () => connections.delete(socket));
  });
  const sweep = setInterval(() => {
    for (const connection of connections.values()) connection.cutIfStalled(pace);
  }, pace.windowMs / SWEEPS_PER_WINDOW).unref();
  const leave = (socket: Duplex, leaving: (connection: PacedConnection) => void): void => {
    const connection = connections.get(socket);
    connections.delete(socket);
    if (connection) leaving(connection);
  };
  return {
    begin: (req, res) => connections.get(req.socket)?.begin(req, res),
    release: (socket) => leave(socket, (connection) => connection.release()),
    end: (socket) => leave(socket, (connection) => connection.end()),
    closeUnused() {
      for (const connection of connections.values()) connection.closeIfUnused();
    },
    close: () => clearInterval(sweep),
  };
}

const SWEEPS_PER_WINDOW = 6;
/** How long what follows an unreadable request is read and thrown away: long enough for the answer to arrive. */
const READ_PAST_MS = 2_000;
/** Bytes that are on their way when the answer leaves; a client that continues to send does not read it. */
const READ_PAST_BYTES_MAX = 1_024 * 1_024;
const NOTHING = Buffer.alloc(0);

class PacedConnection {
  readonly #socket: Socket;
  /** Gives bytes to the parser of `node:http`. */
  readonly #parse: (bytes: Buffer) => void;
  #waiting: Buffer = NOTHING;
  #atWork = 0;
  #latest: IncomingMessage | undefined;
  #answer: ServerResponse | undefined;
  readonly #refuse: (code: string) => void;
  /** The last bytes that the parser got, in which the end of a head may have begun. */
  #tail: Buffer = NOTHING;
  /** Of the chunked body under way: bytes that the parser got, and how much of them was content. */
  #chunkedBytes = 0;
  #contentBytes: (() => number) | undefined;
  /** Bytes of the current body that are still to come, if its length is known. */
  #bodyBytes = 0;
  #isFeeding = false;
  #hasEnded = false;
  /** Whether it was we who stopped the reading. */
  #isPaused = false;
  #takenBytes = 0;
  #takenAt = performance.now();

  constructor(socket: Socket, refuse: (code: string) => void) {
    this.#socket = socket;
    this.#refuse = refuse;
    const [parse] = socket.listeners('data');
    if (!parse) throw new Error('node:http does not listen to its connection.');
    this.#parse = (bytes) => void Reflect.apply(parse, socket, [bytes]);
    socket.removeAllListeners('data');
    // Node reads a socket beside its stream as long as nobody listens: from here on the bytes come by events.
    socket.on('data', this.#read);
  }

  begin(req: IncomingMessage, res: ServerResponse): void {
    this.#atWork += 1;
    this.#latest = req;
    this.#answer = res;
    const isChunked = req.headers['transfer-encoding'] !== undefined;
    this.#bodyBytes = isChunked ? 0 : Number(req.headers['content-length'] ?? 0);
    this.#contentBytes = isChunked ? countContent(req) : undefined;
    this.#chunkedBytes = 0;
    res.once('close', () => {
      this.#atWork -= 1;
      // Not at once: answers that need no I/O would follow each other without end and block everything else.
      if (this.#waiting.length > 0) setImmediate(() => this.#feed());
      else this.#feed();
    });
  }

  release(): void {
    this.#leave();
    if (this.#waiting.length > 0) this.#socket.unshift(this.#waiting);
    this.#waiting = NOTHING;
  }

  end(): void {
    this.#leave();
    this.#waiting = NOTHING;
    // Unread bytes would make the system reset the connection before the answer arrives.
    let bytesLeft = READ_PAST_BYTES_MAX;
    const readPast = (bytes: Buffer): void => {
      bytesLeft -= bytes.length;
      if (bytesLeft < 0) this.#socket.destroy();
    };
    this.#socket.on('data', readPast).resume();
    const cut = setTimeout(() => this.#socket.destroy(), READ_PAST_MS).unref();
    this.#socket.once('close', () => clearTimeout(cut));
  }

  closeIfUnused(): void {
    if (this.#socket.bytesRead === 0) this.#socket.destroy();
  }

  /** Bytes wait for the client, and it took too few of them in the last window. */
  cutIfStalled({ windowMs, bytesMin }: AnswerPace): void {
    const now = performance.now();
    const taken = takenBytesOf(this.#socket);
    const isTaking = this.#socket.writableLength === 0 || taken >= this.#takenBytes + bytesMin;
    if (isTaking) [this.#takenBytes, this.#takenAt] = [taken, now];
    else if (now - this.#takenAt > windowMs) this.#socket.destroy();
  }

  readonly #read = (bytes: Buffer): void => {
    this.#waiting = this.#waiting.length === 0 ? bytes : Buffer.concat([this.#waiting, bytes]);
    this.#feed();
  };

  #feed(): void {
    if (this.#isFeeding) return;
    this.#isFeeding = true;
    while (this.#waiting.length > 0 && this.#takesMore() && !this.#hasEnded) {
      const length = this.#nextLength();
      const bytes = this.#waiting.subarray(0, length);
      this.#waiting = this.#waiting.subarray(length);
      this.#chunkedBytes += length;
      this.#parse(bytes);
      this.#refuseTinyChunks();
    }
    this.#isFeeding = false;
    if (!this.#hasEnded) this.#pauseOrResume();
  }

  /** A request at work still gets the rest of its body. */
  #takesMore(): boolean {
    // After the last answer of a connection nothing more is served.
    if (!this.#socket.writable) return false;
    return this.#atWork < REQUESTS_AT_WORK_MAX || this.#latest?.complete === false;
  }

  /** Up to the end of a head, or of a body of known length. */
  #nextLength(): number {
    if (this.#bodyBytes > 0) {
      const length = Math.min(this.#bodyBytes, this.#waiting.length);
      this.#bodyBytes -= length;
      this.#tail = NOTHING;
      return length;
    }
    // The bytes before may contain the beginning of the end.
    const part = this.#waiting.subarray(0, PARSED_AT_ONCE);
    const next = this.#tail.length === 0 ? part : Buffer.concat([this.#tail, part]);
    const at = next.indexOf(END_OF_HEAD);
    const end = at === -1 ? next.length : at + END_OF_HEAD.length;
    const length = end - this.#tail.length;
    this.#tail = at === -1 ? next.subarray(-(END_OF_HEAD.length - 1)) : NOTHING;
    return length;
  }

  /** Checked when the parser has nothing left: then all its bytes are either framing or content. */
  #refuseTinyChunks(): void {
    // What comes after its end belongs to the next request, whose head may be long.
    if (this.#latest?.complete) this.#contentBytes = undefined;
    const content = this.#contentBytes?.();
    if (content === undefined || !isTinyChunks(this.#chunkedBytes, content)) return;
    this.#contentBytes = undefined;
    // An answer that has begun cannot become another one.
    this.#refuse(this.#answer?.headersSent ? 'ECONNRESET' : 'TINY_CHUNKS');
  }

  #pauseOrResume(): void {
    if (this.#waiting.length > 0) {
      this.#isPaused = true;
      this.#socket.pause();
    } else if (this.#isPaused) {
      this.#isPaused = false;
      this.#socket.resume();
    }
  }

  #leave(): void {
    this.#hasEnded = true;
    this.#socket.off('data', this.#read);
  }
}

/** The bytes that the system has taken; `net.Socket` itself counts a piece only when all of it was taken. */
function takenBytesOf(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, '_handle');
  if (typeof handle !== 'object' || handle === null) return 0;
  return Number(Reflect.get(handle, 'bytesWritten')) - Number(Reflect.get(handle, 'writeQueueSize'));
}
