/** Watching the counts of an automation ends with the right to see them (hard case D10): within two seconds, whichever way the right ended. */
import { once } from 'node:events';
import { afterAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { automationRest } from '../support/automation-rest.ts';
import { browse, cookieOf } from '../support/browser.ts';
import { onBusyMachine } from '../support/busy-machine.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { field } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const GRAPHQL = `${app.baseUrl}/graphql`;
const CLOSED_WITHIN_MS = 2_000;
const COUNTS = 'subscription ($uid: String!) { automationCounts(uid: $uid) { versions { nodes { node waiting } } } }';
const FLOW = {
  triggers: [{ type: 'execute' }],
  nodes: [{ id: 'ask', type: 'api_call' }],
  edges: [{ from: 'start', to: 'ask' }],
};
const sockets: WebSocket[] = [];
afterAll(() => sockets.forEach((socket) => socket.terminate()));

interface Credentials {
  readonly token?: string;
  readonly cookie?: string;
}

/** A customer with an active automation, logged in as a program and as a browser. */
async function watchedWorld() {
  const tenant = await app.newTenant();
  const list = await app.rest('/lists', { method: 'POST', body: LIST_BODY, token: tenant.token });
  const listUid = String(field(list, 'list_uid'));
  const uid = await automationRest(app, { token: tenant.token, listUid }).active(FLOW);
  const { email, password } = tenant;
  const login = await app.rest('/user/login', { method: 'POST', token: null, body: { email, password } });
  const link = await app.rest('/login-token', { method: 'POST', token: tenant.token });
  const [row] = await queryRows<{ customerUid: string; userUid: string }>(
    app.ctx.db,
    sql`SELECT c.uid AS "customerUid", u.uid AS "userUid" FROM customer c JOIN app_user u ON u.customer_id = c.id WHERE c.id = ${tenant.customerId}`,
  );
  const created = await graphql(
    `mutation { made: createApiToken(input: { name: "watcher" }) { ... on CreatedApiToken { token apiToken { uid } } } }`,
    { token: tenant.token },
  );
  const { made } = JSON.parse(created).data;
  return {
    ...{ uid, token: tenant.token, customerUid: row?.customerUid ?? '', userUid: row?.userUid ?? '' },
    made: { token: String(made.token), uid: String(made.apiToken.uid) },
    login: String(field(login, 'token')),
    cookie: cookieOf(await browse(String(field(link, 'url')))),
  };
}
type Watched = Awaited<ReturnType<typeof watchedWorld>>;

/** Watches from the first counts on; `closed` has the code with which the server closes the socket. */
async function watchCounts({ token, cookie }: Credentials, uid: string) {
  const headers = cookie ? { origin: app.baseUrl, headers: { cookie } } : {};
  const socket = new WebSocket(GRAPHQL.replace('http', 'ws'), 'graphql-transport-ws', headers);
  sockets.push(socket);
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  await once(socket, 'open');
  const say = (message: object) => socket.send(JSON.stringify(message));
  say({ type: 'connection_init', ...(token ? { payload: { apiToken: token } } : {}) });
  expect(String((await once(socket, 'message'))[0])).toContain('connection_ack');
  say({ type: 'subscribe', id: '1', payload: { query: COUNTS, variables: { uid } } });
  expect(String((await once(socket, 'message'))[0])).toContain('automationCounts');
  return { socket, closed };
}

async function graphql(query: string, { token, cookie }: Credentials): Promise<string> {
  const headers = {
    'content-type': 'application/json',
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    ...(cookie ? { cookie, origin: app.baseUrl } : {}),
  };
  const { text } = await browse(GRAPHQL, { method: 'POST', headers, body: JSON.stringify({ query }) });
  expect(text).not.toMatch(/"errors"|Error"/);
  return text;
}

const cookieOnly = ({ cookie }: Watched) => ({ cookie });
const tokenOnly = ({ token }: Watched) => ({ token });
const logOut = (who: Credentials) => graphql('mutation { logOut { __typename } }', who);
const revoke = (uid: string, token: string) =>
  graphql(`mutation { revokeApiToken(uid: "${uid}") { __typename } }`, { token });
const setAdministrator = (userUid: string) =>
  graphql(`mutation { setAdministrator(input: { userUid: "${userUid}", isAdmin: true }) { __typename } }`, {
    token: app.adminToken,
  });
async function change({ customerUid }: Watched, method: string, path = '', body?: object): Promise<void> {
  const answer = await app.rest(`/customers/${customerUid}${path}`, { method, ...(body ? { body } : {}) });
  expect(answer.status, answer.text).toBe(200);
}

/** How the right ends, and who watches. */
const WAYS: readonly (readonly [string, (of: Watched) => Credentials, (of: Watched) => Promise<unknown>])[] = [
  ['the session is logged out', cookieOnly, ({ cookie }) => logOut({ cookie })],
  ['the login is logged out', ({ login }) => ({ token: login }), ({ login }) => logOut({ token: login })],
  ['the token is revoked', ({ made }) => made, ({ made, token }) => revoke(made.uid, token)],
  ['the password is another one', cookieOnly, (of) => change(of, 'PATCH', '', { password: 'entirely different 9' })],
  ['the user becomes an administrator', tokenOnly, ({ userUid }) => setAdministrator(userUid)],
  ['the customer is disabled', tokenOnly, (of) => change(of, 'PATCH', '/disable')],
  ['the customer is deleted', tokenOnly, (of) => change(of, 'DELETE')],
];

describe('watching ends when', () => {
  test.each(WAYS)('%s', async (_name, by, end) => {
    const [watched, other] = [await watchedWorld(), await watchedWorld()];
    const { closed } = await watchCounts(by(watched), watched.uid);
    const others = await watchCounts({ token: other.token }, other.uid);
    await end(watched);
    const since = performance.now();
    expect(await closed).toBe(4401);
    expect(performance.now() - since).toBeLessThan(onBusyMachine(CLOSED_WITHIN_MS));
    expect(others.socket.readyState).toBe(WebSocket.OPEN);
  });
});
