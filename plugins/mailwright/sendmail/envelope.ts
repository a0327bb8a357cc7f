/**
 * The arguments that name sender and recipient. Mail programs read an argument as a list in the syntax of a header: Postfix, Exim and
 * OpenSMTPD take `a@x.test,b@y.test` for two recipients. So only addresses that cannot be read in another way are handed over.
 */
import { SendingError, type OutgoingMessage } from '../../../src/plugin-api/index.ts';

/** 64 of the local part, `@`, 255 of the domain (RFC 5321 4.5.3.1). */
const ADDRESS_LENGTH_MAX = 320;
/** A dot-atom (RFC 5322 3.2.3) and a host name or an address literal: no quotes, commas, brackets, comments or blanks. */
const PLAIN_ADDRESS =
  /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*|\[[0-9A-Za-z.:]+\])$/;
const NULL_SENDER = '<>';

/** The arguments for one message. Throws `refused` for addresses that mail programs could read in another way. */
export function argumentsFor({ envelope, needsSmtpUtf8 }: OutgoingMessage): readonly string[] {
  const { from, to } = envelope;
  if (needsSmtpUtf8)
    throw notTaken(
      'Sendmail commands have no way to say that a message needs SMTPUTF8: send to this address through an SMTP server',
      '5.6.7',
    );
  if (!isPlain(to))
    throw notTaken(
      'The recipient address cannot be handed to a mail program without being read in another way',
      '5.1.3',
    );
  if (from !== '' && !isPlain(from))
    throw notTaken('The sender address cannot be handed to a mail program without being read in another way', '5.1.7');
  // -i: a line with only a dot does not end the message. What follows -- is never an option.
  return ['-i', '-f', from === '' ? NULL_SENDER : from, '--', to];
}

function isPlain(address: string): boolean {
  return address.length <= ADDRESS_LENGTH_MAX && PLAIN_ADDRESS.test(address);
}

function notTaken(reason: string, enhancedStatus: string): SendingError {
  return new SendingError('refused', reason, { enhancedStatus });
}
