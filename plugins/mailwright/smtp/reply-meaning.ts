/** What a negative reply means for a message: from SMTP codes to the contract's kinds of error. */
import { SENDER_REFUSED, SendingError, type SendingErrorKind } from '../../../src/plugin-api/index.ts';
import type { Reply } from './reply.ts';

/** The server closes the connection, whatever the command was (RFC 5321 3.8). */
export const CLOSING = 421;
/** Our commands do not fit the server's state; some servers also ask for a login with it. */
export const BAD_SEQUENCE = 503;
/** The command itself was not understood: 500 unknown, 501 its parameters, 502 not implemented, 504 parameter not implemented. */
export const UNKNOWN_COMMAND: ReadonlySet<number> = new Set([500, 501, 502, 504]);

/**
 * Permanent replies about the connection or the login, never about the message or its recipient: 502 command not implemented, 503
 * bad sequence, 521 host takes no mail (RFC 7504), 530 login or TLS needed, 534, 535, 538 login refused (RFC 4954).
 */
const CONNECTION_CODES: ReadonlySet<number> = new Set([502, BAD_SEQUENCE, 521, 530, 534, 535, 538]);
/** The same as enhanced status: login refused or needed, encryption needed, account disabled (RFC 4954, 5248, 7372). */
const CONNECTION_STATUS: ReadonlySet<string> = new Set(['5.7.8', '5.7.9', '5.7.10', '5.7.11', '5.7.13', '5.7.14']);
/** A status about an address or a mailbox wins over a code about the connection. */
const ADDRESS_STATUS = /^5\.[12]\./;

/** "Host takes no mail" (RFC 7504). As a reply to RCPT it comes from the recipient's host; our server works. */
const NO_MAIL_HOST = 521;

/** Size and parameters of MAIL: about this message, not about its sender. */
const MESSAGE_CODES: ReadonlySet<number> = new Set([523, 552, 555]);
const MESSAGE_STATUS: ReadonlySet<string> = new Set(['5.2.3', '5.3.4', '5.6.7']);

/** The error for a negative reply to MAIL, RCPT, DATA, BDAT or the final dot. */
export function refusalOf(reply: Reply, { step }: { step: string }): SendingError {
  const status = reply.enhancedStatus();
  const details = { code: reply.code, enhancedStatus: status };
  const kind = step === 'rcpt' && reply.code === NO_MAIL_HOST ? 'refused' : kindOf(reply.code, status);
  const isOfSender = step === 'mail' && kind === 'refused' && !isOfMessage(reply.code, status);
  return new SendingError(kind, isOfSender ? `${SENDER_REFUSED} ${reply.text()}` : reply.text(), details);
}

function isOfMessage(code: number, status: string | undefined): boolean {
  return MESSAGE_CODES.has(code) || (status !== undefined && MESSAGE_STATUS.has(status));
}

/** The error for a server that could not be used at all. */
export function unavailable(reason: string, reply?: Reply): SendingError {
  if (reply === undefined) return new SendingError('unavailable', reason);
  const details = { code: reply.code, enhancedStatus: reply.enhancedStatus() };
  return new SendingError('unavailable', `${reason}: ${reply.text()}`, details);
}

function kindOf(code: number, status: string | undefined): SendingErrorKind {
  if (code === CLOSING) return 'unavailable';
  if (code < 500) return 'deferred';
  if (status !== undefined && ADDRESS_STATUS.test(status)) return 'refused';
  if (CONNECTION_CODES.has(code) || (status !== undefined && CONNECTION_STATUS.has(status))) return 'unavailable';
  return 'refused';
}
