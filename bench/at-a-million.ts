/**
 * What screens read, on a list of 10,000 people with 50,000 events and on one of 1,000,000 with 5,000,000, asked for in
 * turns over HTTP: pages, totals, statistics, pages of logs. The large one's median must stay within twice the small
 * one's. Then the log of all opens is downloaded, beside the same rows by COPY.
 *
 *   node bench/at-a-million.ts [--smoke] [--large 1000000] [--small 10000] [--rounds 60]
 */
import { parseArgs } from 'node:util';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { startBenchDatabase } from './support/bench-database.ts';
import { OPENS_A_PERSON, fillCampaign, type FilledCampaign } from './support/fill-campaign.ts';
import { median } from './support/median.ts';
import { BENCH_TOKEN, startProduct } from './support/product.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    large: { type: 'string' },
    small: { type: 'string' },
    rounds: { type: 'string' },
  },
});
const SMALL = Number(values.small ?? (values.smoke ? 1_000 : 10_000));
const LARGE = Number(values.large ?? (values.smoke ? 10_000 : 1_000_000));
const ROUNDS = Number(values.rounds ?? (values.smoke ? 5 : 60));
const WARM_UP_ROUNDS = 5;
const PER_PAGE = 25;
const RATIO_MAX = 2;

interface Read {
  readonly name: string;
  /** A path of the REST interface, or a GraphQL query. */
  readonly ask: (campaign: FilledCampaign) => string;
  readonly isBarred: boolean;
}

const people = (rows: (size: number) => number, place: number, query: string) => (campaign: FilledCampaign) => {
  const page = Math.max(1, Math.round((place * rows(campaign.size)) / PER_PAGE));
  return `/subscribers?list_uid=${campaign.listUid}&per_page=${PER_PAGE}&page=${page}${query}`;
};
const all = (size: number) => size;
const log = (name: string, cursor: (campaign: FilledCampaign) => string | null) => (campaign: FilledCampaign) =>
  `{ campaignLog(uid: "${campaign.campaignUid}", log: ${name}, perPage: 100, after: ${JSON.stringify(cursor(campaign))}) { ... on CampaignLogPage { csv cursor } } }`;

const reads: readonly Read[] = [
  { name: 'people, first page and total', ask: people(all, 0, ''), isBarred: true },
  { name: 'people, middle page', ask: people(all, 0.5, ''), isBarred: true },
  { name: 'people, last page', ask: people(all, 1, ''), isBarred: true },
  { name: 'who opened, first page', ask: people((size) => (size * 4) / 5, 0, '&open=yes'), isBarred: true },
  { name: 'who opened, last page', ask: people((size) => (size * 4) / 5, 1, '&open=yes'), isBarred: true },
  { name: 'who clicked, last page', ask: people((size) => size / 2, 1, '&click=yes'), isBarred: true },
  { name: 'who never opened, first page', ask: people((size) => size / 5, 0, '&open=no'), isBarred: true },
  { name: 'GET /lists', ask: () => '/lists', isBarred: false },
  { name: 'GET /lists/:uid', ask: ({ listUid }) => `/lists/${listUid}`, isBarred: true },
  { name: 'GET /campaigns', ask: () => '/campaigns', isBarred: false },
  { name: 'GET /campaigns/:uid', ask: ({ campaignUid }) => `/campaigns/${campaignUid}`, isBarred: true },
  { name: 'open log, first 100', ask: log('open', () => null), isBarred: true },
  { name: 'open log, last 100', ask: log('open', ({ lastOpens }) => lastOpens), isBarred: true },
  { name: 'tracking log, last 100', ask: log('tracking', ({ lastPeople }) => lastPeople), isBarred: true },
];

const server = await startBenchDatabase(values.smoke);
const product = await startProduct(server.url, { ROLES: 'web' });
try {
  const startedAt = performance.now();
  const [small, large] = [await fillCampaign(server.url, SMALL), await fillCampaign(server.url, LARGE)];
  console.log(`filled in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
  console.log(`median of ${ROUNDS}: ${SMALL} people, ${LARGE} people, ratio`);
  for (const read of reads) await compare(read, small, large);
  await measureDownload(large);
} finally {
  await product.stop();
  await server.stop();
}

async function compare({ name, ask, isBarred }: Read, small: FilledCampaign, large: FilledCampaign): Promise<void> {
  const times: [number[], number[]] = [[], []];
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    const pair = [await timed(ask(small)), await timed(ask(large))];
    if (round >= 0) pair.forEach((ms, index) => times[index]?.push(ms));
  }
  const [a, b] = [median(times[0]), median(times[1])];
  const isOver = isBarred && b / a > RATIO_MAX;
  const verdict = isBarred ? (isOver ? '(OVER THE BAR)' : '(within the bar)') : '';
  console.log(`${name.padEnd(30)} ${a.toFixed(2)} ms  ${b.toFixed(2)} ms  ${(b / a).toFixed(2)} ${verdict}`);
  if (isOver && !values.smoke) process.exitCode = 1;
}

async function timed(what: string): Promise<number> {
  const startedAt = performance.now();
  const headers = { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': 'application/json' };
  const answer = what.startsWith('/')
    ? await fetch(`${product.url}/api/v1${what}`, { headers })
    : await fetch(`${product.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query: what }) });
  const text = await answer.text();
  const ms = performance.now() - startedAt;
  if (!answer.ok || text.includes('"errors"'))
    throw new Error(`${what} answered ${answer.status}: ${text.slice(0, 500)}`);
  if (text.includes('"data":[]') || text.includes('"csv":""'))
    throw new Error(`${what} is empty: the bench asks wrongly.`);
  return ms;
}

async function measureDownload({ size, campaignUid, campaignId }: FilledCampaign): Promise<void> {
  const rows = (size * 4 * OPENS_A_PERSON) / 5;
  const before = product.peakMegabytes();
  const startedAt = performance.now();
  const answer = await fetch(`${product.url}/api/v1/campaigns/${campaignUid}/open-log/download`, {
    headers: { authorization: `Bearer ${BENCH_TOKEN}` },
  });
  let lines = -1;
  for await (const piece of answer.body ?? []) for (const byte of piece) if (byte === 0x0a) lines++;
  const ours = performance.now() - startedAt;
  if (lines !== rows) throw new Error(`The log has ${lines} rows, not ${rows}.`);
  const bare = await copyOut(campaignId);
  const perSecond = (ms: number) => `${Math.round(rows / (ms / 1_000)).toLocaleString('en')} rows/s`;
  console.log(
    `open log of ${rows.toLocaleString('en')} rows: download ${perSecond(ours)}, COPY by itself ${perSecond(bare)}`,
  );
  console.log(
    `memory of the product at its peak: ${before.toFixed(0)} MB before the download, ${product.peakMegabytes().toFixed(0)} MB after`,
  );
}

/** The same rows and columns, joined and ordered, without the product. */
async function copyOut(campaignId: bigint): Promise<number> {
  const client = new pg.Client(server.url);
  await client.connect();
  const startedAt = performance.now();
  const stream = client.query(
    copyTo(`COPY (
      SELECT e.at, s.id, s.email, e.ip, e.user_agent, e.country, e.is_machine FROM hot.open_event e
        LEFT JOIN subscriber s ON s.customer_id = e.customer_id AND s.id = e.recipient_id
         AND s.list_id = (SELECT list_id FROM campaign WHERE id = ${campaignId})
       WHERE e.source_id = ${campaignId} ORDER BY e.at, e.id) TO STDOUT WITH CSV`),
  );
  for await (const _ of stream) continue;
  const ms = performance.now() - startedAt;
  await client.end();
  return ms;
}
