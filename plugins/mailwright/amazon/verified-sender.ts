/**
 * Whether SES sends for an address, asked before its first message: else SES would refuse every copy of a campaign. An address may be
 * sent from when it is verified itself, or its domain, or a domain above that one.
 */
import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { jsonOf, SendingError, type AskVendor, type VendorAnswer } from '../../../src/plugin-api/index.ts';
import { encodedName, IDENTITIES_PATH } from './identity-path.ts';
import { SES } from './settings.ts';

/** Each name is a request, of which SES takes about one a second; real domains have two to four parts. */
const DOMAINS_MAX = 4;

const identityShape = z.object({ VerifiedForSendingStatus: z.boolean() });

/**
 * Throws SendingError `refused` about `sender` when SES says that none of them is verified. Where it does not say (the key may not ask,
 * too many questions, trouble at SES), nothing is known, and the message is sent.
 */
export async function requireVerified(
  ask: AskVendor,
  { fromEmail, region }: { readonly fromEmail: string; readonly region: string },
): Promise<void> {
  const at = fromEmail.lastIndexOf('@');
  // As SES stores it.
  const domain = domainToASCII(fromEmail.slice(at + 1));
  for (const name of [`${fromEmail.slice(0, at)}@${domain}`, ...domainsAt(domain)]) {
    const answer = await ask({ method: 'GET', path: `${IDENTITIES_PATH}/${encodedName(name)}` });
    if (isVerified(answer) !== false) return;
  }
  throw new SendingError(
    'refused',
    `${SES} does not send for ${fromEmail}: neither the address nor its domain ${domain} is verified in ${region}. Verify one of them there, or through the sending server, or choose another sender`,
    { about: 'sender' },
  );
}

/** Undefined: SES does not say. */
function isVerified(answer: VendorAnswer): boolean | undefined {
  if (answer.status === 404) return false;
  if (answer.status !== 200) return undefined;
  return identityShape.safeParse(jsonOf(answer)).data?.VerifiedForSendingStatus;
}

/** The domain and those above it, without the last part. */
function domainsAt(domain: string): readonly string[] {
  const labels = domain.split('.');
  const domains = labels.slice(0, -1).map((_label, no) => labels.slice(no).join('.'));
  return domains.slice(-DOMAINS_MAX);
}
