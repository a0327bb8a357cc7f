/** What the end of a mail program means for its message: exit codes are those of sysexits.h, which all of them use. */
import {
  SENDER_REFUSED,
  SendingError,
  type SendingErrorDetails,
  type SendingErrorKind,
} from '../../../src/plugin-api/index.ts';
import type { EndedProgram, ProgramEnd } from './start-program.ts';

/** Longer words say nothing more; a reply of SMTP has at most a few lines. */
const WORDS_LENGTH_MAX = 1_000;
// oxlint-disable-next-line no-control-regex -- what a program writes ends up in the ledger and on pages
const CONTROL = /[\u0000-\u001f\u007f-\u009f]+/g;
/** A shell that runs the program tells so that a signal has ended it: 128 and the number of the signal. */
const SIGNAL_CODES = { above: 128, upTo: 128 + 64 };

interface Meaning {
  readonly kind: SendingErrorKind;
  readonly says: string;
  readonly details?: SendingErrorDetails;
}

const MEANINGS: Readonly<Record<number, Meaning>> = {
  64: { kind: 'unavailable', says: 'it does not understand its command line (EX_USAGE)' },
  65: { kind: 'refused', says: 'it does not take this message (EX_DATAERR)', details: { about: 'recipient' } },
  66: { kind: 'unavailable', says: 'it misses a file (EX_NOINPUT)' },
  67: { kind: 'refused', says: 'there is no such user (EX_NOUSER)', details: { code: 550, about: 'mailbox' } },
  // msmtp says so when its own relay is not found: the recipient's host may exist.
  68: { kind: 'deferred', says: 'a host was not found (EX_NOHOST)' },
  69: { kind: 'unavailable', says: 'its mail system cannot be used (EX_UNAVAILABLE)' },
  70: { kind: 'unavailable', says: 'it has an internal error (EX_SOFTWARE)' },
  71: { kind: 'unavailable', says: 'the operating system refused it something (EX_OSERR)' },
  72: { kind: 'unavailable', says: 'it misses a file of the system (EX_OSFILE)' },
  73: { kind: 'unavailable', says: 'it cannot create a file (EX_CANTCREAT)' },
  74: { kind: 'unavailable', says: 'it cannot read or write (EX_IOERR)' },
  75: { kind: 'deferred', says: 'it asks to try again later (EX_TEMPFAIL)' },
  76: { kind: 'deferred', says: 'its dialogue with another host failed (EX_PROTOCOL)' },
  77: { kind: 'unavailable', says: 'it has no right to do this, or a login failed (EX_NOPERM)' },
  78: { kind: 'unavailable', says: 'its configuration is wrong (EX_CONFIG)' },
  126: { kind: 'unavailable', says: 'what it starts cannot be run' },
  127: { kind: 'unavailable', says: 'what it starts was not found' },
};
/** Some end with 1 for whatever is wrong: a bad message must not make the server pause, and a bad server must not fail a recipient. */
const OTHERWISE: Meaning = { kind: 'deferred', says: 'it failed without a reason' };

/**
 * A reply of the server behind the program, as msmtp and OpenSMTPD cite it ("server message: 550 5.1.1 ...", "command failed: 501 ...").
 */
const CITED_REPLY = /(?:message|failed|said|reply|response):? ([45]\d\d)[ -](?:([45]\.\d{1,3}\.\d{1,3})[ ])?/i;
/** About the connection or the login, whoever the recipient is (RFC 5321 3.8, RFC 4954). */
const CONNECTION_CODES: ReadonlySet<number> = new Set([421, 502, 503, 530, 534, 535, 538]);
/** With these codes the programs cite what was said about a message. 77 and 78 are about a login. */
const CITING_CODES: ReadonlySet<number> = new Set([65, 67, 68, 69, 70, 75]);
/** msmtp, when its server refuses MAIL. */
const SENDER = /envelope from address \S+ not accepted/i;

/** The error for a program that has not taken its message; undefined: it has. */
export function failureOf(end: ProgramEnd, path: string): SendingError | undefined {
  if (!end.isStarted) return new SendingError('unavailable', `${path} cannot be started: ${end.reason}.`);
  if (end.code === 0 && end.hasInput) return undefined;
  if (end.code === 0)
    return new SendingError(
      'unknown',
      `${path} reports success, but it has not read the whole message. ${said(end)}`.trim(),
    );
  if (end.code === null || end.isLate || isSignal(end.code)) return interrupted(end, path);
  return refusalOf(end.code, wordsOf(end), path);
}

/** What the program wrote, as one line. */
export function wordsOf({ output }: EndedProgram): string {
  return output.replace(CONTROL, ' ').trim().slice(-WORDS_LENGTH_MAX);
}

function interrupted(end: EndedProgram, path: string): SendingError {
  const how = end.isLate ? 'took too long and was ended' : `was ended by a signal (${end.signal ?? end.code})`;
  // Whoever has all of a message may have taken it; whoever still runs may yet read the rest.
  if (end.hasInput || end.isRunning)
    return new SendingError(
      'unknown',
      `${path} ${how} after it had the message: it may have taken it. ${said(end)}`.trim(),
    );
  return new SendingError('unavailable', `${path} ${how} before it had the whole message. ${said(end)}`.trim());
}

function refusalOf(code: number, words: string, path: string): SendingError {
  const cited = CITING_CODES.has(code) ? citedReply(words, code) : undefined;
  if (cited) return cited;
  const { kind, says, details } = MEANINGS[code] ?? OTHERWISE;
  return new SendingError(kind, `${words === '' ? '' : `${words} `}(${path} ended with ${code}: ${says}.)`, details);
}

function citedReply(words: string, exitCode: number): SendingError | undefined {
  const found = CITED_REPLY.exec(words);
  if (!found) return undefined;
  const code = Number(found[1]);
  if (CONNECTION_CODES.has(code)) {
    // msmtp ends as for a wrong address when its relay wants a login: the relay refuses us, and nobody's address.
    if (MEANINGS[exitCode]?.kind !== 'refused') return undefined;
    return new SendingError('unavailable', words, { code, about: code === 421 ? 'server' : 'login' });
  }
  const isOfSender = SENDER.test(words);
  const message = isOfSender ? `${SENDER_REFUSED} ${words}` : words;
  return new SendingError(code < 500 ? 'deferred' : 'refused', message, { code, enhancedStatus: found[2] });
}

function isSignal(code: number): boolean {
  return code > SIGNAL_CODES.above && code <= SIGNAL_CODES.upTo;
}

function said(end: EndedProgram): string {
  const words = wordsOf(end);
  return words === '' ? '' : `It said: ${words}`;
}
