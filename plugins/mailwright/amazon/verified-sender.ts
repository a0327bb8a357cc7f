/**
 * Whether SES sends for an address, asked before its first message: else SES would refuse every copy of a campaign. An address may be
 * sent from when it is verified itself, with or without a label (`ann+label@`), or its domain, or a domain above that one.
 */
import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { jsonOf, SendingError, type AskVendor, type VendorAnswer } from '../../../src/plugin-api/index.ts';
import { errorOf } from './failures.ts';
import { encodedName, IDENTITIES_PATH } from './identity-path.ts';
import { SES } from './settings.ts';

/** Each is a request, of which SES takes about one a second; real domains have two to four parts. About longer ones nobody is asked. */
const DOMAINS_MAX = 4;

const identityShape = z.object({ VerifiedForSendingStatus: z.boolean() });

/**
 * Throws SendingError `refused` about `sender` when SES says that none of them is verified. Where it does not say (the key may not ask,
 * too many questions, no answer, trouble at SES), nothing is known, and the message is sent.
 */
export async function requireVerified(
  ask: AskVendor,
  { fromEmail, region }: { readonly fromEmail: string; readonly region: string },
): Promise<void> {
  const at = fromEmail.lastIndexOf('@');
  // As SES stores it.
  const domain = domainToASCII(fromEmail.slice(at + 1));
  const domains = domainsAt(domain);
  if (domains.length > DOMAINS_MAX) return;
  const local = fromEmail.slice(0, at);
  const addresses = new Set([local, withoutLabel(local)].map((name) => `${name}@${domain}`));
  for (const name of [...addresses, ...domains]) {
    const answer = await ask({ method: 'GET', path: `${IDENTITIES_PATH}/${encodedName(name)}` }).catch(() => undefined);
    if (!answer || isVerified(answer) !== false) return;
  }
  throw new SendingError(
    'refused',
    `${SES} does not send for ${fromEmail}: neither the address nor its domain ${domain} is verified in ${region}. Verify one of them there, or through the sending server, or choose another sender`,
    { about: 'sender' },
  );
}

/** A verified address is so with labels, too (Amazon SES Developer Guide, "Verified identities"). */
function withoutLabel(local: string): string {
  return local.replace(/(?<=.)\+.*$/s, '');
}

/** Undefined: SES does not say. A 404 of a proxy or of a wrong address does not come from SES. */
function isVerified(answer: VendorAnswer): boolean | undefined {
  if (answer.status === 404) return errorOf(answer).type === 'NotFoundException' ? false : undefined;
  if (answer.status !== 200) return undefined;
  return identityShape.safeParse(jsonOf(answer)).data?.VerifiedForSendingStatus;
}

/** The domain and those above it, without the last part. */
function domainsAt(domain: string): readonly string[] {
  const labels = domain.split('.');
  return labels.slice(0, -1).map((_label, no) => labels.slice(no).join('.'));
}
