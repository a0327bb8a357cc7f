/** The first argument of every verb: everything outside that a verb may use. Entry points make one per request or job. */
import type { Database, Queryable, Transaction } from '../db/database.ts';
import type { Clock } from '../lib/clock.ts';
import { UnauthenticatedError, ValidationError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { Limits } from './limits.ts';
import type { PluginHost } from './plugin-host.ts';
import type { ProductHooks } from './product-hooks.ts';
import type { ReleaseHost } from './release-host.ts';
import type { SecurityEvents } from './security-event.ts';

/**
 * `primary`: one a user, kept until rotated. `login`: made by logging in, expires when unused. `named`: made by hand.
 * `session`: a browser's cookie, which is no API token.
 */
export type TokenKind = 'primary' | 'login' | 'named' | 'session';

/** The caller by the token; null for the public and for jobs that act for the operator. */
export interface Viewer {
  readonly userId: bigint;
  readonly userUid: string;
  readonly customerId: bigint;
  readonly tokenId: bigint;
  readonly tokenUid: string;
  /** `plugin`: it has no token and no user; the ids are 0 and the uids are empty. */
  readonly tokenKind: TokenKind | 'plugin';
  /** The plugin that acts for the customer, `vendor/name`; absent: a user. */
  readonly plugin?: string;
  readonly isAdmin: boolean;
  /**
   * Why nothing is allowed. `api`: the customer's plan excludes the API, and this credential is for it; `maintenance`: the
   * operator has closed the service.
   */
  readonly refusal?: 'api' | 'maintenance';
  /** The scopes of the token: `*`, or names such as `lists:read`. */
  readonly scopes: readonly string[];
}

export interface Context {
  /** The pool, or the transaction that is open. */
  readonly db: Queryable;
  readonly database: Database;
  /** Present inside `inTransaction`. */
  readonly tx: Transaction | undefined;
  readonly hooks: ProductHooks;
  readonly clock: Clock;
  readonly log: Log;
  readonly viewer: Viewer | null;
  /** Address of the caller, for consent history and limits. */
  readonly ipAddress: string | null;
  /** The kind of the caller's program, such as `Firefox on Linux`. */
  readonly client?: string | null;
  /** The entry point of the request. Decides nothing here; it is recorded. */
  readonly entryPoint?: 'graphql' | 'rest' | 'page';
  /** The plugins of this process. Absent in tools. */
  readonly plugins?: PluginHost;
  /** Versions of the program on this machine. Absent in tools. */
  readonly releases?: ReleaseHost;
  /** Records logins, refused ones, and changes of access. Absent in jobs and tools. */
  readonly securityEvents?: SecurityEvents;
  /** The change of this request, if its row of the audit trail is written within it. */
  readonly change?: Change;
  /** The entry point found faults of the input itself: verbs find theirs, and nothing is changed (`endChecks`). */
  readonly checksOnly?: boolean;
  readonly installation: Installation;
}

/** The subject of a change. */
export interface ChangedThing {
  readonly customerId: bigint;
  readonly targetUid: string | null;
  /** Who has done it, if nobody was logged in before. */
  readonly userId?: bigint | undefined;
}

export interface Change {
  /** Writes the audit row of the running mutation; undefined: none is audited this way. */
  write: ((tx: Transaction, about: ChangedThing) => Promise<void>) | undefined;
}

/**
 * What verbs know about the installation. An administrator may change some of it at any time: read it each time, do not keep it.
 */
export interface Installation {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** Root of all derived keys (src/lib/crypto.ts, `deriveKey`). */
  readonly secret: string;
  readonly limits: Limits;
  /** Private hosts and networks (CIDR) that may be reached for customers (decision D44). */
  readonly outboundAllowHosts?: readonly string[];
  /** Absolute paths of the programs that drivers may start (`SENDING_PROGRAMS`); absent: none. */
  readonly sendingPrograms?: readonly string[];
  /** Closed, except to customers whose plan allows access. */
  readonly isInMaintenance?: boolean;
  /** Domain of signed return-paths for customers without their own; its mail comes here. */
  readonly bounceDomain?: string;
  /** Soft bounces within so many days after which an address is suppressed; limit 0: never. */
  readonly softBounces?: { readonly limit: number; readonly days: number };
  /** DNS servers for look-ups of customers' domains; none: the system's. */
  readonly dnsServers?: readonly string[];
  /** SPF terms that allow this installation's servers, such as `include:spf.example.com`. */
  readonly spfTerms?: readonly string[];
  /** Whether campaigns need a verified sender. */
  readonly fromAddresses?: 'any' | 'verified';
  /** Sender of the mails that the program itself writes. */
  readonly mailFrom?: string;
  /** The payment instructions on unpaid invoices. */
  readonly paymentInstructions?: string;
  /** This process's machine, for its checks. */
  readonly machine?: { readonly dataDir: string; /** The secret is a file there. */ readonly keepsSecret: boolean };
  /** Days for which the event record is kept; absent: 30. */
  readonly eventDays?: number;
  /** What the operator trusts from outside. */
  readonly trust?: Trust;
  /** Whole months for which the ledger and events are kept; 0 or absent: all. */
  readonly retention?: { readonly ledgerMonths: number; readonly eventMonths: number };
}

/** Keys are Ed25519, in base64. */
export interface Trust {
  /** Whether plugins may be installed from an address without a checksum. */
  readonly pluginChecksum: 'required' | 'optional';
  /** A plugin must be signed by one of these; none: it need not be signed. */
  readonly pluginKeys: readonly string[];
  /** The path or address of the license document; empty: there is none. */
  readonly licenseSource: string;
  /** A newer version of the program must be signed by one of these. */
  readonly releaseKeys: readonly string[];
  /** A license must be signed by one of these. */
  readonly licenseKeys: readonly string[];
}

/** Runs `work` in one transaction: the open one, or a new one. */
export async function inTransaction<T>(ctx: Context, work: (ctx: TransactionContext) => Promise<T>): Promise<T> {
  if (ctx.tx) return work({ ...ctx, tx: ctx.tx });
  return ctx.database.transaction(async (tx) => {
    const done = await work({ ...ctx, db: tx, tx });
    endChecks(ctx);
    return done;
  });
}

/**
 * Ends a call that only checks: its transaction is rolled back. Verbs call it themselves before they act outside of the database.
 * Throws ValidationError `CHECKS_PASSED` without fields.
 */
export function endChecks({ checksOnly = false }: Context): void {
  if (checksOnly) throw new ValidationError({}, 'CHECKS_PASSED');
}

/** The viewer of a verb that needs one. Throws UnauthenticatedError for the public. */
export function viewerOf(ctx: Context): Viewer {
  if (!ctx.viewer) throw new UnauthenticatedError();
  return ctx.viewer;
}

export type TransactionContext = Context & { readonly tx: Transaction };
