/** Whether a customer may send from an address: checked when a campaign is started. */
import type { Queryable } from '../../../db/database.ts';
import type { CodedReason, ReasonTexts } from '../../../lib/coded-reason.ts';
import { isOperator } from '../../accounts/customer-store.ts';
import type { Installation } from '../../context.ts';
import { domainOfAddress } from '../domains/domain-of-address.ts';
import { operatorDomainNear } from '../domains/operator-domain-near.ts';
import { isVerifiedAddress } from './from-address-store.ts';

export interface SenderFaultParams {
  domain_of_another: { readonly domain: string; readonly email: string };
  /** Receivers would take it for the operator's own. */
  domain_of_installation: { readonly domain: string; readonly email: string };
  sender_not_verified: { readonly email: string };
  /** The server's vendor has said so. */
  sender_not_verified_at_vendor: {
    readonly email: string;
    readonly domain: string;
    readonly server: string;
    /** The vendor verifies single addresses, too. */
    readonly isAddressEnough?: true;
  };
}
export type SenderFault = CodedReason<SenderFaultParams>;

export const senderFaultTexts: ReasonTexts<SenderFaultParams> = {
  domain_of_another: ({ domain, email }) =>
    `The domain ${domain} belongs to another customer: verify the address ${email} first.`,
  domain_of_installation: ({ domain, email }) =>
    `Receivers would think that it is mail of ${domain}, which is this installation's: verify the address ${email} first.`,
  sender_not_verified: ({ email }) => `Verify the from address ${email}, or its domain, first.`,
  sender_not_verified_at_vendor: ({ email, domain, server, isAddressEnough }) =>
    `The sending server "${server}" does not send for ${email}: its vendor has not verified the domain ${domain}${isAddressEnough ? ', nor the address' : ''}. Add the domain there or through the server, publish its records, ${isAddressEnough ? 'or have the vendor verify the one address, ' : ''}or choose another sender or server.`,
};

/**
 * Why the address cannot be used; undefined when it can. A verified domain of the customer covers its addresses and those of its
 * subdomains; below another customer's domain, and where receivers would take it for the operator's own, a verified address is
 * always needed. The operator is not limited.
 */
export async function findSenderFault(
  db: Queryable,
  { fromAddresses = 'any', bounceDomain }: Pick<Installation, 'fromAddresses' | 'bounceDomain'>,
  sender: { customerId: bigint; email: string },
): Promise<SenderFault | undefined> {
  const holder = await domainOfAddress(db, sender.email);
  if (holder?.customerId === sender.customerId || (await isVerifiedAddress(db, sender))) return undefined;
  if (await isOperator(db, sender.customerId)) return undefined;
  if (holder) return { code: 'domain_of_another', params: { domain: holder.name, email: sender.email } };
  const operator = await operatorDomainNear(db, { email: sender.email, bounceDomain });
  if (operator !== undefined)
    return { code: 'domain_of_installation', params: { domain: operator, email: sender.email } };
  if (fromAddresses === 'any') return undefined;
  return { code: 'sender_not_verified', params: { email: sender.email } };
}

/** The same as a sentence. */
export async function senderFault(...asked: Parameters<typeof findSenderFault>): Promise<string | undefined> {
  const fault = await findSenderFault(...asked);
  return fault && senderFaultText(fault);
}

export function senderFaultText<Code extends keyof SenderFaultParams>(
  fault: CodedReason<SenderFaultParams, Code>,
): string {
  return senderFaultTexts[fault.code](fault.params);
}
