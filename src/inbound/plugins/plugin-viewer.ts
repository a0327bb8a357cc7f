/** Who asks for something of a plugin: by the session of the browser only. */
import { authenticateToken } from '../../domain/accounts/authenticate-token.ts';
import { findCustomerOfPage } from '../../domain/accounts/customer-store.ts';
import { sessionForReading, sessionOf } from '../../domain/accounts/session-cookie.ts';
import { holdsScope } from '../../domain/accounts/scopes.ts';
import type { Viewer } from '../../domain/context.ts';
import type { PluginRequest } from './plugin-request.ts';

export interface PluginSession {
  readonly viewer: Viewer;
  readonly customerUid: string;
  readonly languageId: number | null;
  /** An administrator whose session may act as one. */
  readonly isAdmin: boolean;
}

/** The session; null: there is none, it has ended, or what would change something comes from another site. */
export async function sessionOfRequest({ ctx, req, caller }: PluginRequest): Promise<PluginSession | null> {
  const { baseUrl, isInMaintenance } = ctx.installation;
  const isReading = req.method === 'GET' || req.method === 'HEAD';
  const text = isReading ? sessionForReading(req.headers, baseUrl) : sessionOf(req.headers, baseUrl);
  const ipAddress = caller.ipAddress === '' ? null : caller.ipAddress;
  const found = text === undefined ? null : await authenticateToken(ctx, { text, isSession: true, ipAddress });
  if (!found || (isInMaintenance === true && !found.mayUseInMaintenance)) return null;
  const { viewer } = found;
  const customer = await findCustomerOfPage(ctx.db, viewer.customerId);
  if (!customer) return null;
  const isAdmin = viewer.isAdmin && holdsScope(viewer.scopes, 'admin');
  return { viewer, customerUid: customer.uid, languageId: customer.languageId, isAdmin };
}
