/** Requests about sending servers, as tests make them. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { RestAnswer, RestApp, RestRequest } from './rest-app.ts';

export function serverCalls(app: RestApp) {
  return {
    create: (body: object, more: RestRequest = {}) => app.rest('/sending_servers', { method: 'POST', body, ...more }),
    patch: (uid: string, body: object, token?: string) =>
      app.rest(`/sending_servers/${uid}`, { method: 'PATCH', body, ...(token ? { token } : {}) }),
    stored: (uid: string) => queryRows(app.ctx.db, sql`SELECT * FROM sending_server WHERE uid = ${uid}`),
  };
}

export const uidOf = ({ body }: RestAnswer) => (body as { sending_server_uid: string }).sending_server_uid;
export const errorsOf = ({ status, body }: RestAnswer) => ({ status, errors: (body as { errors?: object }).errors });
