/** Makes the context of one operation: who asks, by which door, from where. */
import type { Notifications } from '../db/listen.ts';
import type { Prisma } from '../db/prisma.ts';
import { authenticateToken } from '../domain/accounts/authenticate-token.ts';
import type { Context } from '../domain/context.ts';
import type { Door, GraphqlContext } from './context.ts';

/** What all requests share. */
export interface Means extends Omit<Context, 'db' | 'tx' | 'viewer' | 'ipAddress'> {
  readonly prisma: Prisma;
  readonly notifications: Notifications;
}

export interface Credentials {
  readonly token?: string | undefined;
  readonly ipAddress: string | null;
  readonly door: Door;
}

/** Looks up the token, once per request. One that is not valid makes the viewer null; fields then say so. */
export async function makeContext(means: Means, { token, ipAddress, door }: Credentials): Promise<GraphqlContext> {
  const found = token ? await authenticateToken(means.database, token, ipAddress) : null;
  return {
    ...means,
    db: means.database,
    tx: undefined,
    viewer: found?.viewer ?? null,
    restDialect: found?.restDialect ?? null,
    ipAddress,
    door,
    executions: new Map(),
  };
}

const BEARER = /^Bearer +([^\s]+)$/i;

/** The token of an `Authorization: Bearer` header. */
export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header.trim())?.[1];
}
