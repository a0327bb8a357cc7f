/** What a sender's domains add to each message. Read once per campaign, process and version. */
import type { Queryable } from '../../db/database.ts';
import { isVerifiedAddress } from './addresses/from-address-store.ts';
import { signingKeys } from './domains/dkim-key-store.ts';
import { domainOfAddress } from './domains/domain-of-address.ts';
import { operatorDomainNear } from './domains/operator-domain-near.ts';
import { findDefaultDomain, hostsOfDomain, type HoldingDomain } from './domains/sending-domain-read-model.ts';
import type { DkimIdentity } from './signing/dkim-identity.ts';
import { openDkimKey } from './signing/dkim-keys.ts';
import { signMessage } from './signing/sign-message.ts';

export interface SendingIdentity {
  /**
   * Adds signatures to a composed message, off the main thread. Null: no signature. The result is the whole message; the given
   * bytes do not change.
   */
  readonly sign: ((content: Buffer) => Promise<Buffer>) | null;
  /** Domain of signed return-paths; null: bounces go to the sender's own address. */
  readonly returnPathDomain: string | null;
  /** The address of tracked links, without a slash at the end; null: the installation's own. */
  readonly trackingBaseUrl: string | null;
  /** The signing domain (`d=`), for display. */
  readonly signingDomain: string | null;
}

export interface IdentityQuestion {
  readonly customerId: bigint;
  readonly fromEmail: string;
  /** Whether the campaign is to be signed. */
  readonly signDkim: boolean;
  /** The installation's secret, which decrypts the keys. */
  readonly secret: string;
}

/** The present identity of a customer's mail from this address. */
export async function identityFor(db: Queryable, question: IdentityQuestion): Promise<SendingIdentity> {
  const { customerId, fromEmail, signDkim, secret } = question;
  const holder = await domainOfAddress(db, fromEmail);
  const own = holder?.customerId === customerId ? holder : undefined;
  const signer = signDkim ? (own ?? (await defaultSigner(db, { customerId, fromEmail }))) : undefined;
  const keys = signer ? await signingKeys(db, signer) : [];
  const hosts = own ? await hostsOfDomain(db, own) : { returnPathDomain: null, trackingBaseUrl: null };
  if (!signer || keys.length === 0) return { ...hosts, sign: null, signingDomain: null };
  const identity: DkimIdentity = {
    domain: signer.name,
    keys: keys.map(({ selector, algorithm, sealed }) => ({
      selector,
      algorithm,
      privateKey: openDkimKey(secret, selector, sealed),
    })),
  };
  return { ...hosts, signingDomain: signer.name, sign: (content) => signMessage(content, identity) };
}

/**
 * The address of links outside of campaigns, in the mails of lists and on pages; no slash at the end. Undefined: the
 * installation's own.
 */
export async function linkAddressFor(
  db: Queryable,
  { customerId, fromEmail }: Pick<IdentityQuestion, 'customerId' | 'fromEmail'>,
): Promise<string | undefined> {
  return (await mailHostsFor(db, { customerId, fromEmail })).trackingBaseUrl ?? undefined;
}

/** The hosts that the customer's mail from this address uses; null: the installation's own. */
export async function mailHostsFor(
  db: Queryable,
  { customerId, fromEmail }: Pick<IdentityQuestion, 'customerId' | 'fromEmail'>,
): Promise<Pick<SendingIdentity, 'returnPathDomain' | 'trackingBaseUrl'>> {
  const holder = await domainOfAddress(db, fromEmail);
  if (holder?.customerId !== customerId) return { returnPathDomain: null, trackingBaseUrl: null };
  return hostsOfDomain(db, holder);
}

/**
 * The installation's default domain signs for senders without their own. A signature of the From domain, or of one that DMARC
 * counts for it, would say that its owner wrote the message: so it signs for foreign addresses, and for addresses near it only
 * when they are the operator's, or their reader has verified them.
 */
async function defaultSigner(
  db: Queryable,
  { customerId, fromEmail }: { customerId: bigint; fromEmail: string },
): Promise<HoldingDomain | undefined> {
  const domain = await findDefaultDomain(db);
  if (!domain || domain.customerId === customerId) return domain;
  if (!(await operatorDomainNear(db, { email: fromEmail }))) return domain;
  return (await isVerifiedAddress(db, { customerId, email: fromEmail })) ? domain : undefined;
}
