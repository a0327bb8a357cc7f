/** Parsers of what servers of others answer: mailboxes by POP3 and IMAP, keys in the DNS; and tokens. */
import { once } from 'node:events';
import net from 'node:net';
import { openImapMailbox } from '../../src/domain/bounces/imap-mailbox.ts';
import { openPop3Mailbox } from '../../src/domain/bounces/pop3-mailbox.ts';
import { readDomainRecords } from '../../src/domain/sending/domains/read-domain-records.ts';
import type { SendingDomain } from '../../src/domain/sending/domains/sending-domain.ts';
import { bearerToken } from '../../src/schema/request-context.ts';
import { longestBlock, nearMiss, repeated, whole, type GrowthCase } from './growth.ts';

/** Of an answer; it comes in pieces, and between two of them others have their turn. */
const ANSWER_LENGTH_MAX = 1_048_576;
/** The server that answers works in the same thread here. */
const SHARED_THREAD_MS_MAX = 100;
const TEXT_LENGTH_MAX = 65_536;
const RECORD_LENGTH_MAX = 65_535;

const domain: SendingDomain = {
  ...{ customerId: 1n, id: 1n, uid: 'd000000000001', name: 'a.example', token: 't', status: 'pending' },
  ...{ isDefault: false, usesEd25519: false, returnPathHost: 'b.a.example', returnPathReady: false },
  ...{ trackingHost: 't.a.example', trackingUrl: '', failingSince: null },
};
const key = { selector: 's', algorithm: 'rsa-sha256', publicKey: 'AAAA', status: 'new' } as const;

export const answerCases: readonly GrowthCase[] = [
  {
    name: 'answers: mailbox by POP3',
    lengthMax: ANSWER_LENGTH_MAX,
    boundMs: SHARED_THREAD_MS_MAX,
    parse: listByPop3,
    heldMs: (text) => longestBlock(() => listByPop3(text).catch(() => undefined)),
    shapes: {
      names: (length) => `+OK\r\n${whole('1 a\r\n')(length)}.\r\n`,
      'empty lines': (length) => `+OK\r\n${whole('\r\n')(length)}.\r\n`,
      'one long line': (length) => `+OK\r\n1 ${repeated('a')(length)}\r\n.\r\n`,
      blanks: (length) => `+OK\r\n1${repeated(' ')(length)}\r\n.\r\n`,
      refusal: (length) => `-ERR ${repeated('x')(length)}\r\n`,
    },
  },
  {
    name: 'answers: mailbox by IMAP, lines',
    lengthMax: ANSWER_LENGTH_MAX,
    boundMs: SHARED_THREAD_MS_MAX,
    parse: listByImap,
    heldMs: (text) => longestBlock(() => listByImap(text).catch(() => undefined)),
    shapes: { lines: whole('* SEARCH 1\r\n'), flags: whole('* FLAGS (a)\r\n'), warnings: whole('* OK [ALERT] x\r\n') },
  },
  {
    // The uids of 100,000 messages.
    name: 'answers: mailbox by IMAP, one line',
    lengthMax: ANSWER_LENGTH_MAX,
    boundMs: SHARED_THREAD_MS_MAX,
    parse: listByImap,
    heldMs: (text) => longestBlock(() => listByImap(text).catch(() => undefined)),
    shapes: {
      numbers: (length) => `* SEARCH ${whole('123456789 ')(length)}1\r\n`,
      'short numbers': (length) => `* SEARCH ${whole('1 ')(length)}1\r\n`,
      brackets: (length) => `* SEARCH ${repeated('(')(Math.min(length, 20))}${whole('1 ')(length)}\r\n`,
      quotes: (length) => `* SEARCH "${repeated('a')(length)}"\r\n`,
      'words of a warning': (length) => `* OK [ALERT] ${repeated('word ')(length)}\r\n`,
    },
  },
  {
    name: 'answers: DKIM key in the DNS',
    lengthMax: RECORD_LENGTH_MAX,
    parse: (text) => {
      const queryDns = async () => ({ status: 'found', values: [text] }) as const;
      const site = { host: 'm.example', bounceDomain: 'r.example', spfTerms: [], queryDns };
      return readDomainRecords({ site, probe: async () => ({ refusal: 'no' }) }, domain, [key]);
    },
    shapes: {
      tags: repeated('v=DKIM1;'),
      semicolons: repeated(';'),
      blanks: nearMiss('v=DKIM1; p=', ' ', 'A'),
      'a long key': nearMiss('v=DKIM1; k=rsa; p=', 'A', ''),
      quotes: repeated('"'),
    },
  },
  {
    name: 'answers: API token',
    lengthMax: TEXT_LENGTH_MAX,
    parse: (text) => bearerToken(text),
    shapes: {
      letters: nearMiss('Bearer ', 'a', ''),
      blanks: nearMiss('Bearer', ' ', 'a b'),
      'blanks around': (length) => `${repeated(' ')(length / 2)}Bearer x${repeated(' ')(length / 2)}`,
      tabs: nearMiss('Bearer ', '\t', 'a'),
    },
  },
];

async function listByPop3(uidl: string): Promise<void> {
  const reply = (line: string): string => (line === 'UIDL' ? uidl : '+OK\r\n');
  await withServer({ greeting: '+OK\r\n', reply }, async (port) => {
    const mailbox = await openPop3Mailbox(addressAt(port, 'pop3'));
    await mailbox.list();
    await mailbox.close();
  });
}

async function listByImap(found: string): Promise<void> {
  const greeting = '* OK [CAPABILITY IMAP4rev1] ready\r\n';
  await withServer({ greeting, reply: (line) => imapReply(line, found) }, async (port) => {
    const mailbox = await openImapMailbox(addressAt(port, 'imap'));
    await mailbox.list();
    await mailbox.close();
  });
}

function addressAt(port: number, protocol: 'imap' | 'pop3'): Parameters<typeof openImapMailbox>[0] {
  return { protocol, host: '127.0.0.1', port, encryption: 'none', username: 'a', password: 'b', folder: 'INBOX' };
}

/** Everything is fine, and a search finds `found`. */
function imapReply(line: string, found: string): string {
  const [tag = '*', verb = '', next = ''] = line.split(' ');
  const untagged =
    verb === 'SELECT' ? '* 1 EXISTS\r\n* OK [UIDVALIDITY 7] ok\r\n' : `${verb} ${next}` === 'UID SEARCH' ? found : '';
  return `${untagged}${tag} OK done\r\n`;
}

interface Script {
  readonly greeting: string;
  reply(line: string): string;
}

/** A server that answers each line by its script. */
async function withServer({ greeting, reply }: Script, work: (port: number) => Promise<void>): Promise<void> {
  const sockets: net.Socket[] = [];
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined).write(greeting, 'latin1');
    socket.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString('latin1').split('\r\n').filter(Boolean)) socket.write(reply(line), 'latin1');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  try {
    await work(typeof address === 'object' && address ? address.port : 0);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}
