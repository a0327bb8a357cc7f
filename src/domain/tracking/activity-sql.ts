/**
 * The parts of the one statement that records a batch of opens and clicks (record-activity.ts), as common table
 * expressions over `given`, the batch itself. Rows are written in the order of their keys: two processes that write
 * about the same campaign take their locks in the same order. Nothing here joins one expression with another: the
 * planner takes the batch for ten rows and would compare each row with each. UNION ALL and GROUP BY do it in one pass.
 */
import { sql } from '../../db/database.ts';

/** What each recipient did, and whether it was a first time. */
export const CHANGE = sql`
seen AS MATERIALIZED (
  SELECT g.*, c.track_open, g.link_no IS NOT NULL AND NOT g.looks_ahead AS is_click,
         row_number() OVER (PARTITION BY g.customer_id, g.campaign_id, g.subscriber_id, g.link_no IS NOT NULL AND NOT g.looks_ahead) AS nth
    FROM given g
    JOIN campaign c ON c.customer_id = g.customer_id AND c.id = g.campaign_id
    JOIN subscriber s ON s.customer_id = g.customer_id AND s.list_id = g.list_id AND s.id = g.subscriber_id
), acts AS (
  SELECT customer_id, campaign_id, subscriber_id, min(list_id) AS list_id, bool_or(track_open) AS track_open,
         count(*) FILTER (WHERE link_no IS NULL)::integer AS opens,
         count(*) FILTER (WHERE is_click)::integer AS clicks
    FROM seen GROUP BY customer_id, campaign_id, subscriber_id
), activity AS (
  -- An open that is known by a click only has no time: so the conflict branch can tell it from a real one.
  INSERT INTO hot.recipient_activity AS a
         (customer_id, campaign_id, subscriber_id, open_count, click_count, last_open_at, last_click_at)
  SELECT customer_id, campaign_id, subscriber_id, CASE WHEN opens = 0 AND track_open THEN 1 ELSE opens END, clicks,
         CASE WHEN opens > 0 THEN now() END, CASE WHEN clicks > 0 THEN now() END
    FROM acts WHERE opens + clicks > 0 ORDER BY customer_id, campaign_id, subscriber_id
  ON CONFLICT (customer_id, campaign_id, subscriber_id) DO UPDATE SET
    open_count = a.open_count + CASE WHEN excluded.last_open_at IS NULL AND a.open_count > 0 THEN 0 ELSE excluded.open_count END,
    click_count = a.click_count + excluded.click_count,
    last_open_at = coalesce(excluded.last_open_at, a.last_open_at),
    last_click_at = coalesce(excluded.last_click_at, a.last_click_at)
  RETURNING customer_id, campaign_id, subscriber_id, open_count, click_count, last_open_at
), merged AS (
  SELECT customer_id, campaign_id, subscriber_id, max(list_id) AS list_id, max(opens) AS opens, max(clicks) AS clicks,
         max(open_count) AS open_count, max(click_count) AS click_count, max(last_open_at) AS last_open_at
    FROM (SELECT customer_id, campaign_id, subscriber_id, list_id, opens, clicks, NULL::integer AS open_count,
                 NULL::integer AS click_count, NULL::timestamptz AS last_open_at FROM acts
          UNION ALL
          SELECT customer_id, campaign_id, subscriber_id, NULL, NULL, NULL, open_count, click_count, last_open_at FROM activity) both_sides
   GROUP BY customer_id, campaign_id, subscriber_id HAVING count(open_count) > 0
), change AS MATERIALIZED (
  SELECT customer_id, campaign_id, subscriber_id, list_id, opens, clicks,
         opens > 0 AND open_count = opens AS first_open,
         opens = 0 AND open_count = 1 AND last_open_at IS NULL AND click_count = clicks AS open_by_click,
         clicks > 0 AND click_count = clicks AS first_click
    FROM merged
)`;

/** The events themselves, and who clicked which link or did anything on a list for the first time. */
export const EVENTS = sql`
opened AS (
  INSERT INTO hot.open_event (at, customer_id, campaign_id, subscriber_id, is_machine, ip, user_agent)
  SELECT now(), customer_id, campaign_id, subscriber_id, is_machine, ip, user_agent FROM seen
   WHERE link_no IS NULL OR (is_click AND nth = 1 AND (customer_id, campaign_id, subscriber_id) IN
         (SELECT customer_id, campaign_id, subscriber_id FROM change WHERE open_by_click))
), clicked AS (
  INSERT INTO hot.click_event (at, customer_id, campaign_id, subscriber_id, link_no, is_machine, url, ip, user_agent)
  SELECT now(), customer_id, campaign_id, subscriber_id, link_no, is_machine, url, ip, user_agent
    FROM seen WHERE link_no IS NOT NULL
), first_clicks AS (
  INSERT INTO hot.recipient_link (customer_id, campaign_id, link_no, subscriber_id)
  SELECT DISTINCT customer_id, campaign_id, link_no, subscriber_id
    FROM seen WHERE is_click ORDER BY 1, 2, 3, 4
  ON CONFLICT DO NOTHING RETURNING customer_id, campaign_id, link_no
), people AS (
  -- Only a first time writes; that it was the first shows in its time being this transaction's.
  INSERT INTO hot.subscriber_activity AS p (customer_id, list_id, subscriber_id, opened_at, clicked_at)
  SELECT customer_id, list_id, subscriber_id, CASE WHEN bool_or(first_open OR open_by_click) THEN now() END,
         CASE WHEN bool_or(first_click) THEN now() END
    FROM change WHERE first_open OR open_by_click OR first_click
   GROUP BY customer_id, list_id, subscriber_id ORDER BY customer_id, list_id, subscriber_id
  ON CONFLICT (customer_id, list_id, subscriber_id) DO UPDATE SET
    opened_at = coalesce(p.opened_at, excluded.opened_at), clicked_at = coalesce(p.clicked_at, excluded.clicked_at)
  WHERE (p.opened_at IS NULL AND excluded.opened_at IS NOT NULL)
     OR (p.clicked_at IS NULL AND excluded.clicked_at IS NOT NULL)
  RETURNING customer_id, list_id, opened_at, clicked_at
)`;

/** The counters of campaigns, links and lists. */
export const COUNTERS = sql`
campaigns AS (
  INSERT INTO hot.tracking_counter AS t (customer_id, campaign_id, open_count, uniq_open_count, click_count,
         uniq_click_count, last_open_at, last_click_at)
  SELECT customer_id, campaign_id, sum(opens) + count(*) FILTER (WHERE open_by_click),
         count(*) FILTER (WHERE first_open OR open_by_click), sum(clicks), count(*) FILTER (WHERE first_click),
         CASE WHEN bool_or(opens > 0 OR open_by_click) THEN now() END, CASE WHEN bool_or(clicks > 0) THEN now() END
    FROM change GROUP BY customer_id, campaign_id ORDER BY customer_id, campaign_id
  ON CONFLICT (customer_id, campaign_id) DO UPDATE SET
    open_count = t.open_count + excluded.open_count, uniq_open_count = t.uniq_open_count + excluded.uniq_open_count,
    click_count = t.click_count + excluded.click_count, uniq_click_count = t.uniq_click_count + excluded.uniq_click_count,
    last_open_at = coalesce(excluded.last_open_at, t.last_open_at),
    last_click_at = coalesce(excluded.last_click_at, t.last_click_at)
  RETURNING customer_id, campaign_id
), links AS (
  INSERT INTO hot.link_counter AS l (customer_id, campaign_id, link_no, url, click_count, uniq_click_count, last_click_at)
  SELECT customer_id, campaign_id, link_no, min(url), sum(clicks), sum(people), now()
    FROM (SELECT customer_id, campaign_id, link_no, url, 1 AS clicks, 0 AS people FROM seen WHERE is_click
          UNION ALL
          SELECT customer_id, campaign_id, link_no, NULL, 0, 1 FROM first_clicks) both_sides
   GROUP BY customer_id, campaign_id, link_no ORDER BY 1, 2, 3
  ON CONFLICT (customer_id, campaign_id, link_no) DO UPDATE SET click_count = l.click_count + excluded.click_count,
    uniq_click_count = l.uniq_click_count + excluded.uniq_click_count, last_click_at = excluded.last_click_at
), list_firsts AS (
  SELECT customer_id, list_id, 0 AS openers, 0 AS clickers, count(*) FILTER (WHERE first_open OR open_by_click) AS opens,
         count(*) FILTER (WHERE first_click) AS clicks
    FROM change WHERE first_open OR open_by_click OR first_click GROUP BY customer_id, list_id
  UNION ALL
  SELECT customer_id, list_id, count(*) FILTER (WHERE opened_at = now()), count(*) FILTER (WHERE clicked_at = now()), 0, 0
    FROM people GROUP BY customer_id, list_id
), lists AS (
  INSERT INTO hot.list_counter AS c (customer_id, list_id, openers, clickers, uniq_open_count, uniq_click_count)
  SELECT customer_id, list_id, sum(openers), sum(clickers), sum(opens), sum(clicks)
    FROM list_firsts GROUP BY customer_id, list_id ORDER BY customer_id, list_id
  ON CONFLICT (customer_id, list_id) DO UPDATE SET
    openers = c.openers + excluded.openers, clickers = c.clickers + excluded.clickers,
    uniq_open_count = c.uniq_open_count + excluded.uniq_open_count,
    uniq_click_count = c.uniq_click_count + excluded.uniq_click_count
)`;
