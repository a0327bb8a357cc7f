/** One request for every address that a stranger reaches, with a world behind them: a list, a large message, a file. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { BENCH_TOKEN, type Product } from './product.ts';

export interface PublicRequest {
  readonly name: string;
  /** As it goes over the wire. */
  readonly request: string;
}

const FILE_BYTES = 5_000_000;
const WAIT_TRIES_MAX = 200;
const CONTACT = {
  company: 'Bench',
  address_1: '1 High Street',
  city: 'Springfield',
  state: 'CA',
  zip: '12345',
  phone: '1',
  country_id: 1,
  email: 'owner@bench.example',
};
const SENDER = { from_email: 'news@bench.example', from_name: 'Bench' };
/** Near the largest that a campaign may have. */
const HTML = `<p>Hello {FIRST_NAME} <a href="https://shop.example/">go</a> <a href="{WEB_VIEW_URL}">page</a></p>${'<p>Text of a long message.</p>'.repeat(25_000)}`;

const mailShape = z.object({ messages: z.array(z.object({ id: z.number() })) });
const linksShape = z.object({ html: z.string() });

/** Makes the world through REST and names every public address with a request for it. */
export async function publicRequests(product: Product): Promise<readonly PublicRequest[]> {
  const list = { name: 'Bench', default_subject: 'News', ...SENDER, contact: CONTACT, allow_sign_up: true };
  const { list_uid } = await product.rest<{ list_uid: string }>('POST', '/lists', list);
  await product.rest('POST', '/subscribers', { list_uid, EMAIL: 'reader@bench.example', FIRST_NAME: 'Ann' });
  const html = await sentHtml(product, list_uid);
  const links = new Set([...html.matchAll(/https?:\/\/[^\s"'<>]+/g)].map(([link]) => new URL(link).pathname));
  const linkTo = (prefix: string) => [...links].find((path) => path.startsWith(prefix)) ?? `${prefix}missing`;
  const file = await uploadedFile(product);
  const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
  const post = (path: string, type: string, body: string) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const form = (path: string, body: string) => post(path, 'application/x-www-form-urlencoded', body);
  const json = (path: string, body: object) => post(path, 'application/json', JSON.stringify(body));
  const paths = [
    ...['/', '/docs', '/docs/graphql', '/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css', '/docs/viewer.js'],
    ...['/api/v1/openapi.json', '/api/v1/', '/api/v1/lists', '/api/v1/nothing', '/healthz', '/readyz', '/nothing'],
    ...[linkTo('/o/'), '/o/unknown.gif', linkTo('/c/'), '/c/unknown', linkTo('/u/'), linkTo('/view/')],
    ...[
      '/profile/unknown',
      '/confirm/unknown',
      `/signup/${list_uid}`,
      file,
      '/files/unknown/x',
      '/login/token/unknown',
    ],
    ...['/logout', '/verify-address/unknown', '/webhook/x/unknown', '/.well-known/mailwright-host', '/inbox'],
    ...['/inbox/1', '/inbox/1/html', '/inbox/1/source', '/inbox/messages/1'],
  ];
  return [
    { name: 'GET /graphql (explorer)', request: get('/graphql', 'Accept: text/html\r\n') },
    {
      name: 'GET /graphql (explorer, gzip)',
      request: get('/graphql', 'Accept: text/html\r\nAccept-Encoding: gzip\r\n'),
    },
    { name: 'GET /graphql (operation)', request: get('/graphql?query=%7B__typename%7D') },
    ...paths.map((path) => ({ name: `GET ${shortened(path)}`, request: get(path) })),
    { name: 'GET / without Host', request: 'GET / HTTP/1.1\r\n\r\n' },
    { name: 'GET / with an unknown Expect', request: get('/', 'Expect: miracles\r\n') },
    { name: 'POST /graphql', request: json('/graphql', { query: '{__typename}' }) },
    { name: 'POST /api/v1/login', request: json('/api/v1/login', { email: 'a@b.example', password: 'wrong' }) },
    { name: 'POST /u/', request: form(linkTo('/u/'), 'List-Unsubscribe=One-Click') },
    { name: 'POST /signup', request: form(`/signup/${list_uid}`, 'EMAIL=nobody') },
    { name: 'POST /webhook', request: json('/webhook/x/unknown', {}) },
  ];
}

function shortened(path: string): string {
  return path.length > 30 ? `${path.slice(0, 27)}...` : path;
}

/** The message as its reader got it. */
async function sentHtml(product: Product, listUid: string): Promise<string> {
  const campaign = { list_uid: listUid, name: 'Bench', subject: 'News', ...SENDER, html: HTML };
  const { campaign_uid } = await product.rest<{ campaign_uid: string }>('POST', '/campaigns', campaign);
  await product.rest('POST', `/campaigns/${campaign_uid}/run`);
  for (let tries = 0; tries < WAIT_TRIES_MAX; tries++) {
    const { messages } = mailShape.parse(await inbox(product, '?to=reader@bench.example'));
    const [message] = messages;
    if (message) return linksShape.parse(await inbox(product, `/${message.id}`)).html;
    await sleep(100);
  }
  throw new Error('The message did not arrive.');
}

async function inbox({ url }: Product, path: string): Promise<unknown> {
  const answer = await fetch(`${url}/inbox/messages${path}`);
  return answer.json();
}

/** The path of a large file. */
async function uploadedFile({ url }: Product): Promise<string> {
  const form = new FormData();
  form.append('file', new Blob([Buffer.alloc(FILE_BYTES, 'x')]), 'large.bin');
  const headers = { authorization: `Bearer ${BENCH_TOKEN}` };
  const answer = await fetch(`${url}/api/v1/file/upload`, { method: 'POST', headers, body: form });
  return new URL(z.object({ url: z.string() }).parse(await answer.json()).url).pathname;
}
