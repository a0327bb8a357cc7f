/** The domains and addresses of an account at a vendor that may be senders: shown, added and checked through the sending server. */

export interface VendorDnsRecord {
  readonly type: 'CNAME' | 'TXT' | 'MX';
  /** The whole name, without a dot at the end. */
  readonly name: string;
  readonly value: string;
  /** Null: the vendor does not say whether it has found it. */
  readonly isFound: boolean | null;
}

export interface VendorIdentity {
  readonly kind: 'domain' | 'email';
  /** `example.com`, or an address. */
  readonly name: string;
  readonly isVerified: boolean;
  /** The vendor's own word: `pending`. */
  readonly status: string;
  /** What has to be in the DNS for it; empty where the vendor does not say. */
  readonly records: readonly VendorDnsRecord[];
}

/** A mail of our own text to an address that is to be verified. The vendor adds the link at its end. */
export interface IdentityMail {
  /** A verified sender of the account. */
  readonly fromEmail: string;
  readonly subject: string;
  readonly html: string;
  /** Where its reader comes to after the link, when the address is verified, and when it could not be. */
  readonly successUrl: string;
  readonly failureUrl: string;
}

/** Each throws an Error with a sentence for the person who asked. */
export interface VendorIdentities {
  /** Which kinds can be added here. The vendor writes to an address that is added, and its reader confirms it. */
  readonly adds: readonly VendorIdentity['kind'][];
  /** Which kinds `list` shows. Absent: both. */
  readonly lists?: readonly VendorIdentity['kind'][];
  /**
   * The account may send for senders that `list` does not show, such as domains that another account has assigned to it. Then only a domain
   * that is listed as not verified keeps a campaign from starting. Absent: it shows all of these kinds.
   */
  readonly hidesSome?: boolean;
  /** All of them, or the first 1,000. */
  list(): Promise<readonly VendorIdentity[]>;
  /** Refuses a kind that is not in `adds`. */
  add(identity: Pick<VendorIdentity, 'kind' | 'name'>): Promise<VendorIdentity>;
  /** Adds an address with this mail in place of the vendor's own. Absent: the vendor has no such mail. */
  addWithMail?(email: string, mail: IdentityMail): Promise<VendorIdentity>;
  /** Asks the vendor to look again, and answers what it says now. */
  check(identity: Pick<VendorIdentity, 'kind' | 'name'>): Promise<VendorIdentity>;
}
