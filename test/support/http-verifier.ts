/** A verifier for the vendor of verifier-vendor.ts that keeps all rules; tests replace parts of it by wrong ones. */
import {
  checkSettings,
  endpointField,
  httpVerifier,
  jsonOf,
  requiredLine,
  VerifierError,
  type AskVerifier,
  type EmailVerifierRegistration,
  type VerifiedAddress,
} from '../../src/plugin-api/index.ts';
import { z } from 'zod';

const fields = { api_key: requiredLine('API key'), endpoint: endpointField };
const answerShape = z.object({ results: z.array(z.object({ email: z.string(), status: z.string() })) });

const MEANING: Readonly<Record<string, VerifiedAddress>> = {
  valid: { result: 'deliverable', reasons: [] },
  invalid: { result: 'undeliverable', reasons: ['mailbox_missing'] },
  accept_all: { result: 'risky', reasons: ['catch_all'] },
};

export const rightVerifier: EmailVerifierRegistration = {
  type: 'test-verifier',
  name: 'Verifier',
  description: 'A verifier with a web interface.',
  configKeys: ['api_key', 'endpoint'],
  secretKeys: ['api_key'],
  addressesMax: 50,
  callsMax: 4,
  validate: (input) => checkSettings(fields, input),
  connect({ api_key, endpoint }, options) {
    const headers = { Authorization: `Bearer ${String(api_key)}`, 'Content-Type': 'application/json' };
    return httpVerifier(options, {
      ...{ origin: String(endpoint), name: 'The vendor', connections: 4 },
      verify: (addresses, ask) => verifyByVendor(addresses, ask, headers),
      async test(ask) {
        const credits: unknown = Reflect.get(
          Object(jsonOf(await ask({ method: 'GET', path: '/v1/account', headers }))),
          'credits',
        );
        return Number(credits) > 0 ? { ok: true } : { ok: false, message: 'No credits are left.' };
      },
    });
  },
};

async function verifyByVendor(
  addresses: readonly string[],
  ask: AskVerifier,
  headers: Readonly<Record<string, string>>,
): Promise<VerifiedAddress[]> {
  const body = JSON.stringify({ emails: addresses });
  const answer = answerShape.safeParse(jsonOf(await ask({ method: 'POST', path: '/v1/verify', headers, body })));
  if (!answer.success) throw new VerifierError('The vendor answers what cannot be understood.');
  const said = new Map(answer.data.results.map(({ email, status }) => [email, MEANING[status]]));
  return addresses.map((address) => said.get(address) ?? { result: 'unknown', reasons: [] });
}
