/** What Mailgun answers, and what each answer means. */
import { plugin } from '../../plugins/mailwright/mailgun/index.ts';
import type { ScriptedAnswer } from '../support/api-vendor.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';
import { startMailgunVendor } from '../support/mailgun-vendor.ts';
import { testAnswers } from '../support/vendor-answers.ts';

const says = (status: number, message: string): ScriptedAnswer => ({ status, body: { message } });
const refused = 'Domain mg.house.test is not allowed to send: ';

testAnswers(driverOf(plugin, 'mailgun-api'), {
  startVendor: startMailgunVendor,
  table: {
    accepted: [{ status: 200, body: { id: '<x@mg.house.test>', message: 'Queued. Thank you.' } }, 'sent'],
    'accepted without an id': [says(200, 'Queued. Thank you.'), 'unknown'],
    'accepted, with an empty id': [{ status: 200, body: { id: '', message: 'Queued.' } }, 'unknown'],
    'a wrong key': [
      { status: 401, headers: { 'Content-Type': 'application/json' }, body: '"Forbidden"' },
      'server: unavailable',
    ],
    'a wrong recipient': [
      says(400, "'to' parameter is not a valid address. please check documentation"),
      'recipient: refused',
    ],
    'a wrong recipient, in other words': [
      says(400, 'to parameter is not a valid address. please check documentation'),
      'recipient: refused',
    ],
    'a wrong sender': [
      says(400, "'from' parameter is not a valid address. please check documentation"),
      'campaign: refused',
    ],
    'a domain that is not there': [says(404, 'Domain not found: mg.house.test'), 'server: unavailable'],
    'an account that is disabled, by 400': [says(400, `${refused}Account disabled`), 'server: unavailable'],
    'an account that is disabled, by 403': [says(403, `${refused}Account disabled`), 'server: unavailable'],
    'an account that was not used': [says(403, `${refused}Account Inactivity`), 'server: unavailable'],
    'a sandbox': [
      says(403, `${refused}Sandbox subdomains are for test purposes only. Please add your own domain`),
      'server: unavailable',
    ],
    'a limit with a wait in seconds': [
      says(429, `${refused}request limit exceeded, try again after 30 seconds`),
      'server: deferred 30',
    ],
    'a limit with a wait in minutes': [
      says(429, `${refused}recipient limit exceeded, try again after 5 minutes`),
      'server: deferred 300',
    ],
    'a limit with a wait in hours, by 400': [
      says(400, `${refused}recipient limit exceeded, try again after 2 hours`),
      'server: deferred 7200',
    ],
    'a message that is too large': [says(413, 'Message is too large'), 'campaign: refused'],
    'another wrong field': [says(400, "'message' parameter is missing"), 'campaign: refused'],
    'trouble of its own': [says(500, 'Internal Server Error'), 'server: deferred'],
  },
});
