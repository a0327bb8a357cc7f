/**
 * Reads requests of the express lane from the connection itself: `node:http` costs as much as everything else that is
 * done for a click (decision record 0150). It takes a GET that is there whole, alone and without anything unusual, and
 * only the simplest spelling of one. At the first request that is anything else the connection goes to `node:http`, with
 * every byte of it, and stays there; so what is malformed, slow, hostile or merely rare is judged by one parser only.
 */
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ExpressAnswer, ExpressLane, ExpressReply, ExpressRequest } from './express-lane.ts';

export interface ExpressDoor {
  /** No request is under way on these connections; from now on each ends with its answer. */
  closeIdle(): void;
  /** Cuts what is left. */
  closeAll(): void;
}

const STATUS_LINES = { 200: 'HTTP/1.1 200 OK', 302: 'HTTP/1.1 302 Found' } as const;
/** A head and nothing behind it. Each repeated part ends at a character that it cannot contain: one pass, whatever comes. */
const PLAIN_GET = /^GET (\/[!-~]*) HTTP\/1\.1\r\n((?:[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*\r\n)+)\r\n$/;
/** What handlers look at, and what says that a request is not plain. */
const NOTABLE =
  /^(user-agent|x-forwarded-for|sec-purpose|purpose|x-purpose|x-moz|host|connection|proxy-connection|content-length|transfer-encoding|upgrade|expect|trailer|te):(.*)$/gim;
const LEFT_ALONE = new Set([
  ...['proxy-connection', 'content-length', 'transfer-encoding', 'upgrade', 'expect', 'trailer', 'te'],
]);
const BAD_IN_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

/** Stands before `server`, which gets every connection that is not the lane's. Undefined when nothing goes by the lane. */
export function openExpressDoor(server: Server, lane: ExpressLane): ExpressDoor | undefined {
  const pass = server.listeners('connection');
  if (!lane.isOpen) return undefined;
  const guests = new Set<Guest>();
  const house: House = {
    lane,
    head: headOf(lane.headers),
    keepAliveMs: server.keepAliveTimeout,
    firstMs: server.headersTimeout,
    isClosing: false,
    leave: (guest) => void guests.delete(guest),
    pass: (socket) => pass.forEach((listener) => void Reflect.apply(listener, server, [socket])),
  };
  server.removeAllListeners('connection');
  server.on('connection', (socket) => void guests.add(new Guest(house, socket)));
  return {
    closeIdle() {
      house.isClosing = true;
      for (const guest of guests) guest.endIfIdle();
    },
    closeAll() {
      for (const guest of guests) guest.cut();
    },
  };
}

interface House {
  readonly lane: ExpressLane;
  /** The headers of every answer, as they are sent. */
  readonly head: string;
  readonly keepAliveMs: number;
  /** Who has asked nothing yet is not kept as long. */
  readonly firstMs: number;
  isClosing: boolean;
  leave(guest: Guest): void;
  /** To `node:http`. */
  pass(socket: Socket): void;
}

/** One connection, for as long as its requests are the lane's. */
class Guest implements ExpressReply {
  readonly #house: House;
  readonly #socket: Socket;
  #isWaiting = false;
  #hasAsked = false;
  #hasEnded = false;
  /** What came while an answer was under way: the lane takes one request after the other. */
  #early: Buffer | undefined;

  constructor(house: House, socket: Socket) {
    this.#house = house;
    this.#socket = socket;
    socket.setTimeout(house.firstMs);
    socket.on('data', this.#read).on('end', this.#end).on('timeout', this.#drop).on('error', this.#drop);
    socket.on('close', this.#forget);
  }

  answer({ status, headers, body }: ExpressAnswer): void {
    const { isClosing, head, keepAliveMs } = this.#house;
    const isLast = isClosing || this.#hasEnded;
    const stays = isLast ? 'close' : `keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1_000)}`;
    this.#isWaiting = false;
    this.#socket.write(
      `${STATUS_LINES[status]}\r\n${head}${headOf(headers)}Date: ${dateNow()}\r\nConnection: ${stays}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      'latin1',
    );
    if (isLast) this.#socket.end();
    else if (this.#early) this.#pass(this.#early);
    else if (!this.#hasAsked) this.#socket.setTimeout(keepAliveMs);
    this.#hasAsked = true;
  }

  cut(): void {
    this.#socket.destroy();
  }

  endIfIdle(): void {
    if (!this.#isWaiting) this.cut();
  }

  readonly #read = (bytes: Buffer): void => {
    if (this.#isWaiting) {
      this.#early = this.#early ? Buffer.concat([this.#early, bytes]) : bytes;
      this.#socket.pause();
      return;
    }
    // Who does not read the answers must not make us keep them: node:http watches over that.
    const req = this.#socket.writableLength > 0 ? undefined : readPlainGet(bytes.toString('latin1'), this.#socket);
    this.#isWaiting = req !== undefined;
    if (req && this.#house.lane.ask(req, this)) return;
    this.#isWaiting = false;
    this.#pass(bytes);
  };

  readonly #end = (): void => {
    this.#hasEnded = true;
    if (!this.#isWaiting) this.#socket.end();
  };

  readonly #drop = (): void => void this.#socket.destroy();
  readonly #forget = (): void => this.#house.leave(this);

  #pass(bytes: Buffer): void {
    const socket = this.#socket;
    socket.off('data', this.#read).off('end', this.#end).off('timeout', this.#drop).off('error', this.#drop);
    socket.off('close', this.#forget);
    socket.setTimeout(0);
    this.#forget();
    socket.unshift(bytes);
    this.#house.pass(socket);
    socket.resume();
  }
}

/** The request, or undefined when it is for `node:http` to judge. */
export function readPlainGet(text: string, socket: ExpressRequest['socket']): ExpressRequest | undefined {
  const parts = PLAIN_GET.exec(text);
  if (!parts) return undefined;
  const headers: IncomingHttpHeaders = {};
  const lines = parts[2] ?? '';
  NOTABLE.lastIndex = 0;
  for (let line = NOTABLE.exec(lines); line !== null; line = NOTABLE.exec(lines)) {
    const key = (line[1] ?? '').toLowerCase();
    // Twice the same: how they go together is not for us to know.
    if (headers[key] !== undefined || LEFT_ALONE.has(key)) return undefined;
    headers[key] = (line[2] ?? '').trim();
  }
  const { host, connection = 'keep-alive' } = headers;
  if (host === undefined || connection.toLowerCase() !== 'keep-alive') return undefined;
  return { url: parts[1], headers, socket };
}

function headOf(headers: readonly string[]): string {
  let text = '';
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] ?? '';
    if (BAD_IN_HEADER.test(value)) throw new Error(`The header ${headers[at]} cannot carry its value.`);
    text += `${headers[at]}: ${value}\r\n`;
  }
  return text;
}

let date = '';
let dateSecond = 0;

/** As a header has it: to the second. */
function dateNow(): string {
  const second = Math.floor(Date.now() / 1_000);
  if (second !== dateSecond) [date, dateSecond] = [new Date().toUTCString(), second];
  return date;
}
