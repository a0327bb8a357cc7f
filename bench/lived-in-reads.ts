/**
 * What reading costs where much has gathered: statistics of campaigns, numbered pages of segments and of people by what they
 * did, over HTTP, on the large list of the lived-in database. Medians of some rounds.
 *
 *   node bench/lived-in-reads.ts [--smoke] [--rounds 3]
 */
import { parseArgs } from 'node:util';
import { openDatabase } from '../src/db/database.ts';
import { refreshCounts } from '../src/domain/audience/segments/refresh-counts.ts';
import { refreshReceived } from '../src/domain/delivery/campaigns/refresh-received.ts';
import { silentLog as log } from '../src/lib/log.ts';
import { startBenchDatabase } from './support/bench-database.ts';
import { livedInLists } from './support/lived-in.ts';
import { medianMs } from './support/median.ts';
import { BENCH_TOKEN, startProduct } from './support/product.ts';

const { values } = parseArgs({ options: { smoke: { type: 'boolean', default: false }, rounds: { type: 'string' } } });
const ROUNDS = Number(values.rounds ?? (values.smoke ? 1 : 3));
const PER_PAGE = 25;
/** Campaigns of one query. */
const CAMPAIGNS = 60;

const RULES: Readonly<Record<string, unknown>> = {
  received: { received: {} },
  'received 5 campaigns': { received: { atLeast: 5 } },
  'got the last 3, opened none in 90 days': {
    all: [{ received: { campaigns: { last: 3 }, atLeast: 3 } }, { none: [{ opened: { inLastDays: 90 } }] }],
  },
  'ever opened': { opened: {} },
  'opened one of the last 5, by people': { opened: { campaigns: { last: 5 }, peopleOnly: true } },
  'opened in 90 days': { opened: { inLastDays: 90 } },
  'opened 3 times': { opened: { atLeast: 3 } },
  'ever clicked': { clicked: {} },
  'clicked a link that contains': { clicked: { linkContains: 'example' } },
  'one of the tags': { tags: { hasAny: ['tag 1', 'TAG 5'] } },
};
const FILTERS = ['', '&open=yes', '&open=no', '&click=yes', '&click=no', '&open=yes&click=no'];

interface Page {
  readonly data: readonly unknown[];
  readonly meta: { readonly total: number };
}

const server = await startBenchDatabase(values.smoke);
const product = await startProduct(server.url, { ROLES: 'web' });
const database = openDatabase({ url: server.url, poolSize: 1, log });
try {
  const { large } = await livedInLists(server.url);
  console.log(`a list of ${large.people} people with ${large.campaigns.length} campaigns; medians of ${ROUNDS}`);
  // As the clock has done it after some minutes.
  while ((await refreshReceived({ database, log })) > 0);
  while ((await refreshCounts({ database, log })) > 0);
  await statistics();
  for (const filter of FILTERS)
    await pages(`people${filter.replaceAll('&', ' ')}`, `/subscribers?list_uid=${large.uid}${filter}`);
  for (const [name, rule] of Object.entries(RULES)) {
    const { segment_uid } = await product.rest<{ segment_uid: string }>('POST', `/lists/${large.uid}/segments`, {
      name,
      rule,
    });
    await pages(`segment: ${name}`, `/segments/${segment_uid}/subscribers?`);
  }
} finally {
  await database.close();
  await product.stop();
  await server.stop();
}

async function statistics(): Promise<void> {
  const figures = '{ openCount links { url } topLocations { country } topOpenSubscribers { openCount } }';
  const of = (campaigns: number) =>
    graphql(
      `{ campaigns(last: ${campaigns}) { ... on CampaignConnection { edges { node { statistics ${figures} } } } } }`,
    );
  report('statistics of a campaign', [await medianMs(ROUNDS, () => of(1))]);
  report(`statistics of ${CAMPAIGNS} campaigns`, [await medianMs(ROUNDS, () => of(CAMPAIGNS))]);
}

async function graphql(query: string): Promise<void> {
  const answer = await fetch(`${product.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const text = await answer.text();
  if (!answer.ok || text.includes('"errors"')) throw new Error(`${query} answered ${answer.status}: ${text}`);
}

/** The first, a middle and the last page. */
async function pages(name: string, path: string): Promise<void> {
  const read = (page: number) => product.rest<Page>('GET', `${path}&per_page=${PER_PAGE}&page=${page}`);
  const { total } = (await read(1)).meta;
  const last = Math.max(1, Math.ceil(total / PER_PAGE));
  const times: number[] = [];
  for (const page of [1, Math.ceil(last / 2), last]) times.push(await medianMs(ROUNDS, () => read(page)));
  report(`${name} (${total})`, times);
}

function report(name: string, times: readonly number[]): void {
  console.log(`${name.padEnd(60)} ${times.map((ms) => `${ms.toFixed(0)} ms`).join('  ')}`);
}
