/** The campaigns of a lived-in database, one after the other as they were sent, and what came back. */
import type pg from 'pg';
import { CAMPAIGN } from './bench-message.ts';
import { LARGE_LIST, SECOND_LIST, uid, type LivedInSizes, type Step } from './lived-in-sizes.ts';

/** The newest is so old, and so far apart they are: they lie in several monthly partitions. */
const DAYS_APART = 7;
const LINKS = 5;
const CITIES = 60;
const AGENT = `'Mozilla/5.0 (X11; Linux x86_64; rv:' || 100 + pg_temp.pick(recipient_id, 61, 40) || '.0) Gecko/20100101 Firefox/140.0'`;
const IP = `'192.0.2.' || pg_temp.pick(recipient_id, 62, 250)`;
/** What a person does with one campaign is drawn from both their ids. */
const draw = (no: number, of: number) => `pg_temp.pick(recipient_id * 1009 + source_id, ${no}, ${of})`;

/** The campaigns themselves, and a list of them: `seq` 1 is a list's oldest. */
export function campaignSteps({ largeCampaigns, secondCampaigns, smallCampaigns }: LivedInSizes): Step[] {
  const wanted = `
    SELECT id AS list_id, customer_id, generate_series(1, ${largeCampaigns}) AS seq, ${largeCampaigns} AS of FROM mail_list WHERE name = '${LARGE_LIST}'
    UNION ALL SELECT id, customer_id, generate_series(1, ${secondCampaigns}), ${secondCampaigns} FROM mail_list WHERE name = '${SECOND_LIST}'
    UNION ALL (SELECT id, customer_id, 1, 1 FROM mail_list WHERE name NOT IN ('${LARGE_LIST}', '${SECOND_LIST}') ORDER BY id LIMIT ${smallCampaigns})`;
  return [
    [
      'campaigns',
      `CREATE TEMP TABLE sent_campaign AS WITH wanted AS (${wanted}),
       made AS (
         INSERT INTO campaign (customer_id, uid, list_id, name, subject, from_email, from_name, html, status, snapshot_on, snapshot_cursor, snapshot_at, started_at, finished_at, created_at, updated_at)
         SELECT customer_id, ${uid(`'campaign' || list_id || '.' || seq`)}, list_id, 'News ' || seq, '${CAMPAIGN.subject}', 'news@shop.example', 'Shop',
                $html$${CAMPAIGN.html}$html$, 'done', (at AT TIME ZONE 'UTC')::date, (SELECT max(id) FROM subscriber), at, at, at + interval '20 minutes', at - interval '1 day', at + interval '20 minutes'
           FROM wanted, LATERAL (SELECT now() - make_interval(days => ${DAYS_APART} * (wanted.of - seq + 1)) AS at) t ORDER BY at, list_id
         RETURNING customer_id, list_id, id AS source_id, 1::smallint AS source_kind, uid, snapshot_on, started_at)
       SELECT m.*, w.seq, w.of FROM made m JOIN wanted w ON m.uid = ${uid(`'campaign' || w.list_id || '.' || w.seq`)}`,
    ],
    [
      'partitions',
      `SELECT hot.ensure_partitions(min(snapshot_on), (current_date + interval '1 month')::date) FROM sent_campaign`,
    ],
    ['sizes for the planner', 'ANALYZE subscriber, suppression, sent_campaign'],
  ];
}

/** The ledger of each campaign and what came back, then the figures that are kept over several campaigns. */
export async function fillCampaigns(client: pg.Client, told: (name: string) => void): Promise<void> {
  const { rows } = await client.query<{ id: string }>(
    'SELECT source_id AS id FROM sent_campaign ORDER BY started_at, list_id',
  );
  for (const [no, { id }] of rows.entries()) {
    for (const statement of [...ledger(id), ...trackingEvents(id), ...counters(id)]) await client.query(statement);
    if (no % 10 === 9) told(`${no + 1} campaigns`);
  }
  for (const statement of OF_LISTS) await client.query(statement);
}

/** Everybody who was subscribed at the time, those suppressed by then closed at once; bounces suppress in the week after. */
function ledger(campaign: string): string[] {
  return [
    `INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, state, epoch, attempts, server_id, updated_at, email, reason, reply)
     SELECT c.snapshot_on, c.customer_id, 1, c.source_id, s.id, c.list_id, d.state::hot.delivery_state, CASE d.state WHEN 'suppressed' THEN 0 ELSE 1 END, CASE d.state WHEN 'suppressed' THEN 0 ELSE 1 END,
            CASE d.state WHEN 'suppressed' THEN NULL ELSE 1 END, c.started_at + make_interval(secs => (s.id % 1200)::integer), s.email, CASE d.state WHEN 'suppressed' THEN 'suppressed' END,
            CASE d.state WHEN 'sent' THEN '250 2.0.0 Ok: queued as ' || upper(to_hex(s.id * 65536 + c.source_id)) WHEN 'failed' THEN '550 5.1.1 The email account does not exist' END
       FROM sent_campaign c JOIN subscriber s ON s.customer_id = c.customer_id AND s.list_id = c.list_id
       LEFT JOIN (
         SELECT x.email_key, min(x.created_at) AS at, min(x.created_at) FILTER (WHERE x.reason = 'bounce') AS bounced_at
           FROM suppression x WHERE x.customer_id IN (0, (SELECT customer_id FROM sent_campaign WHERE source_id = ${campaign})) GROUP BY 1) x USING (email_key),
       LATERAL (SELECT CASE WHEN x.at < c.started_at THEN 'suppressed' WHEN x.bounced_at < c.started_at + interval '${DAYS_APART} days' THEN 'failed' ELSE 'sent' END AS state) d
      WHERE c.source_id = ${campaign} AND (s.status = 'subscribed' OR (s.status = 'unsubscribed' AND pg_temp.pick(s.id, 7, c.of) + 1 >= c.seq))
      ORDER BY s.id`,
    `INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, sent, failed, suppressed)
     SELECT customer_id, source_kind, source_id, count(*), count(*) FILTER (WHERE state = 'sent'), count(*) FILTER (WHERE state = 'failed'), count(*) FILTER (WHERE state = 'suppressed')
       ${ROWS} WHERE c.source_id = ${campaign} GROUP BY 1, 2, 3`,
  ];
}

const ROWS = 'FROM hot.delivery d JOIN sent_campaign c USING (snapshot_on, customer_id, source_kind, source_id)';
const SEEN_AT = `started_at + make_interval(secs => ${draw(43, 172_800)} + 300)`;

/**
 * Three of ten people open more than every second message, the others hardly any; a tenth of those who open has a
 * program that loads every picture. One opener in three clicks.
 */
function trackingEvents(campaign: string): string[] {
  return [
    `INSERT INTO hot.recipient_activity (customer_id, source_kind, source_id, recipient_id, open_count, click_count, last_open_at, last_click_at, human_opens, human_clicks, unsubscribed_at, bounced_at, bounce_type,
            burst_since, burst_until, burst_links, burst_clicks, burst_limit)
     SELECT customer_id, 1, source_id, recipient_id, opens, clicks, CASE WHEN opens > 0 THEN at + make_interval(hours => opens - 1) END, CASE WHEN clicks > 0 THEN clicked_at END,
            CASE WHEN by_program THEN 0 ELSE opens END, clicks, CASE WHEN leaves THEN at + interval '1 minute' END, CASE WHEN bounces THEN sent_at END, CASE WHEN bounces THEN 'hard' END,
            CASE WHEN clicks > 0 THEN clicked_at END, CASE WHEN clicks > 0 THEN clicked_at END, CASE WHEN clicks > 0 THEN ARRAY[${draw(50, LINKS)}] END, least(clicks, 1), CASE WHEN clicks > 0 THEN 3 END
       FROM (SELECT *, CASE WHEN opens > 0 AND ${draw(48, 10)} < 3 THEN 1 + ${draw(49, 10)} / 6 + ${draw(47, 10)} / 8 ELSE 0 END AS clicks, at + make_interval(hours => 2) AS clicked_at
               FROM (SELECT d.customer_id, d.source_id, d.recipient_id, d.updated_at AS sent_at, d.state = 'failed' AS bounces, pg_temp.pick(d.recipient_id, 41, 10) = 0 AS by_program,
                            d.state = 'sent' AND s.status = 'unsubscribed' AND pg_temp.pick(d.recipient_id, 7, c.of) + 1 = c.seq AS leaves, ${SEEN_AT.replaceAll('recipient_id', 'd.recipient_id')} AS at,
                            CASE WHEN d.state = 'sent' AND ${draw(42, 100)} < CASE WHEN pg_temp.pick(d.recipient_id, 40, 10) < 3 THEN 55 ELSE 2 END
                                 THEN 1 + ${draw(45, 10)} / 7 + ${draw(46, 10)} / 8 ELSE 0 END AS opens
                       ${ROWS} JOIN subscriber s ON s.customer_id = d.customer_id AND s.list_id = c.list_id AND s.id = d.recipient_id
                      WHERE c.source_id = ${campaign}) a) b
      WHERE opens > 0 OR leaves OR bounces ORDER BY recipient_id`,
    `INSERT INTO hot.open_event (at, customer_id, source_kind, source_id, recipient_id, is_machine, ip, user_agent, country, region, city)
     SELECT last_open_at - make_interval(hours => o - 1), customer_id, 1, source_id, recipient_id, human_opens = 0, ${IP}, ${AGENT}, 'Country ' || place % 12, 'Region ' || place % 30, 'City ' || place
       FROM hot.recipient_activity a, generate_series(1, open_count) o, LATERAL (SELECT pg_temp.pick(recipient_id, 63, ${CITIES}) AS place) p
      WHERE source_id = ${campaign} AND customer_id = (SELECT customer_id FROM sent_campaign WHERE source_id = ${campaign}) ORDER BY 1`,
    `INSERT INTO hot.click_event (at, customer_id, source_kind, source_id, recipient_id, link_no, url, ip, user_agent, country, region, city)
     SELECT last_click_at - make_interval(mins => k - 1), customer_id, 1, source_id, recipient_id, no, 'https://shop.example/offer/' || no + 1, ${IP}, ${AGENT}, 'Country ' || place % 12, 'Region ' || place % 30, 'City ' || place
       FROM hot.recipient_activity a, generate_series(1, click_count) k, LATERAL (SELECT pg_temp.pick(recipient_id, 63, ${CITIES}) AS place, (burst_links[1] + k - 1) % ${LINKS} AS no) p
      WHERE source_id = ${campaign} AND customer_id = (SELECT customer_id FROM sent_campaign WHERE source_id = ${campaign}) ORDER BY 1`,
    `INSERT INTO hot.recipient_link (customer_id, source_kind, source_id, link_no, recipient_id)
     SELECT DISTINCT customer_id, 1, source_id, link_no, recipient_id FROM hot.click_event WHERE source_id = ${campaign} ORDER BY 1, 3, 4, 5`,
    `INSERT INTO hot.unsubscribe_event (at, customer_id, source_kind, source_id, recipient_id, ip, user_agent)
     SELECT unsubscribed_at, customer_id, 1, source_id, recipient_id, ${IP}, ${AGENT} FROM hot.recipient_activity WHERE source_id = ${campaign} AND unsubscribed_at IS NOT NULL ORDER BY 1`,
    `INSERT INTO hot.bounce_event (at, customer_id, source_kind, source_id, recipient_id, type, status_code, message)
     SELECT bounced_at, customer_id, 1, source_id, recipient_id, 'hard', '5.1.1', '550 5.1.1 The email account does not exist' FROM hot.recipient_activity WHERE source_id = ${campaign} AND bounced_at IS NOT NULL ORDER BY 1`,
  ];
}

function counters(campaign: string): string[] {
  return [
    `INSERT INTO hot.tracking_counter (customer_id, source_kind, source_id, open_count, uniq_open_count, click_count, uniq_click_count, unsubscribe_count, bounce_count, refused_bounce_count, last_open_at, last_click_at,
            human_open_count, human_uniq_open_count, human_click_count, human_uniq_click_count, machine_open_count)
     SELECT customer_id, 1, source_id, sum(open_count), count(*) FILTER (WHERE open_count > 0), sum(click_count), count(*) FILTER (WHERE click_count > 0), count(unsubscribed_at), count(bounced_at), count(bounced_at),
            max(last_open_at), max(last_click_at), sum(greatest(human_opens, (human_clicks > 0)::integer)), count(*) FILTER (WHERE human_opens > 0 OR human_clicks > 0), sum(human_clicks),
            count(*) FILTER (WHERE human_clicks > 0), sum(open_count - human_opens)
       FROM hot.recipient_activity WHERE source_id = ${campaign} GROUP BY 1, 3`,
    `INSERT INTO hot.link_counter (customer_id, source_kind, source_id, link_no, url, click_count, uniq_click_count, last_click_at)
     SELECT customer_id, 1, source_id, link_no, min(url), count(*), count(DISTINCT recipient_id), max(at) FROM hot.click_event WHERE source_id = ${campaign} GROUP BY 1, 3, 4`,
    `INSERT INTO hot.location_counter (customer_id, source_kind, source_id, country, region, city, open_count)
     SELECT customer_id, 1, source_id, country, region, city, count(*) FROM hot.open_event WHERE source_id = ${campaign} GROUP BY 1, 3, 4, 5, 6`,
  ];
}

const OF_LISTS: readonly string[] = [
  `INSERT INTO hot.subscriber_activity (customer_id, list_id, subscriber_id, opened_at, clicked_at)
   SELECT a.customer_id, c.list_id, a.recipient_id, min(a.last_open_at), min(a.last_click_at)
     FROM hot.recipient_activity a JOIN sent_campaign c USING (customer_id, source_kind, source_id) WHERE a.open_count > 0 GROUP BY 1, 2, 3 ORDER BY 4`,
  `UPDATE hot.list_counter c SET openers = a.openers, clickers = a.clickers
     FROM (SELECT customer_id, list_id, count(opened_at) AS openers, count(clicked_at) AS clickers FROM hot.subscriber_activity GROUP BY 1, 2) a
    WHERE a.customer_id = c.customer_id AND a.list_id = c.list_id`,
  `UPDATE hot.list_counter c SET uniq_open_count = t.opens, uniq_click_count = t.clicks
     FROM (SELECT s.customer_id, s.list_id, sum(uniq_open_count) AS opens, sum(uniq_click_count) AS clicks
             FROM hot.tracking_counter JOIN sent_campaign s USING (customer_id, source_kind, source_id) GROUP BY 1, 2) t
    WHERE t.customer_id = c.customer_id AND t.list_id = c.list_id`,
];
