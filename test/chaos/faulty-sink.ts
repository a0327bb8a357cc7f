/**
 * A mail receiver that can be told to misbehave. What it takes it tells before the sender hears of it: that
 * is the truth about who got what.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * - `refuse`: connections are closed at once.
 * - `stall`: nothing is answered any more; when it is well again, it has forgotten those it let wait.
 * - `close-in-content`: closes in the middle of a message's content.
 * - `closing`: answers 421 to everything and closes.
 * - `silent-accept`: takes messages and dies before it says so.
 */
export type SinkMood = 'well' | 'refuse' | 'stall' | 'close-in-content' | 'closing' | 'silent-accept';

export interface FaultySink {
  readonly port: number;
  readonly acceptedCount: number;
  mood: SinkMood;
  close(): void;
}

interface Session {
  readonly socket: Socket;
  rest: Buffer;
  isInContent: boolean;
  to: string;
  /** What is still to be said, in order, and not before its time. */
  readonly replies: { readonly text: string; readonly at: number }[];
  /** It has said its last word, or will: nothing that comes now is taken. */
  isOver: boolean;
}

const STALL_LOOK_MS = 50;
const END_OF_CONTENT = Buffer.from('\r\n.\r\n');
const GOING_DOWN = '421 4.3.2 going down\r\n';
const EXTENSIONS = '250-sink\r\n250-PIPELINING\r\n250-CHUNKING\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n';

/** Starts it on a free port; each answer to a message waits `delayMs`. */
export async function startFaultySink(
  delayMs: number,
  onAccepted: (to: string, messageId: string) => void,
): Promise<FaultySink> {
  const sockets = new Set<Socket>();
  const sink = { port: 0, acceptedCount: 0, mood: 'well' as SinkMood, close: () => undefined };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    if (sink.mood === 'refuse') return void socket.destroy();
    const session: Session = {
      ...{ socket, rest: Buffer.alloc(0), isInContent: false, to: '', replies: [], isOver: false },
    };
    say(session, '220 sink\r\n');
    socket.on('data', (chunk: Buffer) => {
      session.rest = session.rest.byteLength === 0 ? chunk : Buffer.concat([session.rest, chunk]);
      while (!socket.destroyed && !session.isOver && step(session));
    });
  });

  /** Works on one command or one content; false when more bytes are needed, or nothing is to be said. */
  function step(session: Session): boolean {
    if (sink.mood === 'stall') return stalled(session);
    if (session.isInContent) return takeContent(session);
    const end = session.rest.indexOf('\r\n');
    if (end < 0) return false;
    const line = session.rest.toString('latin1', 0, end);
    const chunkBytes = Number(/^BDAT (\d+)/i.exec(line)?.[1] ?? Number.NaN);
    if (!Number.isNaN(chunkBytes)) return takeChunk(session, end + 2, chunkBytes);
    session.rest = session.rest.subarray(end + 2);
    answer(session, line);
    return true;
  }

  function stalled(session: Session): boolean {
    setTimeout(() => (sink.mood === 'stall' ? stalled(session) : session.socket.destroy()), STALL_LOOK_MS);
    return false;
  }

  function answer(session: Session, line: string): void {
    if (sink.mood === 'closing') return sayLast(session, GOING_DOWN);
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === 'EHLO') say(session, EXTENSIONS);
    else if (verb === 'QUIT') sayLast(session, '221 bye\r\n');
    else if (verb === 'DATA') {
      session.isInContent = true;
      say(session, '354 go on\r\n');
    } else {
      if (verb === 'RCPT') session.to = /<([^>]*)>/.exec(line)?.[1] ?? '';
      say(session, '250 2.0.0 ok\r\n');
    }
  }

  function takeContent(session: Session): boolean {
    if (sink.mood === 'close-in-content' && session.rest.byteLength > 0) return dropped(session);
    const end = session.rest.indexOf(END_OF_CONTENT);
    if (end < 0) return false;
    const content = session.rest.subarray(0, end);
    session.rest = session.rest.subarray(end + END_OF_CONTENT.byteLength);
    session.isInContent = false;
    accept(session, content);
    return true;
  }

  function takeChunk(session: Session, from: number, bytes: number): boolean {
    if (sink.mood === 'close-in-content') return dropped(session);
    if (session.rest.byteLength < from + bytes) return false;
    const content = session.rest.subarray(from, from + bytes);
    session.rest = session.rest.subarray(from + bytes);
    accept(session, content);
    return true;
  }

  function dropped({ socket }: Session): boolean {
    socket.destroy();
    return false;
  }

  function accept(session: Session, content: Buffer): void {
    const { socket, to } = session;
    if (sink.mood === 'closing') return sayLast(session, GOING_DOWN);
    const head = content.toString('latin1', 0, content.indexOf('\r\n\r\n'));
    onAccepted(to, /^Message-ID: *(?:\r\n )?(\S+)/im.exec(head)?.[1] ?? '');
    sink.acceptedCount += 1;
    if (sink.mood === 'silent-accept') return void socket.destroy();
    say(session, '250 2.0.0 taken\r\n', delayMs);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  sink.port = (server.address() as AddressInfo).port;
  return Object.assign(sink, {
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
}

/**
 * Replies leave in the order of what they answer, whatever each has to wait for: a 421 that overtook the 250 of a message
 * before it would be read as that message's own.
 */
function say(session: Session, text: string, afterMs = 0): void {
  session.replies.push({ text, at: performance.now() + afterMs });
  if (session.replies.length === 1) speak(session);
}

function sayLast(session: Session, text: string): void {
  session.isOver = true;
  say(session, text);
}

function speak(session: Session): void {
  const { socket, replies } = session;
  for (let reply = replies[0]; reply && !socket.destroyed; reply = replies[0]) {
    const waitMs = reply.at - performance.now();
    if (waitMs > 0) return void setTimeout(() => speak(session), waitMs);
    socket.write(reply.text);
    replies.shift();
  }
  if (session.isOver) socket.end();
}
