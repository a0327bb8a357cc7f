/**
 * The first argument of every verb: what a verb may touch of the world. Doors make one per request or job.
 */
import type { Database, Queryable, Transaction } from '../db/database.ts';
import type { Hooks } from '../plugin-api/index.ts';
import type { Clock } from '../lib/clock.ts';
import { UnauthenticatedError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { Limits } from './limits.ts';
import type { SecurityEvents } from './security-event.ts';

/**
 * `primary`: one a user, kept until rotated. `login`: made by logging in, expires when unused. `named`: made by hand.
 * `session`: a browser's cookie, which is no API token.
 */
export type TokenKind = 'primary' | 'login' | 'named' | 'session';

/** Who asks, as the token said; null for the public and for jobs that act for the operator. */
export interface Viewer {
  readonly userId: bigint;
  readonly userUid: string;
  readonly customerId: bigint;
  readonly tokenId: bigint;
  readonly tokenUid: string;
  readonly tokenKind: TokenKind;
  readonly isAdmin: boolean;
  /**
   * Why nothing is allowed. `api`: the customer's plan has no access to the API, and this credential is one for it;
   * `maintenance`: the operator has closed the service.
   */
  readonly refusal?: 'api' | 'maintenance';
  /** What the token may do: `*`, or names such as `lists:read`. */
  readonly scopes: readonly string[];
}

export interface Context {
  /** The pool, or the transaction that is open. */
  readonly db: Queryable;
  readonly database: Database;
  /** Present inside `inTransaction`. */
  readonly tx: Transaction | undefined;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly log: Log;
  readonly viewer: Viewer | null;
  /** Address of the caller, for consent history and limits. */
  readonly ipAddress: string | null;
  /** The kind of the caller's program, such as `Firefox on Linux`. */
  readonly client?: string | null;
  /** By which way in the request came. Decides nothing here; notes say it. */
  readonly entryPoint?: 'graphql' | 'rest' | 'page';
  /** Takes note of logins, of refused ones, and of changes of how somebody gets in. Absent: in jobs and tools. */
  readonly securityEvents?: SecurityEvents;
  /** The change that this request is making, where its row of the audit trail is written within it. */
  readonly change?: Change;
  readonly installation: Installation;
}

/** Whose things a change is about. */
export interface ChangedThing {
  readonly customerId: bigint;
  readonly targetUid: string | null;
  /** Who has done it, where nobody was logged in before. */
  readonly userId?: bigint | undefined;
}

export interface Change {
  /** Writes the row of the mutation that runs now; undefined: none runs that is audited this way. */
  write: ((tx: Transaction, about: ChangedThing) => Promise<void>) | undefined;
}

/** What verbs need to know of the installation. An administrator changes some of it at any time: ask for it, do not keep it. */
export interface Installation {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** Root of all derived keys (src/lib/crypto.ts, `deriveKey`). */
  readonly secret: string;
  readonly limits: Limits;
  /** Private hosts and networks (CIDR) that may be reached for customers (decision D44). */
  readonly outboundAllowHosts?: readonly string[];
  /** Closed to customers whose plan does not say otherwise. */
  readonly isInMaintenance?: boolean;
  /** Domain of return-paths that say whose bounce it is, where a customer has none of its own; its mail comes here. */
  readonly bounceDomain?: string;
  /** Soft bounces within so many days that suppress an address; limit 0: never. */
  readonly softBounces?: { readonly limit: number; readonly days: number };
  /** DNS servers that are asked about customers' domains; none: the system's. */
  readonly dnsServers?: readonly string[];
  /** SPF terms that allow this installation's servers, such as `include:spf.example.com`. */
  readonly spfTerms?: readonly string[];
  /** Whether campaigns need a verified sender. */
  readonly fromAddresses?: 'any' | 'verified';
  /** Sender of the mails that the program itself writes. */
  readonly mailFrom?: string;
  /** What an unpaid invoice says of how to pay it. */
  readonly paymentInstructions?: string;
  /** Whole months for which the ledger and events are kept; 0, or nothing said: all. */
  readonly retention?: { readonly ledgerMonths: number; readonly eventMonths: number };
}

/** Runs `work` in one transaction: the open one, or a new one. */
export async function inTransaction<T>(ctx: Context, work: (ctx: TransactionContext) => Promise<T>): Promise<T> {
  if (ctx.tx) return work({ ...ctx, tx: ctx.tx });
  return ctx.database.transaction((tx) => work({ ...ctx, db: tx, tx }));
}

/** The viewer of a verb that needs one. Throws UnauthenticatedError for the public. */
export function viewerOf(ctx: Context): Viewer {
  if (!ctx.viewer) throw new UnauthenticatedError();
  return ctx.viewer;
}

export type TransactionContext = Context & { readonly tx: Transaction };
