/** What Elastic Email answers, and what each answer means. */
import { plugin } from '../../plugins/mailwright/elasticemail/index.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';
import { elasticError, startElasticVendor } from '../support/elasticemail-vendor.ts';
import { testAnswers } from '../support/vendor-answers.ts';

testAnswers(driverOf(plugin, 'elasticemail-api'), {
  startVendor: startElasticVendor,
  table: {
    accepted: [{ status: 200, body: { TransactionID: 't1', MessageID: 'message1' } }, 'sent'],
    'accepted without the id of the mail': [{ status: 200, body: { TransactionID: 't1' } }, 'unknown'],
    'accepted, with an empty id': [{ status: 200, body: { TransactionID: 't1', MessageID: '' } }, 'unknown'],
    'an error with the status of success': [{ status: 200, body: { Error: 'Access denied' } }, 'unknown'],
    'a wrong key': [elasticError(401, 'Incorrect API key'), 'server: unavailable'],
    'a wrong key, by 400': [elasticError(400, 'APIKey Expired'), 'server: unavailable'],
    'a key without the right to send': [elasticError(403, 'Access Denied.'), 'server: unavailable'],
    'a key without the right to send, by 400': [elasticError(400, 'Access Denied.'), 'server: unavailable'],
    'an account that is suspended': [elasticError(403, 'Your account is suspended.'), 'server: unavailable'],
    'an account that is looked at': [elasticError(400, 'Your account is under review.'), 'server: unavailable'],
    'no credits': [elasticError(400, 'Not enough credits to send this email'), 'server: unavailable 600'],
    'the limit of the day': [elasticError(403, 'You have reached your daily limit'), 'server: unavailable 600'],
    'a limit that is reached': [elasticError(400, 'Plan limit exceeded'), 'server: unavailable 600'],
    'a wrong recipient': [elasticError(400, 'Invalid recipient: p1'), 'recipient: refused'],
    'a sender that is not verified': [elasticError(400, 'The From domain is not verified'), 'campaign: refused'],
    'a sender in other words': [elasticError(400, 'Sender is not allowed'), 'campaign: refused'],
    'a wrong body': [elasticError(400, 'Body is required'), 'campaign: refused'],
    'an error without text': [elasticError(400, ''), 'campaign: refused'],
    'an error that is no text': [{ status: 400, body: { Error: 7 } }, 'campaign: refused'],
    'a message that is too large': [elasticError(413, 'Request too large'), 'campaign: refused'],
    'too fast': [elasticError(429, 'Too many requests'), 'server: deferred'],
    'trouble of its own': [elasticError(500, 'An error from our side'), 'server: deferred'],
  },
});
