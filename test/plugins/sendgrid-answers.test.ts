/** What SendGrid answers, and what each answer means. */
import { plugin } from '../../plugins/mailwright/sendgrid/index.ts';
import type { ScriptedAnswer } from '../support/api-vendor.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';
import { startSendGridVendor } from '../support/sendgrid-vendor.ts';
import { testAnswers } from '../support/vendor-answers.ts';

const says = (status: number, message: string, field: string | null = null): ScriptedAnswer => ({
  status,
  body: { errors: [{ message, field, help: null }] },
});
const limited = (headers: Readonly<Record<string, string>>): ScriptedAnswer => ({
  status: 429,
  headers,
  body: { errors: [{ field: null, message: 'too many requests' }] },
});

testAnswers(driverOf(plugin, 'sendgrid-api'), {
  startVendor: startSendGridVendor,
  table: {
    accepted: [{ status: 202, headers: { 'X-Message-Id': 'euo2iKxdSayPF4YE4' } }, 'sent'],
    'accepted without an id': [{ status: 202 }, 'unknown'],
    'the answer of the sandbox': [{ status: 200, headers: { 'X-Message-Id': 'euo2iKxdSayPF4YE4' } }, 'unknown'],
    'a wrong key': [
      says(401, 'The provided authorization grant is invalid, expired, or revoked'),
      'server: unavailable',
    ],
    'a key without rights': [says(403, 'access forbidden'), 'server: unavailable'],
    'no credits left': [says(401, 'Maximum credits exceeded'), 'server: unavailable 600'],
    'a suspended account': [says(401, 'authenticated user is not authorized to send mail'), 'server: unavailable'],
    'a suspended account, by 403': [says(403, 'Your account has been suspended.'), 'server: unavailable'],
    'a sender that is not verified': [
      says(
        403,
        'The from address does not match a verified Sender Identity. Mail cannot be sent until this error is resolved.',
        'from',
      ),
      'campaign: refused',
    ],
    'a wrong sender': [says(400, 'Does not contain a valid address.', 'from.email'), 'campaign: refused'],
    'a wrong recipient': [
      says(400, 'Does not contain a valid address.', 'personalizations.0.to.0.email'),
      'recipient: refused',
    ],
    'a recipient without an address': [
      says(400, 'The to array is required for all personalization objects.', 'personalizations.0.to'),
      'recipient: refused',
    ],
    'a wrong personalization': [
      says(400, 'The personalizations field is required and must have at least one.', 'personalizations'),
      'campaign: refused',
    ],
    'a missing subject': [says(400, 'The subject is required.', 'subject'), 'campaign: refused'],
    'a message that is too large': [says(413, 'content too large'), 'campaign: refused'],
    'a header of its own': [says(400, 'received may not be overridden.', 'headers'), 'campaign: refused'],
    'another error without a field': [says(400, 'Bad Request'), 'campaign: refused'],
    'a field that is no text': [{ status: 400, body: { errors: [{ message: 1, field: 7 }] } }, 'campaign: refused'],
    'an error without a list': [{ status: 401, body: { error: 'Maximum credits exceeded' } }, 'server: unavailable'],
    'too many requests, until a time that is over': [
      limited({ 'X-RateLimit-Reset': '1392815263' }),
      'server: deferred 1',
    ],
    'too many requests, until a time that never comes': [
      limited({ 'X-RateLimit-Reset': '99999999999' }),
      'server: deferred 21600',
    ],
    'too many requests, until soon': [limited({ 'X-RateLimit-Reset': 'soon' }), 'server: deferred'],
    'not found': [says(404, 'not found'), 'server: unavailable'],
    'another type': [says(415, 'Unsupported Media Type'), 'server: unavailable'],
    'trouble of its own': [says(500, 'internal server error'), 'server: deferred'],
    away: [says(503, 'The SendGrid v3 Web API is not available.'), 'server: unavailable'],
  },
});
