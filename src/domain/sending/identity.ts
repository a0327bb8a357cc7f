/** What a sender's domains add to each message. Read once per campaign, process and version. */
import { sql, row, typed, type Queryable, type Sql, type RowOf } from '../../db/database.ts';
import { isVerifiedAddress } from './addresses/from-address-store.ts';
import { domainOfAddress, type HoldingDomain } from './domains/domain-of-address.ts';
import { operatorDomainNear } from './domains/operator-domain-near.ts';
import type { DkimAlgorithm, DkimIdentity } from './signing/dkim-identity.ts';
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

const KEY_ROW = row({
  selector: 'text',
  algorithm: typed<DkimAlgorithm>('text'),
  sealed: 'bytea',
});
type KeyRow = RowOf<typeof KEY_ROW>;

/** The present identity of a customer's mail from this address. */
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
 * The address of links outside of campaigns, in the mails of lists and on pages; no slash at the end. Undefined: the
 * installation's own.
 */
export async function linkAddressFor(
  db: Queryable,
  { customerId, fromEmail }: Pick<IdentityQuestion, 'customerId' | 'fromEmail'>,
): Promise<string | undefined> {
  const holder = await domainOfAddress(db, fromEmail);
  if (holder?.customerId !== customerId) return undefined;
  return (await hostsOf(db, holder)).trackingBaseUrl ?? undefined;
}

/** Changes when an identity of the customer may have changed: for caches. As SQL, to be read with other values. */
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
 * The installation's default domain signs for senders without their own. A signature of the From domain, or of one that DMARC
 * counts for it, would say that its owner wrote the message: so it signs for foreign addresses, and for addresses near it only
 * when they are the operator's, or their reader has verified them.
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

/** Those whose record was found at the last check; in the grace period, all of them. */
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
