/** Requests whose answers have much html: of a customer with a token, and of a stranger who has a link. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { BENCH_TOKEN, type Product } from './product.ts';
import type { PublicRequest } from './public-requests.ts';

/** As large as html may be, and quick to read: a style sheet. */
const HTML = `<style>/*${'x'.repeat(4 * 1_048_576 - 500)}*/</style><p>Hello <a href="{WEB_VIEW_URL}">page</a></p>`;
/** The most of one request: 32 MB. */
const CAMPAIGNS = 7;

const listsShape = z.object({ data: z.array(z.object({ uid: z.string() })) });
const campaignShape = z.object({ campaign_uid: z.string() });
const previewShape = z.object({ preview: z.object({ html: z.string() }) });

/** Makes the campaigns on the latest list and names the requests. */
export async function contentRequests(product: Product): Promise<readonly PublicRequest[]> {
  const [list] = listsShape.parse(await product.rest('GET', '/lists')).data;
  const campaign = {
    list_uid: list?.uid,
    name: 'Large',
    subject: 'News',
    from_email: 'news@bench.example',
    from_name: 'Bench',
  };
  let uid = '';
  for (let count = 0; count < CAMPAIGNS; count++)
    uid = campaignShape.parse(await product.rest('POST', '/campaigns', { ...campaign, html: HTML })).campaign_uid;
  const { preview } = previewShape.parse(await product.rest('GET', `/campaigns/${uid}/preview`));
  const [view = ''] = /\/view\/[^"]+/.exec(preview.html) ?? [];
  // What reading and composing has left is no part of the idle process.
  await sleep(5_000);
  const head = `Host: localhost\r\nAuthorization: Bearer ${BENCH_TOKEN}\r\n`;
  const get = (path: string) => `GET ${path} HTTP/1.1\r\n${head}\r\n`;
  const query = encodeURIComponent(`{campaigns(first:${CAMPAIGNS}){... on CampaignConnection{nodes{html}}}}`);
  return [
    { name: 'GET /api/v1/campaigns (28 MB of html)', request: get(`/api/v1/campaigns?per_page=${CAMPAIGNS}`) },
    { name: 'GET /graphql (28 MB of html)', request: get(`/graphql?query=${query}`) },
    { name: 'GET /api/v1/campaigns/:uid (4 MB)', request: get(`/api/v1/campaigns/${uid}`) },
    { name: 'GET /view/frame/ (4 MB)', request: get(view.replace('/view/', '/view/frame/')) },
  ];
}
