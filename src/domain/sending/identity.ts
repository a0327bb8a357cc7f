/**
 * Whose mail it is: what a sender's domains add to each message. Asked once per campaign, process and version of it.
 */
import type { Queryable } from '../../db/database.ts';

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
}

export interface IdentityQuestion {
  readonly customerId: bigint;
  readonly fromEmail: string;
  /** Whether the campaign wants to be signed. */
  readonly signDkim: boolean;
}

/** The identity that a customer's mail from this address has now. */
export async function identityFor(_db: Queryable, _question: IdentityQuestion): Promise<SendingIdentity> {
  return { sign: null, returnPathDomain: null, trackingBaseUrl: null };
}
