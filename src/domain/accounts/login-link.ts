/**
 * Links that log a person in once (decision D13): 256 random bits, stored as a digest, for ten minutes. Everybody with the link
 * can log in, so it has no more rights than the user who requested it.
 */
import { randomBytes } from 'node:crypto';
import { ValidationError } from '../../lib/errors.ts';
import { emailKey } from '../../lib/text.ts';
import { inTransaction, viewerOf, type Context, type Viewer } from '../context.ts';
import { accountDisabled, customerNotFound, linksForOthers } from './account-errors.ts';
import { insertApiToken, pruneLoginTokens, type UserKey } from './api-token-store.ts';
import { insertAuditEntries } from './audit-store.ts';
import { auditInTransaction } from './audit-trail.ts';
import type { Customer } from './customer.ts';
import { customerWithEmail, knownCustomer, requireFullTokenFor } from './known-customer.ts';
import { deleteOldLinks, findLink, insertLink, takeLink } from './login-link-store.ts';
import { parseNext } from './own-path.ts';
import { requireRecentLogin } from './require-recent-login.ts';
import { EVERY_SCOPE, holdsScope } from './scopes.ts';
import { findUser, isAdministrator } from './user-store.ts';

const TOKEN_BYTES = 32;
/** 32 bytes in base64url. */
const TOKEN_PATTERN = /^[\w-]{43}$/;

/** Below the base address. */
export const LOGIN_LINK_PATH = '/login/token';

/** The user of the link; an administrator may name a customer, others are themselves. */
export interface LoginLinkTarget {
  readonly customerUid?: string | null | undefined;
  readonly email?: string | null | undefined;
  /** The path of our own pages to which the link leads. */
  readonly next?: string | null | undefined;
}

export interface LoginLink {
  readonly customerId: bigint;
  readonly userId: bigint;
  /** In clear: shown once, not stored. */
  readonly token: string;
  readonly url: string;
  readonly expiresAt: Date;
}

/**
 * A link for the caller, or for the first user of a customer. Throws NotFoundError `CUSTOMER_NOT_FOUND`, ValidationError,
 * ForbiddenError `ACCOUNT_DISABLED`, `FULL_TOKEN_NEEDED`, `NOT_AN_ADMINISTRATOR`, `LOGIN_TOO_OLD`.
 */
export async function createLoginLink(ctx: Context, target: LoginLinkTarget): Promise<LoginLink> {
  const { baseUrl } = ctx.installation;
  const next = parseNext(target.next, baseUrl);
  const { scopes, ...user } = await targetOf(ctx, target);
  // It would be a newer login of the same administrator, or of another one.
  if (viewerOf(ctx).isAdmin && (await isAdministrator(ctx.db, user))) await requireRecentLogin(ctx);
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return inTransaction(ctx, async (inner) => {
    const expiresAt = await insertLink(inner.db, user, { token, scopes });
    await deleteOldLinks(inner.db, user);
    await auditInTransaction(inner, { customerId: user.customerId, targetUid: target.customerUid ?? null });
    const url = `${baseUrl}${LOGIN_LINK_PATH}/${token}${next === '/' ? '' : `?next=${encodeURIComponent(next)}`}`;
    return { ...user, token, url, expiresAt };
  });
}

/** A session in exchange for a link: the text of its cookie. Undefined when the link is unknown, used or expired. */
export async function useLoginLink(ctx: Context, token: string): Promise<{ session: string } | undefined> {
  if (!TOKEN_PATTERN.test(token)) return noteRefusedLink(ctx, null);
  const used = await inTransaction(ctx, async (inner) => {
    const link = await takeLink(inner.db, token);
    if (!link) return undefined;
    const { customerId, userId, scopes } = link;
    await pruneLoginTokens(inner.db, link);
    const name = `Session ${ctx.clock.now().toISOString().slice(0, 16).replace('T', ' ')}`;
    const session = await insertApiToken(inner.db, {
      ...{ customerId, userId, kind: 'session', name, scopes, sessionDays: ctx.installation.limits.sessionDays },
    });
    await insertAuditEntries(inner.db, [
      {
        ...{ customerId, operation: 'useLoginLink', targetUid: session.uid, fields: [] },
        actor: { customerId, userId, tokenUid: session.uid, tokenKind: 'session' },
        ...{ entryPoint: 'page', ipAddress: ctx.ipAddress, client: ctx.client },
      },
    ]);
    return { ...session, account: { customerId, userId, userUid: link.userUid } };
  });
  if (!used) return noteRefusedLink(ctx, token);
  const { uid: tokenUid, account } = used;
  ctx.securityEvents?.note(ctx, {
    ...{ kind: 'logged_in', operation: 'useLoginLink', account, tokenUid, tokenKind: 'session' },
  });
  return { session: used.token };
}

/** Links are kept a bit longer than ten minutes, so that one that was just used is recognised. */
async function noteRefusedLink(ctx: Context, token: string | null): Promise<undefined> {
  const link = token === null ? undefined : await findLink(ctx.db, token);
  const reason = link ? (link.isUsed ? 'LINK_USED' : 'LINK_ENDED') : 'LINK_UNKNOWN';
  ctx.securityEvents?.note(ctx, { kind: 'link_refused', operation: 'useLoginLink', account: link ?? null, reason });
  return undefined;
}

interface Target extends UserKey {
  readonly scopes: readonly string[];
}

async function targetOf(ctx: Context, { customerUid, email }: LoginLinkTarget): Promise<Target> {
  const viewer = viewerOf(ctx);
  if (!customerUid && !email) return ownTarget(viewer);
  if (!viewer.isAdmin || !holdsScope(viewer.scopes, 'admin')) return namedOneself(ctx, { customerUid, email });
  const customer = await namedCustomer(ctx, { customerUid, email });
  if (customer.userId === viewer.userId) return ownTarget(viewer);
  requireFullTokenFor(viewer, customer);
  if (customer.status !== 'active') throw accountDisabled();
  return { customerId: customer.id, userId: customer.userId, scopes: [EVERY_SCOPE] };
}

/** If named twice, it must be the same customer: a link for the wrong one would be worse than none. */
async function namedCustomer(ctx: Context, { customerUid, email }: LoginLinkTarget): Promise<Customer> {
  const byUid = customerUid ? await knownCustomer(ctx, customerUid) : undefined;
  const byEmail = email ? await customerWithEmail(ctx, email) : undefined;
  if (byUid && byEmail && byUid.id !== byEmail.id)
    throw new ValidationError({ email: ['The email is not that of the customer.'] });
  const named = byUid ?? byEmail;
  if (!named) throw customerNotFound();
  return named;
}

/** Clients that always name a customer name themselves; about other customers nothing is revealed, not even that they exist. */
async function namedOneself(ctx: Context, { customerUid, email }: LoginLinkTarget): Promise<Target> {
  const viewer = viewerOf(ctx);
  const own = await findUser(ctx.db, viewer);
  const isOneself =
    (!customerUid || own?.customerUid === customerUid) && (!email || own?.emailKey === emailKey(email.trim()));
  if (!isOneself) throw linksForOthers();
  return ownTarget(viewer);
}

function ownTarget({ customerId, userId, scopes }: Viewer): Target {
  return { customerId, userId, scopes };
}
