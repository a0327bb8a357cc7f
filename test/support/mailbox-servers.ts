/**
 * An IMAP and a POP3 server for one mailbox, as small as a client allows: real sockets, real commands, and faults where a
 * test wants them. Tried by hand against Dovecot as well (docs/manual/bounces.md says how a mailbox is set up).
 */
import { once } from 'node:events';
import net, { type Server, type Socket } from 'node:net';

export interface MailboxServers {
  readonly imapPort: number;
  readonly pop3Port: number;
  /** What lies in the mailbox, by uid. */
  readonly messages: Map<number, string>;
  /** Commands as they came, without arguments. */
  readonly commands: string[];
  /** Cuts the connection when a command that begins so comes. */
  cutAt: RegExp | undefined;
  /** Never answers a command that begins so, and has something to say all the time. */
  endlessAt: RegExp | undefined;
  /** Answers this instead. */
  answers: Map<string, string>;
  /** POP3: writes its answers byte by byte. */
  isSlow: boolean;
  put(message: string): number;
  close(): Promise<void>;
}

export const LOGIN = { username: 'bounces', password: 'canary-mailbox-pass "\\' } as const;
/** Every other one opens the mailbox. */
export const WRONG_PASSWORD = 'no';

export async function startMailboxServers(): Promise<MailboxServers> {
  const sockets = new Set<Socket>();
  let nextUid = 1;
  const state: MailboxServers = {
    imapPort: 0,
    pop3Port: 0,
    messages: new Map(),
    commands: [],
    cutAt: undefined,
    endlessAt: undefined,
    answers: new Map(),
    isSlow: false,
    put(message) {
      state.messages.set(nextUid, message);
      return nextUid++;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all([imap, pop3].map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
  const listen = async (serve: (socket: Socket, state: MailboxServers) => void): Promise<Server> => {
    const server = net.createServer((socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => undefined);
      serve(socket, state);
    });
    server.listen(0, '127.0.0.1');
    // Shared by worlds that nobody takes down, it must not keep a process alive.
    server.unref();
    await once(server, 'listening');
    return server;
  };
  const [imap, pop3] = [await listen(serveImap), await listen(servePop3)];
  return Object.assign(state, { imapPort: portOf(imap), pop3Port: portOf(pop3) });
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}

/** Hands over whole lines. */
function onLines(socket: Socket, take: (line: string) => void): void {
  let rest = '';
  socket.on('data', (chunk: Buffer) => {
    rest += chunk.toString('latin1');
    for (let end = rest.indexOf('\r\n'); end >= 0; end = rest.indexOf('\r\n')) {
      const line = rest.slice(0, end);
      rest = rest.slice(end + 2);
      take(line);
    }
  });
}

function serveImap(socket: Socket, state: MailboxServers): void {
  const deleted = new Set<number>();
  const say = (line: string) => socket.write(`${line}\r\n`, 'latin1');
  const uids = () => [...state.messages.keys()];
  const expunge = () => {
    for (const [index, uid] of uids().entries()) {
      if (!deleted.delete(uid)) continue;
      state.messages.delete(uid);
      say(`* ${index + 1} EXPUNGE`);
    }
  };
  const fetch = (uid: number) => {
    const message = state.messages.get(uid);
    if (message === undefined) return;
    const bytes = Buffer.from(message).toString('latin1').slice(0, 262_144);
    socket.write(
      `* ${uids().indexOf(uid) + 1} FETCH (UID ${uid} BODY[]<0> {${bytes.length}}\r\n${bytes})\r\n`,
      'latin1',
    );
  };
  const commands: Record<string, (rest: string) => string | undefined> = {
    CAPABILITY: () => void say('* CAPABILITY IMAP4rev1 UIDPLUS LITERAL+'),
    LOGIN: (rest) =>
      new RegExp(` "?${WRONG_PASSWORD}"?$`).test(rest) ? 'NO [AUTHENTICATIONFAILED] wrong user or password' : undefined,
    SELECT: (rest) => {
      if (/nowhere/.test(rest)) return 'NO no such folder';
      say('* FLAGS (\\Seen \\Deleted)');
      say(`* ${state.messages.size} EXISTS`);
      say('* OK [UIDVALIDITY 77] ok');
      say('* OK [UIDNEXT 100000] ok');
      return undefined;
    },
    'UID SEARCH': () => void say(`* SEARCH ${uids().join(' ')}`.trim()),
    'UID FETCH': (rest) => fetch(Number(/^(\d+)/.exec(rest)?.[1])) as undefined,
    'UID STORE': (rest) => {
      for (const part of (rest.split(' ')[0] ?? '').split(',')) {
        const [from = 0, to = from] = part.split(':').map(Number);
        for (const uid of uids()) if (uid >= from && uid <= to) deleted.add(uid);
      }
      return undefined;
    },
    'UID EXPUNGE': () => void expunge(),
    EXPUNGE: () => void expunge(),
    LIST: () => void say('* LIST () "/" INBOX'),
    NAMESPACE: () => void say('* NAMESPACE (("" "/")) NIL NIL'),
    LOGOUT: () => void say('* BYE'),
  };
  say('* OK [CAPABILITY IMAP4rev1 UIDPLUS LITERAL+] ready');
  onLines(socket, (line) => {
    const [, tag = '*', name = '', rest = ''] = /^(\S+) ((?:UID )?\S+) ?(.*)$/i.exec(line) ?? [];
    const command = name.toUpperCase();
    state.commands.push(`IMAP ${command}`);
    if (state.cutAt?.test(`IMAP ${command}`)) return void socket.destroy();
    if (state.endlessAt?.test(`IMAP ${command}`)) return babble(socket, '* SEARCH 1\r\n');
    const answer = state.answers.get(`IMAP ${command}`) ?? commands[command]?.(rest);
    say(`${tag} ${answer ?? 'OK done'}`);
    if (command === 'LOGOUT') socket.end();
  });
}

function servePop3(socket: Socket, state: MailboxServers): void {
  const deleted = new Set<number>();
  // A conversation sees what was there when it began.
  const uids = [...state.messages.keys()];
  let queue = Promise.resolve();
  const say = (text: string) => {
    queue = queue.then(() => write(socket, text, state.isSlow));
  };
  const uidOf = (rest: string) => uids[Number(rest.split(' ')[0]) - 1] ?? 0;
  const stuffed = (message: string) =>
    Buffer.from(message)
      .toString('latin1')
      .replace(/(^|\r\n)\./g, '$1..');
  const message = (rest: string) => {
    const text = state.messages.get(uidOf(rest));
    return text === undefined
      ? '-ERR no such message'
      : `+OK\r\n${stuffed(text)}${text.endsWith('\r\n') ? '' : '\r\n'}.`;
  };
  const commands: Record<string, (rest: string) => string> = {
    USER: () => '+OK',
    PASS: (rest) => (rest === WRONG_PASSWORD ? '-ERR [AUTH] wrong user or password' : '+OK'),
    UIDL: () => `+OK\r\n${uids.map((uid, index) => `${index + 1} uid-${uid}\r\n`).join('')}.`,
    TOP: message,
    RETR: message,
    DELE: (rest) => {
      deleted.add(uidOf(rest));
      return '+OK';
    },
    QUIT: () => {
      for (const uid of deleted) state.messages.delete(uid);
      return '+OK bye';
    },
  };
  say('+OK ready\r\n');
  onLines(socket, (line) => {
    const [, name = '', rest = ''] = /^(\S+) ?(.*)$/.exec(line) ?? [];
    state.commands.push(`POP3 ${name}`);
    if (state.cutAt?.test(`POP3 ${name}`)) return void socket.destroy();
    if (state.endlessAt?.test(`POP3 ${name}`)) return babble(socket, '+OK\r\n1 uid-1\r\n');
    say(`${state.answers.get(`POP3 ${name}`) ?? commands[name]?.(rest) ?? '-ERR unknown'}\r\n`);
    if (name === 'QUIT') queue = queue.then(() => void socket.end());
  });
}

function babble(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 10);
  socket.on('close', () => clearInterval(timer));
}

async function write(socket: Socket, text: string, isSlow: boolean): Promise<void> {
  if (!isSlow) return void socket.write(text, 'latin1');
  // Pieces that end in the middle of a line end, of a dot, of anything.
  const length = text.length > 2_000 ? 97 : 1;
  for (let at = 0; at < text.length; at += length) {
    socket.write(text.slice(at, at + length), 'latin1');
    await new Promise((resolve) => setImmediate(resolve));
  }
}
