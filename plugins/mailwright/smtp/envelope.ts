/** The commands that open a transaction, and the check that no address contains a command. */
import { SendingError, type OutgoingMessage } from '../../../src/plugin-api/index.ts';
import type { Capabilities } from './capabilities.ts';

/** 64 of the local part, `@`, 255 of the domain (RFC 5321 4.5.3.1). */
const ADDRESS_BYTES_MAX = 320;
/** Control characters, every kind of blank and line end, and the brackets that delimit a path. */
const FORBIDDEN = /[\p{Cc}\p{Z}<>]/u;
const PRINTABLE_ASCII = /^[\u0021-\u007e]*$/;
/** The usual form of addresses: nothing forbidden, one byte per character. */
const PLAIN_ADDRESS = /^[!-;=?-~]*$/;

export interface EnvelopeCommands {
  readonly mail: string;
  readonly rcpt: string;
}

/** The refusal of an envelope with an address that must not be sent. An empty sender is the null sender of RFC 5321. */
export function envelopeFault({ from, to }: OutgoingMessage['envelope']): SendingError | undefined {
  if (to === '') return notTaken('The recipient address is empty', '5.1.3');
  return addressFault(to, '5.1.3') ?? addressFault(from, '5.1.7');
}

function addressFault(address: string, status: string): SendingError | undefined {
  if (address.length <= ADDRESS_BYTES_MAX && PLAIN_ADDRESS.test(address)) return undefined;
  if (Buffer.byteLength(address) > ADDRESS_BYTES_MAX) return notTaken('The address is too long', status);
  return FORBIDDEN.test(address) ? notTaken('The address has characters that no address may have', status) : undefined;
}

/**
 * MAIL and RCPT with the parameters that this server accepts. Throws `refused`, with its status, for a message that the server
 * certainly cannot take: too large (RFC 1870), or in need of SMTPUTF8 (RFC 6531).
 */
export function envelopeCommands(message: OutgoingMessage, capabilities: Capabilities): EnvelopeCommands {
  const { from, to } = message.envelope;
  const { byteLength } = message.content;
  const { sizeMax } = capabilities;
  if (sizeMax !== undefined && sizeMax > 0 && byteLength > sizeMax)
    throw notTaken(`The message has ${byteLength} bytes, and the server takes at most ${sizeMax}`, '5.3.4');
  const size = sizeMax === undefined ? '' : ` SIZE=${byteLength}`;
  const needsUtf8 = message.needsSmtpUtf8 || !PRINTABLE_ASCII.test(from) || !PRINTABLE_ASCII.test(to);
  return {
    mail: `MAIL FROM:<${from}>${size}${needsUtf8 ? utf8Parameters(capabilities) : ''}\r\n`,
    rcpt: `RCPT TO:<${to}>\r\n`,
  };
}

/** RFC 6531: only for messages that need it, since not every next hop can take such a message. */
function utf8Parameters(capabilities: Capabilities): string {
  if (capabilities.smtputf8) return capabilities.eightBitMime ? ' BODY=8BITMIME SMTPUTF8' : ' SMTPUTF8';
  throw notTaken('The server takes no addresses outside ASCII (it offers no SMTPUTF8)', '5.6.7');
}

function notTaken(reason: string, enhancedStatus: string): SendingError {
  return new SendingError('refused', reason, { enhancedStatus });
}
