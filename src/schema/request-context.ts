/** Makes the context of one operation: caller, entry point, address. */
import type { Notifications } from '../db/listen.ts';
import type { Prisma } from '../db/prisma.ts';
import type { AuditTrail } from '../domain/accounts/audit-trail.ts';
import { authenticateToken } from '../domain/accounts/authenticate-token.ts';
import type { Authentication } from '../domain/accounts/authentication.ts';
import type { TokenCache } from '../domain/accounts/token-cache.ts';
import { noteRefusedToken } from '../domain/accounts/note-refused-token.ts';
import type { Context, Viewer } from '../domain/context.ts';
import type { AnswerMemory } from '../lib/large-answers.ts';
import { programOf } from '../lib/user-agent.ts';
import type { EntryPoint, GraphqlContext } from './context.ts';

/** What all requests share. */
export interface Means extends Omit<
  Context,
  'db' | 'tx' | 'viewer' | 'ipAddress' | 'client' | 'entryPoint' | 'change'
> {
  readonly prisma: Prisma;
  readonly notifications: Notifications;
  readonly audit: AuditTrail;
  readonly tokens: TokenCache;
}

export interface Credentials {
  /** An API token. */
  readonly token?: string | undefined;
  /** The text of a session's cookie, if the request comes from our own pages; used only without a token. */
  readonly session?: string | undefined;
  readonly ipAddress: string | null;
  readonly userAgent: string | undefined;
  readonly entryPoint: EntryPoint;
  readonly setCookie?: ((cookie: string) => void) | undefined;
  readonly answer?: AnswerMemory | undefined;
}

/** Looks up the token, once per request. An invalid one makes the viewer null; fields then refuse. */
export async function makeContext(means: Means, credentials: Credentials): Promise<GraphqlContext> {
  const { token, session, ipAddress, userAgent, entryPoint, setCookie, answer } = credentials;
  const text = token ?? session;
  const client = programOf(userAgent);
  const isSession = token === undefined;
  const found = text ? await authenticateToken(means, { text, isSession, ipAddress }) : null;
  if (text && !found) noteRefusedToken(means, { ipAddress, client, entryPoint }, { text, isSession });
  return {
    ...means,
    db: means.database,
    tx: undefined,
    viewer: found && viewerAt(entryPoint, found, means.installation.isInMaintenance === true),
    restDialect: found?.restDialect ?? null,
    ipAddress,
    client,
    entryPoint,
    setCookie,
    answer,
    executions: new Map(),
    change: { write: undefined },
  };
}

/**
 * If a plan has no access to the API (`api_access`), API tokens of its customer are refused, and login tokens work at the web
 * app's entry point only. During maintenance few callers are let in.
 */
function viewerAt(entryPoint: EntryPoint, found: Authentication, isInMaintenance: boolean): Viewer {
  const { viewer } = found;
  if (isInMaintenance && !found.mayUseInMaintenance) return { ...viewer, refusal: 'maintenance', scopes: [] };
  const isForWeb = viewer.tokenKind === 'session' || (viewer.tokenKind === 'login' && entryPoint === 'graphql');
  return found.mayUseApi || isForWeb ? viewer : { ...viewer, refusal: 'api', scopes: [] };
}

const BEARER = /^Bearer +([^\s]+)$/i;

/** The token of an `Authorization: Bearer` header. */
export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header.trim())?.[1];
}
