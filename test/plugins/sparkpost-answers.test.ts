/** What SparkPost answers, and what each answer means. */
import { plugin } from '../../plugins/mailwright/sparkpost/index.ts';
import type { ScriptedAnswer } from '../support/api-vendor.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';
import { startSparkPostVendor } from '../support/sparkpost-vendor.ts';
import { testAnswers } from '../support/vendor-answers.ts';

const says = (status: number, code: string, message: string, description?: string): ScriptedAnswer => ({
  status,
  body: { errors: [{ message, code, ...(description !== undefined && { description }) }] },
});
const results = (accepted: number, rejected: number, more: object = {}): ScriptedAnswer => ({
  status: 200,
  body: {
    results: {
      ...{ id: '11668787484950529', total_accepted_recipients: accepted, total_rejected_recipients: rejected },
      ...more,
    },
  },
});

testAnswers(driverOf(plugin, 'sparkpost-api'), {
  startVendor: startSparkPostVendor,
  table: {
    accepted: [results(1, 0), 'sent'],
    'accepted without an id': [{ status: 200, body: { results: { total_accepted_recipients: 1 } } }, 'unknown'],
    'accepted without numbers': [{ status: 200, body: { results: { id: '1' } } }, 'unknown'],
    'accepted, and its only recipient refused': [
      results(0, 1, { rcpt_to_errors: [{ message: 'required field is missing', code: '1400' }] }),
      'recipient: refused',
    ],
    'nobody accepted and nobody refused': [results(0, 0), 'sent'],
    'a wrong key': [{ status: 401, body: { errors: [{ message: 'Unauthorized.' }] } }, 'server: unavailable'],
    'a key without rights': [{ status: 403, body: { errors: [{ message: 'Forbidden.' }] } }, 'server: unavailable'],
    'a suspended account': [says(403, '1003', 'Forbidden', 'Your account has been suspended.'), 'server: unavailable'],
    'a terminated subaccount': [says(401, '1003', 'Subaccount is terminated'), 'server: unavailable'],
    'the limit of an hour': [says(420, '2101', 'Exceed Sending Limit (hourly)'), 'server: unavailable 600'],
    'the limit of a day': [says(420, '2102', 'Exceed Sending Limit (daily)'), 'server: unavailable 600'],
    'the limit of a month, by 400': [says(400, '2103', 'Exceed Sending Limit (monthly)'), 'server: unavailable 600'],
    '420 without text': [{ status: 420 }, 'server: unavailable 600'],
    'a domain that is not verified': [
      says(400, '7001', 'Invalid domain', 'Unconfigured or unverified sending domain.'),
      'campaign: refused',
    ],
    'a domain that is blocked': [
      says(400, '7000', 'Restricted domain', 'Please contact SparkPost support to get this domain authorized.'),
      'campaign: refused',
    ],
    'a suppressed recipient': [
      says(400, '1902', 'Message generation rejected', 'recipient address was suppressed due to customer policy'),
      'recipient: refused',
    ],
    'a recipient that is no address': [
      says(422, '5002', 'At least one valid recipient is required', 'recipients'),
      'recipient: refused',
    ],
    'a recipient without an address': [
      says(422, '1400', 'required field is missing', 'address.email is required for each recipient'),
      'recipient: refused',
    ],
    'a message that cannot be made': [says(400, '1902', 'Message generation rejected'), 'campaign: refused'],
    'MIME that cannot be read': [
      says(422, '1300', 'invalid data format/type', "Error while parsing 'email_rfc822'"),
      'campaign: refused',
    ],
    'a message that is too large': [says(413, '1300', 'content is too large'), 'campaign: refused'],
    'a key of DKIM that is not there': [says(400, '1100', "Invalid DKIM key ID 'x'"), 'campaign: refused'],
    'too many requests': [says(429, '1610', 'Too many requests'), 'server: deferred'],
    'a code that is a number': [{ status: 400, body: { errors: [{ message: 5, code: 7001 }] } }, 'campaign: refused'],
    'errors that are no list': [{ status: 422, body: { errors: 'address.email' } }, 'campaign: refused'],
    'trouble of its own': [says(500, '1000', 'Internal error'), 'server: deferred'],
    away: [says(503, '1000', 'Service unavailable'), 'server: unavailable'],
  },
});
