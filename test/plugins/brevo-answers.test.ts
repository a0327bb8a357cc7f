/** What Brevo answers, and what each answer means. */
import { plugin } from '../../plugins/mailwright/brevo/index.ts';
import { brevoError, startBrevoVendor } from '../support/brevo-vendor.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';
import { testAnswers } from '../support/vendor-answers.ts';

const limited = (headers: Record<string, string>) => ({
  status: 429,
  headers: { 'Content-Type': 'application/json', ...headers },
  body: { code: 'too_many_requests', message: 'API rate limit exceeded' },
});

testAnswers(driverOf(plugin, 'brevo-api'), {
  startVendor: startBrevoVendor,
  table: {
    accepted: [{ status: 201, body: { messageId: '<x@smtp-relay.mailin.fr>' } }, 'sent'],
    'accepted for later': [{ status: 202, body: { messageId: '<x@smtp-relay.mailin.fr>' } }, 'sent'],
    'accepted without an id': [{ status: 201, body: {} }, 'unknown'],
    'accepted, with an empty id': [{ status: 201, body: { messageId: '' } }, 'unknown'],
    'a wrong key': [brevoError(401, 'unauthorized', 'Key not found'), 'server: unavailable'],
    'a key that is switched off': [brevoError(401, 'unauthorized', 'API Key is not enabled'), 'server: unavailable'],
    'an address of ours that it does not know': [
      brevoError(401, 'unauthorized', 'We have detected you are using an unrecognised IP address 192.0.2.1.'),
      'server: unavailable',
    ],
    'an account that is not activated': [
      brevoError(403, 'permission_denied', 'Unable to send email. Your SMTP account is not yet activated.'),
      'server: unavailable',
    ],
    'an account that is suspended, by 400': [
      brevoError(400, 'permission_denied', 'Your account is suspended'),
      'server: unavailable',
    ],
    'an account that is looked at': [brevoError(403, 'account_under_validation', 'Wait'), 'server: unavailable'],
    'no credits': [brevoError(402, 'not_enough_credits', 'Not enough credits'), 'server: unavailable 600'],
    'no credits, by 400': [brevoError(400, 'not_enough_credits', 'Not enough credits'), 'server: unavailable 600'],
    'a wrong recipient': [brevoError(400, 'invalid_parameter', 'email is not valid in to'), 'recipient: refused'],
    'no recipient': [brevoError(400, 'missing_parameter', 'email is missing in to'), 'recipient: refused'],
    'a wrong sender': [brevoError(400, 'invalid_parameter', 'valid sender email required'), 'campaign: refused'],
    'no sender': [brevoError(400, 'missing_parameter', 'sender is missing'), 'campaign: refused'],
    'a file that it does not take': [
      brevoError(400, 'invalid_parameter', 'Unsupported file format: a.exe'),
      'campaign: refused',
    ],
    'no HTML': [brevoError(400, 'missing_parameter', 'htmlContent is missing'), 'campaign: refused'],
    'a code that is not documented': [brevoError(400, 'moon_is_full', 'x'), 'campaign: refused'],
    'too fast, with the end of it': [limited({ 'x-sib-ratelimit-reset': '45' }), 'server: deferred 45'],
    'too fast, with Retry-After': [
      limited({ 'x-sib-ratelimit-reset': '45', 'Retry-After': '7' }),
      'server: deferred 7',
    ],
    'too fast, with a time in place of seconds': [
      limited({ 'x-sib-ratelimit-reset': '1795000000' }),
      'server: deferred',
    ],
    'a method that is not allowed': [brevoError(405, 'method_not_allowed', 'POST only'), 'server: unavailable'],
    'another dependency that failed': [brevoError(424, 'failed_dependency', 'x'), 'server: unavailable'],
    'trouble of its own': [brevoError(500, 'internal_error', 'Internal error'), 'server: deferred'],
    'away for maintenance': [brevoError(503, 'unavailable', 'maintenance'), 'server: unavailable'],
  },
});
