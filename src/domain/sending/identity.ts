/**
 * Whose mail it is: what a sender's domains add to each message. Asked once per campaign, process and version of it.
 */
import { sql, row, typed, type Queryable, type Sql, type RowOf } from '../../db/database.ts';
import { isVerifiedAddress } from './addresses/from-address-store.ts';
import { domainOfAddress, type HoldingDomain } from './domains/domain-of-address.ts';
import { operatorDomainNear } from './domains/operator-domain-near.ts';
import type { DkimAlgorithm, DkimIdentity } from './signing/dkim-identity.ts';
import { openDkimKey } from './signing/dkim-keys.ts';
import { signMessage } from './signing/sign-message.ts';

export interface SendingIdentity {
  /**
   * Puts signatures before a filled message, off the main thread. Null: it goes as it is. What it answers is the
   * whole message; the bytes it is given are not changed.
   */
  readonly sign: ((content: Buffer) => Promise<Buffer>) | null;
  /** Domain of return-paths that tell whose bounce it is; null: bounces go to the sender's own address. */
  readonly returnPathDomain: string | null;
  /** Where tracked links lead, without a slash at the end; null: to the installation's own address. */
  readonly trackingBaseUrl: string | null;
  /** The domain that signs (`d=`), for those who show it. */
  readonly signingDomain: string | null;
}

export interface IdentityQuestion {
  readonly customerId: bigint;
  readonly fromEmail: string;
  /** Whether the campaign wants to be signed. */
  readonly signDkim: boolean;
  /** Of the installation; opens the keys. */
  readonly secret: string;
}

const KEY_ROW = row({
  selector: 'text',
  algorithm: typed<DkimAlgorithm>('text'),
  sealed: 'bytea',
});
type KeyRow = RowOf<typeof KEY_ROW>;

/** The identity that a customer's mail from this address has now. */
export async function identityFor(db: Queryable, question: IdentityQuestion): Promise<SendingIdentity> {
  const { customerId, fromEmail, signDkim, secret } = question;
  const holder = await domainOfAddress(db, fromEmail);
  const own = holder?.customerId === customerId ? holder : undefined;
  const signer = signDkim ? (own ?? (await defaultSigner(db, { customerId, fromEmail }))) : undefined;
  const keys = signer ? await signingKeys(db, signer) : [];
  const hosts = own ? await hostsOf(db, own) : { returnPathDomain: null, trackingBaseUrl: null };
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
 * Where links lead that stand beside the customer's campaigns, in the mails of its lists and on its pages; no slash at
 * the end. Undefined: to the installation's own address.
 */
export async function linkAddressFor(
  db: Queryable,
  { customerId, fromEmail }: Pick<IdentityQuestion, 'customerId' | 'fromEmail'>,
): Promise<string | undefined> {
  const holder = await domainOfAddress(db, fromEmail);
  if (holder?.customerId !== customerId) return undefined;
  return (await hostsOf(db, holder)).trackingBaseUrl ?? undefined;
}

/**
 * What changes when an identity of the customer may have changed: for caches. As SQL for whoever reads it along with
 * other things.
 */
export function identityVersion(customerId: Sql): Sql {
  return sql`(SELECT concat(count(*), max(d.updated_at)) FROM sending_domain d WHERE d.customer_id = ${customerId}),
             (SELECT d.updated_at FROM sending_domain d WHERE d.is_default)`;
}

const DEFAULT_SIGNER_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  name: 'text',
  status: typed<'verified' | 'failing'>('text'),
});

/**
 * The installation's default domain signs for those who have none. A signature of the domain that stands in From, or of
 * one that DMARC counts for it, would say that its owner wrote the message: it signs for strangers' addresses, and for
 * those near to it only when they are its owner's, or their reader has shown that they are his.
 */
async function defaultSigner(
  db: Queryable,
  { customerId, fromEmail }: { customerId: bigint; fromEmail: string },
): Promise<HoldingDomain | undefined> {
  const [row] = await db.query(
    DEFAULT_SIGNER_ROW,
    sql`SELECT customer_id AS "customerId", id, name, status FROM sending_domain
         WHERE is_default AND status IN ('verified', 'failing') LIMIT 1`,
    'sending.default-signer',
  );
  if (!row || row.customerId === customerId || !(await operatorDomainNear(db, { email: fromEmail }))) return row;
  return (await isVerifiedAddress(db, { customerId, email: fromEmail })) ? row : undefined;
}

/** Those whose record was seen at the last look; in the time of grace, all of them. */
async function signingKeys(db: Queryable, { customerId, id, status }: HoldingDomain): Promise<KeyRow[]> {
  return db.query(
    KEY_ROW,
    sql`SELECT selector, algorithm, sealed_private_key AS sealed FROM dkim_key
         WHERE customer_id = ${customerId} AND domain_id = ${id} AND status = 'active' AND sealed_private_key IS NOT NULL
           AND (missing_since IS NULL OR ${status}::text = 'failing')
         ORDER BY algorithm DESC, id`,
    'sending.signing-keys',
  );
}

async function hostsOf(
  db: Queryable,
  { customerId, id }: HoldingDomain,
): Promise<Pick<SendingIdentity, 'returnPathDomain' | 'trackingBaseUrl'>> {
  const [row] = await db.query(
    { returnPathDomain: 'text?', trackingBaseUrl: 'text?' },
    sql`SELECT CASE WHEN return_path_ready THEN return_path_host END AS "returnPathDomain",
               nullif(tracking_url, '') AS "trackingBaseUrl"
          FROM sending_domain WHERE customer_id = ${customerId} AND id = ${id}`,
    'sending.hosts-of-domain',
  );
  return row ?? { returnPathDomain: null, trackingBaseUrl: null };
}
