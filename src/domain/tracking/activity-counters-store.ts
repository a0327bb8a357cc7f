/** The counters that the statement of move-tracking-events.ts keeps, over the expressions of activity-store.ts. */
import { sql } from '../../db/database.ts';
import { CAMPAIGN } from '../statistics/source-read-model.ts';

/** The counters of campaigns, links, lists and places. */
export const COUNTERS = sql`
campaigns AS (
  INSERT INTO hot.tracking_counter AS t (customer_id, source_kind, source_id, open_count, uniq_open_count, click_count,
         uniq_click_count, last_open_at, last_click_at, human_open_count, human_uniq_open_count, human_click_count,
         human_uniq_click_count, machine_open_count)
  SELECT customer_id, source_kind, source_id, sum(opens) + count(*) FILTER (WHERE open_by_click),
         count(*) FILTER (WHERE first_open OR open_by_click), sum(clicks), count(*) FILTER (WHERE first_click),
         CASE WHEN bool_or(opens > 0 OR open_by_click) THEN now() END, CASE WHEN bool_or(clicks > 0) THEN now() END,
         sum(human_opens), sum(human_openers), sum(human_clicks), sum(human_clickers), sum(machine_opens)
    FROM change GROUP BY customer_id, source_kind, source_id ORDER BY customer_id, source_kind, source_id
  ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET
    open_count = t.open_count + excluded.open_count, uniq_open_count = t.uniq_open_count + excluded.uniq_open_count,
    click_count = t.click_count + excluded.click_count, uniq_click_count = t.uniq_click_count + excluded.uniq_click_count,
    last_open_at = coalesce(excluded.last_open_at, t.last_open_at),
    last_click_at = coalesce(excluded.last_click_at, t.last_click_at),
    human_open_count = t.human_open_count + excluded.human_open_count,
    human_uniq_open_count = t.human_uniq_open_count + excluded.human_uniq_open_count,
    human_click_count = t.human_click_count + excluded.human_click_count,
    human_uniq_click_count = t.human_uniq_click_count + excluded.human_uniq_click_count,
    machine_open_count = t.machine_open_count + excluded.machine_open_count
  RETURNING customer_id, source_kind, source_id
), links AS (
  INSERT INTO hot.link_counter AS l (customer_id, source_kind, source_id, link_no, url, click_count, uniq_click_count, last_click_at)
  SELECT customer_id, source_kind, source_id, link_no, min(url), sum(clicks), sum(people), now()
    FROM (SELECT customer_id, source_kind, source_id, link_no, url, 1 AS clicks, 0 AS people FROM seen WHERE is_click
          UNION ALL
          SELECT customer_id, source_kind, source_id, link_no, NULL, 0, 1 FROM first_clicks) both_sides
   GROUP BY customer_id, source_kind, source_id, link_no ORDER BY 1, 2, 3, 4
  ON CONFLICT (customer_id, source_kind, source_id, link_no) DO UPDATE SET click_count = l.click_count + excluded.click_count,
    uniq_click_count = l.uniq_click_count + excluded.uniq_click_count, last_click_at = excluded.last_click_at
), list_firsts AS (
  -- Opens and clicks of campaigns only, as the messages that rates compare them with; people of all.
  SELECT customer_id, list_id, 0 AS openers, 0 AS clickers, count(*) FILTER (WHERE (first_open OR open_by_click) AND source_kind = ${CAMPAIGN}) AS opens,
         count(*) FILTER (WHERE first_click AND source_kind = ${CAMPAIGN}) AS clicks
    FROM change WHERE list_id > 0 AND (first_open OR open_by_click OR first_click) GROUP BY customer_id, list_id
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
), places AS (
  INSERT INTO hot.location_counter AS p (customer_id, source_kind, source_id, country, region, city, open_count)
  SELECT customer_id, source_kind, source_id, coalesce(country, ''), coalesce(region, ''), coalesce(city, ''), count(*)
    FROM opened GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
  ON CONFLICT (customer_id, source_kind, source_id, country, region, city) DO UPDATE SET open_count = p.open_count + excluded.open_count
)`;
