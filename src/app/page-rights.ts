/** Who looks at a page of the installation: by an API token or by a browser's session. */
import type { IncomingMessage } from 'node:http';
import { authenticateToken, type Credential } from '../domain/accounts/authenticate-token.ts';
import { noteRefusedToken } from '../domain/accounts/note-refused-token.ts';
import { sessionForReading, sessionOf } from '../domain/accounts/session-cookie.ts';
import type { Context } from '../domain/context.ts';
import { programOf } from '../lib/user-agent.ts';

export type PageRights = 'administrator' | 'notAdministrator' | 'unknown';

/** The rights of a caller. */
export async function rightsOf(ctx: Context, req: IncomingMessage, ipAddress: string | null): Promise<PageRights> {
  const credentials = credentialsOf(req, ctx.installation.baseUrl);
  let rights: PageRights = 'unknown';
  for (const credential of credentials) {
    const found = await authenticateToken(ctx, { ...credential, ipAddress });
    if (found?.viewer.isAdmin) return 'administrator';
    if (found) rights = 'notAdministrator';
  }
  const [first] = credentials;
  if (rights === 'unknown' && first) {
    const client = programOf(req.headers['user-agent']);
    noteRefusedToken(ctx, { ipAddress, client, entryPoint: 'page' }, first);
  }
  return rights;
}

/**
 * An API token (as bearer token or Basic password) and the session of a browser. Both may be sent: the Authorization header may
 * be meant for a proxy.
 */
function credentialsOf(req: IncomingMessage, baseUrl: string): Omit<Credential, 'ipAddress'>[] {
  const [, scheme = '', credentials = ''] = /^(Bearer|Basic) +(\S+)$/i.exec(req.headers.authorization ?? '') ?? [];
  const token =
    scheme.toLowerCase() === 'basic'
      ? Buffer.from(credentials, 'base64')
          .toString()
          .replace(/^[^:]*:/, '')
      : credentials;
  const isReading = req.method === 'GET' || req.method === 'HEAD';
  const session = (isReading ? sessionForReading : sessionOf)(req.headers, baseUrl) ?? '';
  return [
    { text: token, isSession: false },
    { text: session, isSession: true },
  ].filter(({ text }) => text !== '');
}
