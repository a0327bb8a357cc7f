/** An SMTP server on a raw socket that behaves as well or as badly as a test asks: every reply can be replaced. */
import { createServer, type AddressInfo, type Socket } from 'node:net';

export interface SmtpEvent {
  /** First word of the command in capitals; `CONNECT` for the greeting, `CONTENT` for the end of DATA. */
  readonly verb: string;
  readonly line: string;
  readonly session: SmtpSession;
  /** With `CONTENT` and `BDAT`. */
  readonly content?: string;
}

export interface SmtpSession {
  /** 0 for the first connection. */
  readonly index: number;
  readonly socket: Socket;
  from: string | undefined;
  to: string | undefined;
  acceptedCount: number;
}

export interface ScriptedOptions {
  readonly extensions?: readonly string[];
  /** The reply (without line end) instead of the usual one; `null` says nothing; `undefined` is the usual one. */
  readonly answer?: (event: SmtpEvent) => string | null | undefined;
  /** Sees the bytes before they are worked on, and may drop some. */
  readonly filter?: (chunk: Buffer, session: SmtpSession) => Buffer;
  /** Writes replies byte by byte with this pause. */
  readonly byteDelayMs?: number;
  /** Whether a message is kept although nothing was said about it (`answer` gave null). */
  readonly keepsUnanswered?: boolean;
  /** Writes a reply, line end included, instead of one write a reply. */
  readonly write?: (reply: string, session: SmtpSession) => void;
}

export interface ScriptedServer extends AsyncDisposable {
  readonly port: number;
  readonly accepted: { from: string; to: string; content: string }[];
  /** Every command line, in order, of all connections. */
  readonly lines: string[];
  readonly sessions: SmtpSession[];
  openSockets(): number;
}

export async function scriptedSmtpServer(options: ScriptedOptions = {}): Promise<ScriptedServer> {
  const state = { accepted: [], lines: [], sessions: [] } satisfies Partial<Record<keyof ScriptedServer, unknown[]>>;
  const open = new Set<Socket>();
  const shared: Shared = { ...state, options };
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => {});
    serve(socket, shared);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    ...shared,
    port: (server.address() as AddressInfo).port,
    openSockets: () => open.size,
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Shared {
  readonly accepted: ScriptedServer['accepted'];
  readonly lines: string[];
  readonly sessions: SmtpSession[];
  readonly options: ScriptedOptions;
}

function serve(socket: Socket, shared: Shared): void {
  const session: SmtpSession = {
    index: shared.sessions.length,
    socket,
    from: undefined,
    to: undefined,
    acceptedCount: 0,
  };
  shared.sessions.push(session);
  const dialogue = { session, shared, isData: false, rest: '', bytesWritten: 0 };
  socket.setNoDelay(true);
  say(dialogue, { verb: 'CONNECT', line: '', session }, '220 scripted');
  socket.on('data', (chunk: Buffer) => {
    const bytes = shared.options.filter?.(chunk, session) ?? chunk;
    dialogue.rest += bytes.toString('latin1');
    while (!socket.writableEnded && step(dialogue));
  });
}

interface Dialogue {
  readonly session: SmtpSession;
  readonly shared: Shared;
  isData: boolean;
  rest: string;
  /** Where the next reply starts, for replies that come byte by byte. */
  bytesWritten: number;
}

/** Works on one command, or on one message's content; false when more bytes are needed. */
function step(dialogue: Dialogue): boolean {
  if (dialogue.isData) return endOfData(dialogue);
  const end = dialogue.rest.indexOf('\r\n');
  if (end < 0) return false;
  const line = dialogue.rest.slice(0, end);
  const chunkSize = /^BDAT (\d+)/i.exec(line)?.[1];
  const consumed = end + 2 + Number(chunkSize ?? 0);
  if (dialogue.rest.length < consumed) return false;
  const chunk = dialogue.rest.slice(end + 2, consumed);
  dialogue.rest = dialogue.rest.slice(consumed);
  dialogue.shared.lines.push(line);
  command(dialogue, line, chunk);
  return true;
}

function command(dialogue: Dialogue, line: string, chunk: string): void {
  const { session, shared } = dialogue;
  const verb = (/^[a-z0-9]+/i.exec(line)?.[0] ?? '').toUpperCase();
  const event: SmtpEvent = { verb, line, session };
  const address = /<([^>]*)>/.exec(line)?.[1] ?? '';
  if (verb === 'EHLO')
    return void say(
      dialogue,
      event,
      ['scripted', ...(shared.options.extensions ?? [])]
        .map((text, index, all) => `250${index === all.length - 1 ? ' ' : '-'}${text}`)
        .join('\r\n'),
    );
  if (verb === 'MAIL')
    return void (
      says(dialogue, event, session.from === undefined ? '250 2.1.0 sender' : '503 nested') && (session.from = address)
    );
  if (verb === 'RCPT')
    return void (
      says(dialogue, event, session.from === undefined ? '503 no sender' : '250 2.1.5 recipient') &&
      (session.to = address)
    );
  if (verb === 'RSET') return void (says(dialogue, event, '250 2.0.0 reset') && clear(session));
  if (verb === 'DATA')
    return void (dialogue.isData = says(dialogue, event, session.to === undefined ? '503 no recipient' : '354 go on'));
  if (verb === 'BDAT') return accept(dialogue, event, chunk);
  if (verb === 'QUIT') return void (say(dialogue, event, '221 bye'), session.socket.end());
  say(dialogue, event, verb === 'NOOP' ? '250 2.0.0 ok' : '500 what?');
}

function endOfData(dialogue: Dialogue): boolean {
  const lone = dialogue.rest.startsWith('.\r\n');
  const end = lone ? 0 : dialogue.rest.indexOf('\r\n.\r\n') + 2;
  if (end < 2 && !lone) return false;
  const content = dialogue.rest.slice(0, end).replace(/(^|\r\n)\./g, '$1');
  dialogue.rest = dialogue.rest.slice(end + 3);
  dialogue.isData = false;
  accept(dialogue, { verb: 'CONTENT', line: '.', session: dialogue.session }, content);
  return true;
}

function accept(dialogue: Dialogue, event: SmtpEvent, content: string): void {
  const { session, shared } = dialogue;
  const { from, to } = session;
  if (from === undefined || to === undefined) return void say(dialogue, event, '503 5.5.1 no valid recipients');
  const said = say(dialogue, { ...event, content }, `250 2.0.0 queued as ${session.index}-${session.acceptedCount}`);
  if (said === 'yes' || (said === 'nothing' && shared.options.keepsUnanswered === true)) {
    session.acceptedCount++;
    shared.accepted.push({ from, to, content });
  }
  clear(session);
}

function clear(session: SmtpSession): void {
  session.from = undefined;
  session.to = undefined;
}

/** True when what was said is positive. */
function says(dialogue: Dialogue, event: SmtpEvent, usual: string): boolean {
  return say(dialogue, event, usual) === 'yes';
}

function say(dialogue: Dialogue, event: SmtpEvent, usual: string): 'yes' | 'no' | 'nothing' {
  const scripted = dialogue.shared.options.answer?.(event);
  const reply = scripted === undefined ? usual : scripted;
  if (reply === null) return 'nothing';
  write(dialogue, `${reply}\r\n`);
  return /^[23]/.test(reply) ? 'yes' : 'no';
}

function write(dialogue: Dialogue, text: string): void {
  const { socket } = dialogue.session;
  const pause = dialogue.shared.options.byteDelayMs;
  if (socket.writableEnded || socket.destroyed) return;
  if (dialogue.shared.options.write) return dialogue.shared.options.write(text, dialogue.session);
  if (pause === undefined) return void socket.write(text, 'latin1');
  for (const byte of text) setTimeout(() => socket.destroyed || socket.write(byte), pause * dialogue.bytesWritten++);
}
