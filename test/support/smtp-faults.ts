/**
 * What servers do when they are ill, hostile or half dead, one row each: played by the scripted server while `isOn()`.
 * After that the server is well, so that whoever drives it can show that nothing was lost. Left out is the server that
 * says 250 more often than it was asked, or leaves out a reply and goes on: no client can tell it from one that is well.
 */
import type { ScriptedOptions, SmtpEvent, SmtpSession } from './scripted-smtp-server.ts';

export interface SmtpFault {
  readonly name: string;
  readonly play: (isOn: () => boolean) => ScriptedOptions;
  /** Settings of the driver besides address and connections. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Without extensions there is nothing to lie about. */
  readonly needs?: 'PIPELINING' | 'CHUNKING';
  /** No message gets through even when the fault is over: the settings do not fit the server. */
  readonly isForEver?: boolean;
}

type Deed = (event: SmtpEvent) => string | null | undefined;

const CONTENT = ['CONTENT', 'BDAT'];
const reset: Deed = ({ session }) => (session.socket.resetAndDestroy(), null);
const hangUp: Deed = ({ session }) => (session.socket.end(), null);
const muted = new WeakSet<SmtpSession>();
/** Not another word on this connection. */
const silence: Deed = ({ session }) => (muted.add(session), null);

/** Every third time one of the verbs comes up, so that messages before and behind are on their way. */
function at(verbs: readonly string[], deed: Deed, more: Partial<ScriptedOptions> = {}, every = 3): SmtpFault['play'] {
  return (isOn) => {
    let count = 0;
    return {
      ...more,
      answer: (event) => {
        if (muted.has(event.session)) return null;
        return isOn() && verbs.includes(event.verb) && ++count % every === 0 ? deed(event) : undefined;
      },
    };
  };
}

function always(verbs: readonly string[], deed: Deed): SmtpFault['play'] {
  return at(verbs, deed, {}, 1);
}

function filtered(change: (chunk: Buffer, session: SmtpSession) => Buffer): SmtpFault['play'] {
  return (isOn) => ({ filter: (chunk, session) => (isOn() ? change(chunk, session) : chunk) });
}

/** Says it in the middle of whatever goes on. */
function unasked(text: string): SmtpFault['play'] {
  return (isOn) => ({
    answer: ({ verb, session }) => {
      if (isOn() && verb === 'RCPT') setTimeout(() => session.socket.writable && session.socket.end(text), 2);
      return undefined;
    },
  });
}

/** One byte every millisecond, in order. */
function dripping(isOn: () => boolean): ScriptedOptions {
  const rests = new WeakMap<SmtpSession, string>();
  const drip = (session: SmtpSession): void => {
    const rest = rests.get(session) ?? '';
    const count = isOn() ? 1 : rest.length;
    rests.set(session, rest.slice(count));
    if (rest === '' || !session.socket.writable) return;
    session.socket.write(rest.slice(0, count));
    setTimeout(() => drip(session), 1);
  };
  return {
    write: (reply, session) => {
      const isDripping = (rests.get(session) ?? '') !== '';
      rests.set(session, (rests.get(session) ?? '') + reply);
      if (!isDripping) drip(session);
    },
  };
}

const STAGES = ['CONNECT', 'EHLO', 'MAIL', 'RCPT', 'DATA', 'CONTENT', 'BDAT', 'RSET', 'QUIT'];
const LOGIN = { username: 'anna', password: 'open sesame' };
const withAuth = { extensions: ['AUTH PLAIN LOGIN'] };

const stages: readonly SmtpFault[] = STAGES.flatMap((verb) => [
  { name: `resets at ${verb}`, play: at([verb], reset) },
  { name: `says 421 at ${verb}`, play: at([verb], ({ session }) => (session.socket.end('421 4.3.2 bye\r\n'), null)) },
  { name: `falls silent at ${verb}`, play: at([verb], silence) },
]);

const opening: readonly SmtpFault[] = [
  {
    name: 'hangs up after the greeting',
    play: always(['CONNECT'], ({ session }) => (session.socket.end('220 a\r\n'), null)),
  },
  { name: 'greets with 20 KB', play: always(['CONNECT'], () => `220 ${'x'.repeat(20_000)}`) },
  {
    name: 'greets with 1,000 lines',
    play: always(['CONNECT'], () => `${'220-welcome to this house\r\n'.repeat(1_000)}220 x`),
  },
  {
    name: 'greets for ever',
    play: always(['CONNECT'], ({ session: { socket } }) => {
      const drip = setInterval(() => (socket.writable ? socket.write('220-x\r\n') : clearInterval(drip)), 20);
      return null;
    }),
  },
  { name: 'refuses everybody', play: always(['CONNECT'], () => '554 no service') },
  {
    name: 'knows only HELO',
    play: (isOn) => ({
      answer: ({ verb }) => (verb === 'EHLO' && isOn() ? '502 what' : verb === 'HELO' ? '250 hi' : undefined),
    }),
  },
  { name: 'refuses EHLO and HELO', play: always(['EHLO', 'HELO'], () => '550 not you') },
  { name: 'does not speak TLS', play: () => ({}), settings: { encryption: 'tls' }, isForEver: true },
  { name: 'is stripped of STARTTLS', play: () => ({}), settings: { encryption: 'starttls' }, isForEver: true },
  {
    name: 'says more than 220 to STARTTLS',
    play: () => ({
      extensions: ['STARTTLS'],
      answer: ({ verb }) => (verb === 'STARTTLS' ? '220 go\r\n250 x' : undefined),
    }),
    settings: { encryption: 'starttls' },
    isForEver: true,
  },
  {
    name: 'says garbage instead of a handshake',
    play: () => ({
      extensions: ['STARTTLS'],
      answer: ({ verb, session }) => {
        if (verb === 'STARTTLS') setTimeout(() => session.socket.write('no TLS'), 5);
        return verb === 'STARTTLS' ? '220 go' : undefined;
      },
    }),
    settings: { encryption: 'starttls' },
    isForEver: true,
  },
  { name: 'drops the login', play: (isOn) => ({ ...withAuth, ...authAnswer(isOn, reset) }), settings: LOGIN },
  { name: 'is silent at the login', play: (isOn) => ({ ...withAuth, ...authAnswer(isOn, silence) }), settings: LOGIN },
  {
    name: 'cannot log in now',
    play: (isOn) => ({ ...withAuth, ...authAnswer(isOn, () => '454 4.7.0 later') }),
    settings: LOGIN,
  },
  {
    name: 'refuses the login',
    play: (isOn) => ({ ...withAuth, ...authAnswer(isOn, () => '535 5.7.8 no') }),
    settings: LOGIN,
  },
];

function authAnswer(isOn: () => boolean, deed: Deed): ScriptedOptions {
  return {
    answer: (event) => {
      if (muted.has(event.session)) return null;
      return event.verb === 'AUTH' ? (isOn() ? deed(event) : '235 2.7.0 welcome') : undefined;
    },
  };
}

const transfer: readonly SmtpFault[] = [
  {
    name: 'resets in the middle of the content',
    play: filtered((chunk, { socket }) =>
      chunk.includes('Hello') ? (socket.resetAndDestroy(), Buffer.alloc(0)) : chunk,
    ),
  },
  { name: 'keeps the message and resets', play: at(CONTENT, reset, { keepsUnanswered: true }) },
  { name: 'keeps the message and hangs up', play: at(CONTENT, hangUp, { keepsUnanswered: true }) },
  { name: 'keeps the message and falls silent', play: at(CONTENT, silence, { keepsUnanswered: true }) },
  {
    name: 'keeps the message and answers too late',
    play: at(
      CONTENT,
      ({ session: { socket } }) => (setTimeout(() => socket.writable && socket.write('250 late\r\n'), 700), null),
      { keepsUnanswered: true },
    ),
  },
  { name: 'closes its side after MAIL', play: at(['MAIL'], hangUp) },
  { name: 'says 421 unasked', play: unasked('421 4.4.2 idle\r\n') },
  { name: 'has too many recipients', play: at(['RCPT'], () => '452 4.5.3 too many recipients') },
  { name: 'refuses DATA', play: always(['DATA'], () => '451 4.3.0 not now') },
  { name: 'says 250 to DATA', play: at(['DATA'], () => '250 ok') },
  { name: 'says 354 to RCPT', play: at(['RCPT'], () => '354 go on') },
  { name: 'says 334 to MAIL', play: at(['MAIL'], () => '334 ') },
  { name: 'says 354 to the content', play: at(CONTENT, () => '354 more') },
  { name: 'refuses RSET', play: always(['RSET'], () => '503 no') },
  { name: 'says 503 to MAIL', play: at(['MAIL'], () => '503 5.5.1 bad sequence') },
  { name: 'asks for a login at MAIL', play: at(['MAIL'], () => '530 5.7.0 authentication required') },
  { name: 'says no code', play: at(['RCPT'], () => 'ok') },
  { name: 'says a code of its own', play: at(['RCPT'], () => '999 ok') },
  { name: 'changes the code in the middle', play: at(['RCPT'], () => '250-a\r\n550 b') },
  { name: 'never ends its reply', play: at(['RCPT'], () => `${'250-x\r\n'.repeat(3_000)}250 x`) },
  {
    name: 'never ends its line',
    play: at(['RCPT'], ({ session }) => (session.socket.write(`250 ${'x'.repeat(5_000)}`), muted.add(session), null)),
  },
  {
    name: 'answers in 8 bits and NULs',
    play: at(['MAIL', 'RCPT', ...CONTENT], () => `250 \u0000\u00ff\u00fe ok`, {}, 1),
  },
  { name: 'answers with codes alone', play: at(['MAIL', 'RCPT', ...CONTENT], () => '250', {}, 1) },
  { name: 'answers byte by byte', play: dripping },
  { name: 'answers QUIT with rubbish', play: always(['QUIT'], () => '250 stay\r\n999 \u0000') },
  {
    name: 'lies about PIPELINING',
    needs: 'PIPELINING',
    play: filtered((chunk) =>
      /^(MAIL|RCPT|RSET|DATA)/.test(chunk.toString('latin1', 0, 4))
        ? chunk.subarray(0, chunk.indexOf('\n') + 1)
        : chunk,
    ),
  },
  {
    name: 'does not know BDAT',
    needs: 'CHUNKING',
    play: filtered((chunk) => Buffer.from(chunk.toString('latin1').replaceAll('BDAT', 'XDAT'), 'latin1')),
  },
];

export const smtpFaults: readonly SmtpFault[] = [...stages, ...opening, ...transfer];
