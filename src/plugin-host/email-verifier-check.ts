/**
 * What an entry of the hook `register_email_verifier` must be. Its functions run as those of its plugin, however Mailwright calls them: one that
 * blocks the process, or whose sockets fail later, is named. What it throws is the answer of its service and goes to the caller as it is.
 */
import { z } from 'zod';
import type { EmailVerifier, EmailVerifierRegistration } from '../plugin-api/index.ts';
import { checkBy, functionShape } from './entry-check.ts';
import { wholeNumber } from './job-checks.ts';
import { asPlugin } from './running-plugin.ts';

/** A call holds so many answers in memory, and is repeated as a whole when the process dies. */
const ADDRESSES_MAX = 500;
/** Of one run. Vendors that take one address a call allow so many connections. */
const CALLS_MAX = 25;
/** Below the time after which the host ends a call, so that the reason is that of the service. */
const REPLY_SECONDS_MAX = 110;
const PER_MINUTE_MAX = 1_000_000;
/** As many as a form shows. */
const KEYS_MAX = 50;
const KEY_LENGTH_MAX = 50;
const TEXT_LENGTH_MAX = 500;

const text = z.string('must be a text').min(1, 'must not be empty').max(TEXT_LENGTH_MAX, 'is too long');
const keys = z.array(z.string('must be a text').min(1).max(KEY_LENGTH_MAX)).max(KEYS_MAX);

const shape = z.strictObject({
  type: z
    .string('must be a text')
    .regex(/^[a-z][a-z0-9-]{0,49}$/, 'must be of small letters, digits and "-", at most 50, and begin with a letter'),
  name: text,
  description: text,
  configKeys: keys,
  secretKeys: keys,
  iconUrl: text.optional(),
  createUrl: text.optional(),
  addressesMax: wholeNumber(1, ADDRESSES_MAX),
  callsMax: wholeNumber(1, CALLS_MAX).optional(),
  callsPerMinuteMax: wholeNumber(1, PER_MINUTE_MAX).optional(),
  replySecondsMax: wholeNumber(1, REPLY_SECONDS_MAX).optional(),
  perMinuteMax: wholeNumber(1, PER_MINUTE_MAX).optional(),
  validate: functionShape<EmailVerifierRegistration['validate']>(),
  connect: functionShape<EmailVerifierRegistration['connect']>(),
});

/** The entry with its functions marked. */
export const checkEmailVerifier = checkBy(shape, (entry, { plugin }): EmailVerifierRegistration => {
  const { validate, connect } = entry;
  return {
    ...entry,
    validate: (settings) => asPlugin(plugin, () => validate(settings)),
    connect: (settings, options) =>
      markedVerifier(
        plugin,
        asPlugin(plugin, () => connect(settings, options)),
      ),
  };
});

function markedVerifier(plugin: string, verifier: EmailVerifier): EmailVerifier {
  return {
    verify: (addresses, options) => asPlugin(plugin, () => verifier.verify(addresses, options)),
    test: () => asPlugin(plugin, () => verifier.test()),
    close: () => asPlugin(plugin, () => verifier.close()),
  };
}
