/**
 * Pages of 25 subscribers over REST, on a short and a long list of one customer, asked for in turns: the first, a
 * middle and the last page, and by activity. The long list's median must stay within twice the short list's.
 *
 *   node bench/subscriber-page.ts [--smoke] [--long 200000] [--rounds 200]
 */
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startBenchDatabase } from './support/bench-database.ts';
import { median } from './support/median.ts';
import { startProduct, type Product } from './support/product.ts';

const { values } = parseArgs({
  options: { smoke: { type: 'boolean', default: false }, long: { type: 'string' }, rounds: { type: 'string' } },
});
const SHORT = 2_000;
const LONG = Number(values.long ?? (values.smoke ? 20_000 : 200_000));
const ROUNDS = Number(values.rounds ?? (values.smoke ? 10 : 200));
const PER_PAGE = 25;
const RATIO_MAX = 2;

/** Every second person opened, every twentieth clicked. */
const OPENERS = 2;
const CLICKERS = 20;

interface Kind {
  readonly name: string;
  readonly query: string;
  /** Rows of that kind among `size` people. */
  readonly rows: (size: number) => number;
  /** Where the page lies: 0 is the first, 1 the last. */
  readonly place: number;
  /** Whether the bar of the issue is on it. */
  readonly isBarred: boolean;
}

const everybody = { query: '', rows: (size: number) => size };
const openers = { query: '&open=yes', rows: (size: number) => size / OPENERS };
const kinds: readonly Kind[] = [
  { name: 'first', ...everybody, place: 0, isBarred: true },
  { name: 'middle', ...everybody, place: 0.5, isBarred: false },
  { name: 'last', ...everybody, place: 1, isBarred: true },
  { name: 'open=yes, first', ...openers, place: 0, isBarred: true },
  { name: 'open=yes, last', ...openers, place: 1, isBarred: true },
  { name: 'click=yes, first', query: '&click=yes', rows: (size) => size / CLICKERS, place: 0, isBarred: false },
  { name: 'open=no, first', query: '&open=no', rows: (size) => size - size / OPENERS, place: 0, isBarred: false },
  { name: 'open=no, last', query: '&open=no', rows: (size) => size - size / OPENERS, place: 1, isBarred: false },
];

const server = await startBenchDatabase(values.smoke);
const product = await startProduct(server.url, { ROLES: 'web' });
try {
  const [short, long] = [await makeList(product, SHORT), await makeList(product, LONG)];
  console.log(`page of ${PER_PAGE} over REST, median of ${ROUNDS}: ${SHORT} people, ${LONG} people, ratio`);
  for (const kind of kinds) await compare(kind, short, long);
} finally {
  await product.stop();
  await server.stop();
}

async function makeList({ rest }: Product, size: number): Promise<string> {
  const contact = {
    company: 'Shop',
    address_1: '1',
    city: 'S',
    state: 'CA',
    zip: '1',
    phone: '1',
    country_id: 1,
    email: 'shop@shop.example',
  };
  const list = {
    name: `People ${size}`,
    default_subject: 'News',
    from_email: 'news@shop.example',
    from_name: 'Shop',
    contact,
  };
  const { list_uid } = await rest<{ list_uid: string }>('POST', '/lists', list);
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query(
    `WITH l AS (SELECT customer_id, id FROM mail_list WHERE uid = $2),
     people AS (
       INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields)
       SELECT l.customer_id, l.id, 'person' || n || '@example.org', 'person' || n || '@example.org', 'subscribed',
              jsonb_build_object('FIRST_NAME', 'Name' || n, 'LAST_NAME', 'Last' || n % 100)
         FROM l, generate_series(1, $1::int) n RETURNING customer_id, list_id, id)
     INSERT INTO hot.subscriber_activity (customer_id, list_id, subscriber_id, opened_at, clicked_at)
     SELECT customer_id, list_id, id, now(), CASE WHEN id % ${CLICKERS} = 0 THEN now() END FROM people WHERE id % ${OPENERS} = 0`,
    [size, list_uid],
  );
  await client.query(
    `UPDATE hot.list_counter c SET openers = a.openers, clickers = a.clickers
       FROM (SELECT list_id, count(opened_at) AS openers, count(clicked_at) AS clickers FROM hot.subscriber_activity GROUP BY list_id) a
      WHERE a.list_id = c.list_id`,
  );
  await client.query('VACUUM ANALYZE subscriber, hot.subscriber_activity, hot.subscriber_block, hot.list_counter');
  await client.end();
  return list_uid;
}

async function compare(kind: Kind, short: string, long: string): Promise<void> {
  const times: [number[], number[]] = [[], []];
  for (let round = -5; round < ROUNDS; round++) {
    const pair = [await ask(kind, short, SHORT), await ask(kind, long, LONG)] as const;
    // The first few warm caches up.
    if (round >= 0) pair.forEach((ms, index) => times[index]?.push(ms));
  }
  const [a, b] = [median(times[0]), median(times[1])];
  const verdict = !kind.isBarred ? '' : b / a <= RATIO_MAX ? '(within the bar)' : '(OVER THE BAR)';
  console.log(`${kind.name.padEnd(18)} ${a.toFixed(2)} ms  ${b.toFixed(2)} ms  ${(b / a).toFixed(2)} ${verdict}`);
  if (kind.isBarred && !values.smoke && b / a > RATIO_MAX) process.exitCode = 1;
}

async function ask(kind: Kind, list: string, size: number): Promise<number> {
  const pages = Math.ceil(kind.rows(size) / PER_PAGE);
  const page = Math.max(1, Math.round(kind.place * pages));
  const startedAt = performance.now();
  const answer = await product.rest<{ data: unknown[]; meta: { total: number } }>(
    'GET',
    `/subscribers?list_uid=${list}&per_page=${PER_PAGE}&page=${page}${kind.query}`,
  );
  const ms = performance.now() - startedAt;
  if (answer.data.length !== PER_PAGE || answer.meta.total !== kind.rows(size))
    throw new Error(`${kind.name}: ${answer.data.length} of ${answer.meta.total}`);
  return ms;
}
