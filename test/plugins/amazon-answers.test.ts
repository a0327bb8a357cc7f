/** What Amazon SES answers, and what each answer means. */
import { plugin } from '../../plugins/mailwright/amazon/index.ts';
import type { ScriptedAnswer } from '../support/api-vendor.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';
import { sesError, startSesVendor } from '../support/ses-vendor.ts';
import { testAnswers } from '../support/vendor-answers.ts';

const unverified = (who: string) =>
  sesError(
    400,
    'MessageRejected',
    `Email address is not verified. The following identities failed the check in region EU-WEST-1: ${who}`,
  );
/** Some parts of AWS name the error in the body. */
const inBody = (status: number, type: string, Message: string): ScriptedAnswer => ({
  status,
  body: { __type: `com.amazon.coral.service#${type}`, Message },
});
/** The table's recipients are p1@there.test, p2@there.test and so on. */
const everyRecipient = Array.from({ length: 100 }, (_, index) => `p${index}@there.test`).join(', ');

testAnswers(driverOf(plugin, 'amazon-api'), {
  startVendor: startSesVendor,
  table: {
    accepted: [{ status: 200, body: { MessageId: '0102018f-1' } }, 'sent'],
    'accepted without an id': [{ status: 200, body: {} }, 'unknown'],
    'accepted, with an empty id': [{ status: 200, body: { MessageId: '' } }, 'unknown'],
    'accepted, with a number as id': [{ status: 200, body: { MessageId: 5 } }, 'unknown'],
    'half of an acceptance': [{ half: { status: 200, body: { MessageId: '0102018f-1' } } }, 'unknown'],
    'too fast': [sesError(429, 'TooManyRequestsException', 'Maximum sending rate exceeded.'), 'server: deferred'],
    'too fast, by the common error': [
      sesError(400, 'ThrottlingException', 'Maximum sending rate exceeded.'),
      'server: deferred',
    ],
    'too fast, with the name in the body': [inBody(400, 'ThrottlingException', 'Rate exceeded'), 'server: deferred'],
    'the limit of 24 hours': [
      sesError(429, 'TooManyRequestsException', 'Daily message quota exceeded.'),
      'server: deferred 600',
    ],
    'the limit of 24 hours, by the common error': [
      sesError(400, 'ThrottlingException', 'Daily sending quota exceeded.'),
      'server: deferred 600',
    ],
    'a limit of the account': [sesError(400, 'LimitExceededException', 'Too many.'), 'server: deferred'],
    'a suspended account': [
      sesError(400, 'AccountSuspendedException', 'The account is suspended.'),
      'server: unavailable',
    ],
    'an account whose sending is paused': [
      sesError(400, 'SendingPausedException', 'Email sending is disabled for your account.'),
      'server: unavailable',
    ],
    'a sender that is not verified': [unverified('House <news@house.test>'), 'campaign: refused'],
    'a domain that is not verified': [unverified('house.test, p0@there.test'), 'campaign: refused'],
    'a MAIL FROM domain that is not verified': [
      sesError(400, 'MailFromDomainNotVerifiedException', 'MAIL FROM domain is not verified.'),
      'campaign: refused',
    ],
    'a recipient that is not verified, and another address': [unverified(everyRecipient), 'campaign: refused'],
    'content that is refused': [sesError(400, 'MessageRejected', 'Message contains a virus.'), 'campaign: refused'],
    'a message that is too long': [
      sesError(400, 'BadRequestException', 'Message length is more than 41943040 bytes long'),
      'campaign: refused',
    ],
    'a recipient without a domain': [
      sesError(400, 'BadRequestException', "Missing final '@domain'"),
      'recipient: refused',
    ],
    'a recipient with a wrong domain': [
      sesError(400, 'BadRequestException', 'Domain contains dot-dot'),
      'recipient: refused',
    ],
    'a recipient with a wrong local part': [
      sesError(400, 'BadRequestException', 'Local address contains control or whitespace'),
      'recipient: refused',
    ],
    'a configuration set that is not there': [
      sesError(404, 'NotFoundException', 'Configuration set <x> does not exist.'),
      'server: unavailable',
    ],
    'a key that is not there': [
      sesError(403, 'UnrecognizedClientException', 'The security token included in the request is invalid.'),
      'server: unavailable',
    ],
    'a key that is not there, with the name in the body': [
      inBody(400, 'UnrecognizedClientException', 'The security token included in the request is invalid.'),
      'server: unavailable',
    ],
    'a wrong secret': [sesError(403, 'InvalidSignatureException', 'It does not match.'), 'server: unavailable'],
    'a clock that is wrong': [sesError(400, 'RequestExpired', 'Request has expired.'), 'server: unavailable'],
    'a key that may not send': [
      sesError(403, 'AccessDeniedException', 'User is not authorized to perform `ses:SendRawEmail`'),
      'server: unavailable',
    ],
    'a key whose token is over': [sesError(400, 'ExpiredTokenException', 'It is expired.'), 'server: unavailable'],
    'a conflict': [sesError(409, 'ConflictException', 'Try again.'), 'server: deferred'],
    'trouble at SES': [sesError(500, 'InternalServiceErrorException', 'Internal error.'), 'server: deferred'],
    'SES is away': [sesError(503, 'ServiceUnavailable', 'Try later.'), 'server: unavailable'],
    'an error without a name': [{ status: 400, body: { message: 'Something is wrong.' } }, 'campaign: refused'],
    'an error whose text is a number': [{ status: 400, body: { message: 5 } }, 'campaign: refused'],
  },
});
