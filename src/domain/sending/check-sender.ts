/** What receivers will see of mail from an address: who signs it, where bounces go, and whether DMARC counts them. */
import type { Queryable } from '../../db/database.ts';
import { asciiDomainOf, isAtOrBelow } from '../../lib/mail-domain.ts';
import { parseInput } from '../../lib/text.ts';
import { viewerOf, type Context } from '../context.ts';
import { fromAddressInput } from './addresses/from-address.ts';
import { senderFault, senderFaultText } from './addresses/usable-sender.ts';
import { doVendorsTakeBounces } from './bounce-route.ts';
import { domainOfAddress } from './domains/domain-of-address.ts';
import { checksOfDomain } from './domains/sending-domain-read-model.ts';
import { domainChecks, type DomainChecks } from './domains/sending-domain.ts';
import { identityFor } from './identity.ts';
import { askVendors, vendorSenderFaults } from './vendor-senders.ts';

export interface SenderCheck {
  readonly email: string;
  /** The domain of DKIM's `d=`; null: no signature. */
  readonly signingDomain: string | null;
  readonly isSignatureAligned: boolean;
  /** Domain of the envelope's sender, which SPF checks. */
  readonly returnPathDomain: string;
  readonly isReturnPathAligned: boolean;
  readonly trackingUrl: string | null;
  /** Sentences; the first ones stop a campaign. */
  readonly problems: readonly string[];
}

/** Checks the address as the caller's sender. Throws ValidationError on `email`. */
export async function checkSender(ctx: Context, input: { email: string }): Promise<SenderCheck> {
  const { customerId } = viewerOf(ctx);
  const { email } = parseInput(fromAddressInput, input);
  const { secret, bounceDomain } = ctx.installation;
  const identity = await identityFor(ctx.db, { customerId, fromEmail: email, signDkim: true, secret });
  const from = asciiDomainOf(email);
  const dmarc = await dmarcOf(ctx.db, email);
  const { signingDomain, trackingBaseUrl } = identity;
  const returnPathDomain = identity.returnPathDomain ?? (bounceDomain || from);
  const organization = dmarc?.organizationalDomain;
  const isSignatureAligned =
    signingDomain !== null && isAligned({ from, other: signingDomain, organization, mode: dmarc?.dkimAlignment });
  const isReturnPathAligned = isAligned({ from, other: returnPathDomain, organization, mode: dmarc?.spfAlignment });
  const fault = await senderFault(ctx.db, ctx.installation, { customerId, email });
  const sender = { customerId, campaignId: null, email };
  await askVendors(ctx, sender);
  const isReturnPathOurs = !(await doVendorsTakeBounces(ctx, customerId));
  const problems = [
    fault,
    ...(await vendorSenderFaults(ctx, sender)).map(senderFaultText),
    signingDomain === null ? `Nobody signs mail from ${from}: verify it as a sending domain.` : undefined,
    signingDomain !== null && !isSignatureAligned
      ? `${signingDomain} signs, which is not the sender's domain: DMARC does not count it.`
      : undefined,
    isReturnPathAligned || !isReturnPathOurs
      ? undefined
      : `Bounces go to ${returnPathDomain}: DMARC does not count its SPF.`,
    isSignatureAligned || isReturnPathAligned
      ? undefined
      : 'Mail does not pass DMARC: large providers refuse it or treat it as spam.',
  ].filter((problem) => problem !== undefined);
  return {
    email,
    signingDomain,
    isSignatureAligned,
    returnPathDomain,
    isReturnPathAligned,
    trackingUrl: trackingBaseUrl,
    problems,
  };
}

interface Pair {
  readonly from: string;
  readonly other: string;
  readonly organization: string | undefined;
  readonly mode: 'relaxed' | 'strict' | undefined;
}

/** RFC 9989 4.4: strict needs the same name, relaxed the same organization. */
function isAligned({ from, other, organization, mode }: Pair): boolean {
  if (from === other) return true;
  if (mode === 'strict') return false;
  if (organization !== undefined) return isAtOrBelow(from, organization) && isAtOrBelow(other, organization);
  return isAtOrBelow(from, other) || isAtOrBelow(other, from);
}

async function dmarcOf(db: Queryable, email: string): Promise<DomainChecks['dmarc'] | undefined> {
  const holder = await domainOfAddress(db, email);
  if (!holder) return undefined;
  return domainChecks.parse(await checksOfDomain(db, holder)).dmarc ?? undefined;
}
