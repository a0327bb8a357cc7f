/** An import beside the least that a database can do with the same file, and the same file again. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { median } from './median.ts';
import type { Product } from './product.ts';
import { newList, untilImported, uploadImport } from './rest-import.ts';

interface Comparison {
  readonly product: Product;
  /** Resident megabytes of the product now. */
  readonly resident: () => number;
  /** The product's database. */
  readonly url: string;
  readonly rows: number;
  readonly rounds: number;
}

const LINES = 1_000;
const PRIME = 1_000_000_007;
const WATCH_MS = 100;
const FIRST_NAMES = ['Anna', 'Борис', 'Çelik', '李雷', 'Yusuf', 'Élodie', 'سارة', 'Marta', 'さくら', 'Γιώργος'];

/** Prints seconds and ratios; throws when anybody was lost, or changed by the second import. */
export async function compareRows({ product, resident, url, rows, rounds }: Comparison): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const times: Record<'bare' | 'first' | 'again', number[]> = { bare: [], first: [], again: [] };
  const idle = resident();
  let highest = 0;
  const watching = setInterval(() => (highest = Math.max(highest, resident())), WATCH_MS);
  try {
    for (let round = 0; round < rounds; round++) {
      const bareUid = await newList(product);
      times.bare.push(await timed(() => bare(client, bareUid, rows)));
      const listUid = await newList(product);
      await product.rest('POST', `/lists/${listUid}/add-field`, { type: 'text', label: 'City', tag: 'CITY' });
      const import_ = async () =>
        untilImported(product, listUid, await uploadImport(product, { listUid, file: file(rows) }));
      times.first.push(
        await timed(async () => {
          const { added } = await import_();
          if (added !== rows) throw new Error(`${added} of ${rows} were added.`);
        }),
      );
      const before = await updates(client);
      times.again.push(
        await timed(async () => {
          const { unchanged, updated } = await import_();
          if (unchanged !== rows || updated !== 0) throw new Error(`${unchanged} of ${rows} were left as they were.`);
        }),
      );
      const changed = (await updates(client)) - before;
      if (changed !== 0) throw new Error(`The second import updated ${changed} rows.`);
      const [b, f, a] = [times.bare, times.first, times.again].map((all) => (all.at(-1) ?? 0).toFixed(1));
      console.log(`round ${round + 1}: bare ${b} s, import ${f} s, again ${a} s`);
      await client.query('TRUNCATE subscriber, hot.subscriber_block, hot.list_counter');
    }
  } finally {
    clearInterval(watching);
    await client.end();
  }
  const [bareSeconds, first, again] = [median(times.bare), median(times.first), median(times.again)];
  console.log(`${rows} people: COPY and INSERT .. ON CONFLICT into the same tables ${bareSeconds.toFixed(1)} s`);
  console.log(`  import, upload included ${first.toFixed(1)} s: ${(first / bareSeconds).toFixed(2)} of that`);
  console.log(
    `  the same file again ${again.toFixed(1)} s: ${(again / first).toFixed(2)} of the first time, ${(again / bareSeconds).toFixed(2)} of the bare one; 0 rows updated`,
  );
  console.log(`  memory of the product: idle ${idle.toFixed(0)} MB, highest +${(highest - idle).toFixed(0)} MB`);
}

/** What `\copy` and one statement take, into the table of subscribers with its indexes and triggers. */
async function bare(client: pg.Client, listUid: string, rows: number): Promise<void> {
  await client.query('CREATE TEMP TABLE staged (email text, first text, last text, city text)');
  await pipeline(Readable.from(file(rows)), client.query(copyFrom('COPY staged FROM STDIN (FORMAT csv, HEADER)')));
  await client.query(
    `INSERT INTO subscriber AS s (customer_id, list_id, source, email, email_key, status, fields, tags)
     SELECT l.customer_id, l.id, 'bare', email, lower(email), 'subscribed', jsonb_build_object('FIRST_NAME', first, 'LAST_NAME', last, 'CITY', city), '{}'
       FROM staged CROSS JOIN mail_list l WHERE l.uid = $1
     ON CONFLICT (customer_id, email_key, list_id) DO UPDATE SET fields = s.fields || excluded.fields`,
    [listUid],
  );
  await client.query('DROP TABLE staged');
}

/** Addresses in random order, so that every index is written all over. */
function* file(rows: number): Generator<string> {
  yield 'email,first name,last name,city\n';
  for (let from = 0; from < rows; from += LINES) {
    let text = '';
    for (let n = from; n < Math.min(from + LINES, rows); n++) {
      const scattered = (n * 7_368_787) % PRIME;
      const name = `${FIRST_NAMES[n % FIRST_NAMES.length]},Family ${scattered % 9_973}`;
      text += `p${scattered}.${n}@example${n % 997}.com,${name},"City, ${n % 499}"\n`;
    }
    yield text;
  }
}

async function updates(client: pg.Client): Promise<number> {
  // Sent by each process at the end of its transactions, a second later at most.
  await new Promise((resume) => setTimeout(resume, 1_500));
  await client.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await client.query<{ n: string }>(
    "SELECT n_tup_upd AS n FROM pg_stat_user_tables WHERE relname = 'subscriber'",
  );
  return Number(rows[0]?.n);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1_000;
}
