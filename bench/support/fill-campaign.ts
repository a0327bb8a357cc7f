/**
 * A list, a campaign to all of it, and what came back, written straight into the tables with the counters that the
 * product would have kept: four of five people opened five times, every second one clicked twice, from 2,000 places.
 */
import pg from 'pg';
import { newUid } from '../../src/lib/ids.ts';

export interface FilledCampaign {
  readonly size: number;
  readonly listUid: string;
  readonly campaignUid: string;
  readonly campaignId: bigint;
  /** Cursors of the last hundred opens and people. */
  readonly lastOpens: string;
  readonly lastPeople: string;
}

export const OPENS_A_PERSON = 5;
const CLICKS_A_PERSON = 2;
const LINKS = 20;
const PLACES = 2_000;
const LAST = 101;

/** Fills for the first customer, whose token the benches use. Answers when the database has looked at it all. */
export async function fillCampaign(url: string, size: number): Promise<FilledCampaign> {
  const client = new pg.Client(url);
  await client.connect();
  const [listUid, campaignUid] = [newUid(), newUid()];
  const { rows: made } = await client.query<{ customer: string; list: string; campaign: string }>(
    `WITH l AS (INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
                SELECT min(id), $1, 'Bench', 'News', 'news@shop.example', 'Shop' FROM customer RETURNING customer_id, id),
          f AS (INSERT INTO list_field (customer_id, uid, list_id, type, label, tag)
                SELECT customer_id, left(md5($1 || t), 13), id, 'text', t, t FROM l, unnest(ARRAY['FIRST_NAME', 'LAST_NAME']) t),
          c AS (INSERT INTO list_contact (customer_id, list_id, company, address_1, country_id, email) SELECT customer_id, id, 'Shop', '1 High St', 1, 'o@shop.example' FROM l)
     INSERT INTO campaign (customer_id, uid, list_id, name, subject, from_email, from_name, html, status, snapshot_on, snapshot_at)
     SELECT customer_id, $2, id, 'Bench', 'News', 'news@shop.example', 'Shop', '<p>Hello</p>', 'done', current_date, now() FROM l
     RETURNING customer_id AS customer, list_id AS list, id AS campaign`,
    [listUid, campaignUid],
  );
  const { customer = '', list = '', campaign = '' } = made[0] ?? {};
  for (const statement of statements({ customer, list, campaign, size })) await client.query(statement);
  const cursors = await lastOf(client, { customer, list, campaign });
  await client.end();
  return { size, listUid, campaignUid, campaignId: BigInt(campaign), ...cursors };
}

interface Ids {
  readonly customer: string;
  readonly list: string;
  readonly campaign: string;
}

function statements({ customer, list, campaign, size }: Ids & { size: number }): string[] {
  const people = `(SELECT id, row_number() OVER (ORDER BY id) AS n, email FROM subscriber WHERE customer_id = ${customer} AND list_id = ${list}) s`;
  const opens = (size * 4 * OPENS_A_PERSON) / 5;
  const clicks = (size * CLICKS_A_PERSON) / 2;
  const key = `${customer}, 1, ${campaign}`;
  return [
    `INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields)
     SELECT ${customer}, ${list}, 'person' || n || '@example.org', 'person' || n || '@example.org', 'subscribed',
            jsonb_build_object('FIRST_NAME', 'Name' || n, 'LAST_NAME', 'Last' || n % 100) FROM generate_series(1, ${size}) n`,
    `INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, state, attempts, email, reply)
     SELECT current_date, ${key}, id, ${list}, 'sent', 1, email, '250 2.0.0 queued' FROM ${people}`,
    `INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, sent) VALUES (${key}, ${size}, ${size})`,
    `INSERT INTO hot.open_event (at, customer_id, source_kind, source_id, recipient_id, ip, user_agent, country, city)
     SELECT now() - make_interval(secs => (n * 7919 + o * 104729) % 1500000), ${key}, id, '192.0.2.7', 'Mozilla/5.0 (X11; Linux x86_64) Firefox/127.0', 'Ireland', 'City ' || n % ${PLACES}
       FROM ${people}, generate_series(1, ${OPENS_A_PERSON}) o WHERE n % 5 <> 0 ORDER BY 1`,
    `INSERT INTO hot.click_event (at, customer_id, source_kind, source_id, recipient_id, link_no, url, ip, user_agent)
     SELECT now() - make_interval(secs => (n * 7919 + o * 104729) % 1500000), ${key}, id, (n + o) % ${LINKS}, 'https://shop.example/' || (n + o) % ${LINKS}, '192.0.2.7', 'Mozilla/5.0 (X11; Linux x86_64) Firefox/127.0'
       FROM ${people}, generate_series(1, ${CLICKS_A_PERSON}) o WHERE n % 2 = 0 ORDER BY 1`,
    `INSERT INTO hot.recipient_activity (customer_id, source_kind, source_id, recipient_id, open_count, click_count, last_open_at, last_click_at, human_opens, human_clicks)
     SELECT ${key}, id, CASE WHEN n % 5 <> 0 THEN ${OPENS_A_PERSON} ELSE 0 END, CASE WHEN n % 2 = 0 THEN ${CLICKS_A_PERSON} ELSE 0 END, now(), now(), 1, 1
       FROM ${people} WHERE n % 5 <> 0 OR n % 2 = 0`,
    `INSERT INTO hot.subscriber_activity (customer_id, list_id, subscriber_id, opened_at, clicked_at)
     SELECT ${customer}, ${list}, id, CASE WHEN n % 5 <> 0 THEN now() END, CASE WHEN n % 2 = 0 THEN now() END FROM ${people} WHERE n % 5 <> 0 OR n % 2 = 0`,
    `UPDATE hot.list_counter SET openers = ${(size * 4) / 5}, clickers = ${size / 2}, uniq_open_count = ${(size * 4) / 5}, uniq_click_count = ${size / 2}
      WHERE customer_id = ${customer} AND list_id = ${list}`,
    `INSERT INTO hot.tracking_counter (customer_id, source_kind, source_id, open_count, uniq_open_count, click_count, uniq_click_count, last_open_at, last_click_at)
     VALUES (${key}, ${opens}, ${(size * 4) / 5}, ${clicks}, ${size / 2}, now(), now())`,
    `INSERT INTO hot.link_counter (customer_id, source_kind, source_id, link_no, url, click_count, uniq_click_count, last_click_at)
     SELECT ${key}, no, 'https://shop.example/' || no, ${clicks / LINKS}, ${clicks / LINKS}, now() FROM generate_series(0, ${LINKS - 1}) no`,
    `INSERT INTO hot.location_counter (customer_id, source_kind, source_id, country, region, city, open_count)
     SELECT customer_id, 1, source_id, country, '', city, count(*) FROM hot.open_event WHERE source_id = ${campaign} GROUP BY 1, 3, 4, 6`,
    'VACUUM ANALYZE',
  ];
}

async function lastOf(
  client: pg.Client,
  { customer, list, campaign }: Ids,
): Promise<{ lastOpens: string; lastPeople: string }> {
  const { rows: opens } = await client.query<{ cursor: string }>(
    `SELECT (extract(epoch FROM now()) * 1000000)::bigint || '.' || (extract(epoch FROM at) * 1000000)::bigint || '.' || id AS cursor
       FROM hot.open_event WHERE customer_id = ${customer} AND source_id = ${campaign} ORDER BY at DESC, id DESC OFFSET ${LAST} LIMIT 1`,
  );
  const { rows: people } = await client.query<{ id: string }>(
    `SELECT id FROM subscriber WHERE customer_id = ${customer} AND list_id = ${list} ORDER BY id DESC OFFSET ${LAST} LIMIT 1`,
  );
  return { lastOpens: opens[0]?.cursor ?? '', lastPeople: people[0]?.id ?? '' };
}
