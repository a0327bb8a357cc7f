/** Years of history made by COPY: ledger rows of past campaigns, and what came back to one in ten of them. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

interface Fill {
  readonly url: string;
  readonly rows: number;
  /** Recipients of one campaign. */
  readonly perCampaign: number;
  readonly say: (line: string) => void;
}

/** The present month, in which the measured campaign writes too, and the months before it. */
const MONTHS = 12;
const LINES = 2_000;
/** One in so many opened, and clicked. */
const ACTIVE = 10;
const DELIVERY =
  'COPY hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, state, epoch, attempts, updated_at, email, reply) FROM STDIN';
const OPENS = 'COPY hot.open_event (at, customer_id, source_kind, source_id, recipient_id, ip, user_agent) FROM STDIN';
const CLICKS =
  'COPY hot.click_event (at, customer_id, source_kind, source_id, recipient_id, link_no, url, ip, user_agent) FROM STDIN';
const ACTIVITY =
  'COPY hot.recipient_activity (customer_id, source_kind, source_id, recipient_id, open_count, click_count, human_opens, human_clicks) FROM STDIN';

/** Campaigns of twenty other customers and of the first one, in turns. Their ids are far from those of the measured ones. */
export async function fillLedger({ url, rows, perCampaign, say }: Fill): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`SELECT hot.ensure_partitions((current_date - interval '${MONTHS} months')::date, current_date)`);
  const { rows: first } = await client.query<{ id: string; days: string[] }>(
    `SELECT min(id) AS id, (SELECT array_agg(to_char(date_trunc('month', current_date) - make_interval(months => n), 'YYYY-MM-DD') ORDER BY n)
       FROM generate_series(0, ${MONTHS - 1}) n) AS days FROM customer`,
  );
  const { id = '1', days = [] } = first[0] ?? {};
  const startedAt = performance.now();
  for (let from = 0, campaign = 0; from < rows; from += perCampaign, campaign++) {
    const size = Math.min(perCampaign, rows - from);
    const key = {
      day: days[campaign % days.length] ?? '',
      customer: campaign % 4 === 0 ? id : `${1_000 + (campaign % 20)}`,
      campaign: 1_000_000 + campaign,
    };
    await copy(
      client,
      DELIVERY,
      lines(size, (n) => delivery(key, n)),
    );
    await copy(
      client,
      OPENS,
      lines(size / ACTIVE, (n) => event(key, n * ACTIVE, '')),
    );
    await copy(
      client,
      CLICKS,
      lines(size / ACTIVE, (n) => event(key, n * ACTIVE, '0\thttps://example.org/offer\t')),
    );
    await copy(
      client,
      ACTIVITY,
      lines(size / ACTIVE, (n) => `${key.customer}\t1\t${key.campaign}\t${n * ACTIVE + 1}\t1\t1\t1\t1\n`),
    );
    if (campaign % 20 === 19)
      say(`  ${from + size} rows after ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
  }
  await client.query('VACUUM ANALYZE hot.delivery, hot.open_event, hot.click_event, hot.recipient_activity');
  await client.query('CHECKPOINT');
  await client.end();
}

interface Key {
  readonly day: string;
  readonly customer: string;
  readonly campaign: number;
}

function delivery({ day, customer, campaign }: Key, n: number): string {
  return `${day}\t${customer}\t1\t${campaign}\t${n + 1}\tsent\t1\t1\t${day} 12:00:00+00\tperson${n}@example${n % 97}.org\t250 2.0.0 Ok: queued as ${n}\n`;
}

function event({ day, customer, campaign }: Key, n: number, link: string): string {
  return `${day} 13:00:00+00\t${customer}\t1\t${campaign}\t${n + 1}\t${link}192.0.2.${n % 250}\tMozilla/5.0 (X11; Linux x86_64)\n`;
}

function* lines(count: number, of: (n: number) => string): Generator<string> {
  for (let from = 0; from < count; from += LINES) {
    let text = '';
    for (let n = from; n < Math.min(from + LINES, count); n++) text += of(n);
    yield text;
  }
}

function copy(client: pg.Client, statement: string, data: Iterable<string>): Promise<void> {
  return pipeline(Readable.from(data), client.query(copyFrom(statement)));
}
