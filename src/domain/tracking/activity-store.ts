/**
 * The parts of the one statement that moves opens and clicks (move-tracking-events.ts), as common table expressions over `given`,
 * the batch itself. Rows are written in the order of their keys: two processes that write about the same campaign take their
 * locks in the same order. Nothing here joins one expression with another: the planner expects a batch of ten rows and would
 * compare each row with each. UNION ALL and GROUP BY need one pass.
 */
import { sql } from '../../db/database.ts';
import { CAMPAIGN } from '../statistics/source-read-model.ts';

/** A mail program that is notified of new mail may show it within a second; nobody has read and clicked within three. */
const SOONER_THAN_PEOPLE = sql`CASE WHEN g.link_no IS NULL THEN interval '1 second' ELSE interval '3 seconds' END`;

const HANDED_OVER_AT = sql`true AS is_there, CASE WHEN l.state IN ('sending', 'sent') THEN l.updated_at END`;

/** Each event with derived data: whether it counts as a click, and whether a machine did it. */
export const SEEN = sql`
seen AS MATERIALIZED (
  SELECT g.customer_id, g.list_id, g.source_kind, g.source_id, g.recipient_id, g.occurrence, g.link_no, g.url, g.looks_ahead, g.at, g.ip, g.user_agent,
         g.country, g.region, g.city, coalesce(c.track_open, true) AS track_open, g.link_no IS NOT NULL AND NOT g.looks_ahead AS is_click,
         g.is_machine OR coalesce(g.at < d.updated_at + ${SOONER_THAN_PEOPLE}, false) AS is_machine,
         row_number() OVER (PARTITION BY g.customer_id, g.source_kind, g.source_id, g.recipient_id, g.occurrence, g.link_no IS NOT NULL AND NOT g.looks_ahead) AS nth
    FROM given g
    LEFT JOIN campaign c ON g.source_kind = ${CAMPAIGN} AND c.customer_id = g.customer_id AND c.id = g.source_id
    -- Who is gone did nothing: a person on the list, or without a list an address.
    LEFT JOIN subscriber s ON s.customer_id = g.customer_id AND s.list_id = g.list_id AND s.id = g.recipient_id
    LEFT JOIN hot.message_recipient r ON g.list_id = 0 AND r.customer_id = g.customer_id AND r.id = g.recipient_id
    -- Whether the ledger has the message, and when it was handed over: in another state its time says something else.
    -- LATERAL, so that only the campaign's month is searched: a join would search every month that is kept.
    LEFT JOIN LATERAL (
      SELECT ${HANDED_OVER_AT} AS updated_at FROM hot.delivery l
       WHERE l.snapshot_on = c.snapshot_on AND l.customer_id = g.customer_id AND l.source_kind = g.source_kind AND l.source_id = g.source_id
         AND l.recipient_id = g.recipient_id AND l.occurrence = g.occurrence
      UNION ALL
      -- Of a source that is no campaign only the row itself knows its month.
      SELECT ${HANDED_OVER_AT} FROM hot.delivery l
       WHERE g.source_kind > ${CAMPAIGN} AND l.customer_id = g.customer_id AND l.source_kind = g.source_kind AND l.source_id = g.source_id
         AND l.recipient_id = g.recipient_id AND l.occurrence = g.occurrence
       LIMIT 1) d ON true
   WHERE (s.id IS NOT NULL OR r.id IS NOT NULL) AND (c.id IS NOT NULL OR (g.source_kind > ${CAMPAIGN} AND d.is_there))
)`;

/** Clicks of different links, each within a second of another, are one click burst. No person clicks so many links in one. */
const BURST_LINKS = 3;

const GOES_ON = sql`(excluded.burst_since <= a.burst_until + interval '1 second' AND excluded.burst_until >= a.burst_since - interval '1 second') IS TRUE`;
const LINKS = sql`CASE WHEN ${GOES_ON} THEN hot.some_links(a.burst_links, excluded.burst_links) ELSE excluded.burst_links END`;
const IS_MACHINES = sql`cardinality(${LINKS}) >= excluded.burst_limit`;
const CLICKS_BEFORE = sql`CASE WHEN ${GOES_ON} THEN a.burst_clicks ELSE 0 END`;

/** What each recipient did, and whether it was a first time. */
export const CHANGE = sql`
acts AS (
  SELECT customer_id, source_kind, source_id, recipient_id, occurrence, min(list_id) AS list_id, bool_or(track_open) AS track_open,
         count(*) FILTER (WHERE link_no IS NULL)::integer AS opens,
         count(*) FILTER (WHERE is_click)::integer AS clicks,
         count(*) FILTER (WHERE link_no IS NULL AND NOT is_machine)::integer AS human_opens,
         count(*) FILTER (WHERE is_click AND NOT is_machine)::integer AS human_clicks,
         min(at) FILTER (WHERE is_click) AS burst_since, max(at) FILTER (WHERE is_click) AS burst_until,
         (array_agg(DISTINCT link_no) FILTER (WHERE is_click))[1:3] AS burst_links,
         -- A message with two links has no third; both within a second is all of it.
         CASE WHEN bool_or(is_click) THEN greatest(2, (SELECT count(*) FROM (SELECT 1 FROM hot.link_counter l
           WHERE l.customer_id = seen.customer_id AND l.source_kind = seen.source_kind AND l.source_id = seen.source_id LIMIT ${BURST_LINKS}::integer) few))::smallint END AS burst_limit
    FROM seen GROUP BY customer_id, source_kind, source_id, recipient_id, occurrence
), judged AS (
  SELECT *, cardinality(burst_links) >= burst_limit AS is_machine_burst FROM acts WHERE opens + clicks > 0
), activity AS (
  -- An open that is known by a click only has no time: so the conflict branch can tell it from a real one.
  INSERT INTO hot.recipient_activity AS a
         (customer_id, source_kind, source_id, recipient_id, occurrence, open_count, click_count, last_open_at, last_click_at, human_opens,
          human_clicks, burst_since, burst_until, burst_links, burst_clicks, burst_limit)
  SELECT customer_id, source_kind, source_id, recipient_id, occurrence, CASE WHEN opens = 0 AND track_open THEN 1 ELSE opens END, clicks,
         CASE WHEN opens > 0 THEN now() END, CASE WHEN clicks > 0 THEN now() END, human_opens,
         CASE WHEN is_machine_burst THEN 0 ELSE human_clicks END, burst_since, burst_until, burst_links,
         CASE WHEN is_machine_burst THEN 0 ELSE human_clicks END, burst_limit
    FROM judged ORDER BY customer_id, source_kind, source_id, recipient_id, occurrence
  ON CONFLICT (customer_id, source_kind, source_id, recipient_id, occurrence) DO UPDATE SET
    open_count = a.open_count + CASE WHEN excluded.last_open_at IS NULL AND a.open_count > 0 THEN 0 ELSE excluded.open_count END,
    click_count = a.click_count + excluded.click_count,
    last_open_at = coalesce(excluded.last_open_at, a.last_open_at),
    last_click_at = coalesce(excluded.last_click_at, a.last_click_at),
    was_human_opens = a.human_opens, was_human_clicks = a.human_clicks,
    human_opens = a.human_opens + excluded.human_opens,
    human_clicks = CASE WHEN excluded.click_count = 0 THEN a.human_clicks
      WHEN ${IS_MACHINES} THEN a.human_clicks - ${CLICKS_BEFORE} ELSE a.human_clicks + excluded.human_clicks END,
    burst_clicks = CASE WHEN excluded.click_count = 0 THEN a.burst_clicks
      WHEN ${IS_MACHINES} THEN 0 ELSE ${CLICKS_BEFORE} + excluded.burst_clicks END,
    burst_since = CASE WHEN ${GOES_ON} THEN least(a.burst_since, excluded.burst_since) ELSE coalesce(excluded.burst_since, a.burst_since) END,
    burst_until = CASE WHEN ${GOES_ON} THEN greatest(a.burst_until, excluded.burst_until) ELSE coalesce(excluded.burst_until, a.burst_until) END,
    burst_links = CASE WHEN excluded.click_count = 0 THEN a.burst_links ELSE ${LINKS} END,
    burst_limit = coalesce(excluded.burst_limit, a.burst_limit)
  RETURNING customer_id, source_kind, source_id, recipient_id, occurrence, open_count, click_count, last_open_at, human_opens, human_clicks,
            was_human_opens, was_human_clicks, burst_since, cardinality(burst_links) >= burst_limit AS is_machine_burst
), merged AS (
  SELECT customer_id, source_kind, source_id, recipient_id, occurrence, max(list_id) AS list_id, bool_or(track_open) AS track_open, max(opens) AS opens,
         max(clicks) AS clicks, max(machine_opens) AS machine_opens, max(open_count) AS open_count, max(click_count) AS click_count,
         max(last_open_at) AS last_open_at, max(human_opens) AS human_opens, max(human_clicks) AS human_clicks,
         max(was_human_opens) AS was_human_opens, max(was_human_clicks) AS was_human_clicks, max(burst_since) AS burst_since, bool_or(is_machine_burst) AS is_machine_burst
    FROM (SELECT customer_id, source_kind, source_id, recipient_id, occurrence, list_id, track_open, opens, clicks, opens - human_opens AS machine_opens,
                 NULL::integer AS open_count, NULL::integer AS click_count, NULL::timestamptz AS last_open_at, NULL::integer AS human_opens,
                 NULL::integer AS human_clicks, NULL::integer AS was_human_opens, NULL::integer AS was_human_clicks,
                 NULL::timestamptz AS burst_since, NULL::boolean AS is_machine_burst FROM judged
          UNION ALL
          SELECT customer_id, source_kind, source_id, recipient_id, occurrence, NULL, NULL, NULL, NULL, NULL, open_count, click_count, last_open_at, human_opens,
                 human_clicks, was_human_opens, was_human_clicks, burst_since, is_machine_burst FROM activity) both_sides
   GROUP BY customer_id, source_kind, source_id, recipient_id, occurrence HAVING count(open_count) > 0
), change AS MATERIALIZED (
  SELECT customer_id, source_kind, source_id, recipient_id, occurrence, list_id, opens, clicks, machine_opens, burst_since,
         opens > 0 AND open_count = opens AS first_open,
         opens = 0 AND open_count = 1 AND last_open_at IS NULL AND click_count = clicks AS open_by_click,
         clicks > 0 AND click_count = clicks AS first_click,
         clicks > 0 AND coalesce(is_machine_burst, false) AS is_machine_burst, human_clicks < was_human_clicks AS takes_back,
         human_opens - was_human_opens AS human_opens,
         -- Who is known to have read by clicks only is an opener, too.
         (human_opens > 0 OR (track_open AND human_clicks > 0))::integer
           - (was_human_opens > 0 OR (track_open AND was_human_clicks > 0))::integer AS human_openers,
         human_clicks - was_human_clicks AS human_clicks,
         (human_clicks > 0)::integer - (was_human_clicks > 0)::integer AS human_clickers
    FROM merged
)`;

const MACHINE_BURSTS = sql`(SELECT customer_id, source_kind, source_id, recipient_id, occurrence FROM change WHERE is_machine_burst)`;
/** The events themselves, and who clicked which link or did anything on a list for the first time. */
export const EVENTS = sql`
opened AS (
  INSERT INTO hot.open_event (at, customer_id, source_kind, source_id, recipient_id, occurrence, is_machine, by_click, ip, user_agent, country, region, city)
  SELECT at, customer_id, source_kind, source_id, recipient_id, occurrence,
         is_machine OR (is_click AND (customer_id, source_kind, source_id, recipient_id, occurrence) IN ${MACHINE_BURSTS}), is_click, ip, user_agent, country, region, city
    FROM seen
   WHERE link_no IS NULL OR (is_click AND nth = 1 AND (customer_id, source_kind, source_id, recipient_id, occurrence) IN
         (SELECT customer_id, source_kind, source_id, recipient_id, occurrence FROM change WHERE open_by_click))
  RETURNING customer_id, source_kind, source_id, country, region, city
), clicked AS (
  INSERT INTO hot.click_event (at, customer_id, source_kind, source_id, recipient_id, occurrence, link_no, is_machine, url, ip, user_agent, country, region, city)
  SELECT at, customer_id, source_kind, source_id, recipient_id, occurrence, link_no,
         is_machine OR (is_click AND (customer_id, source_kind, source_id, recipient_id, occurrence) IN ${MACHINE_BURSTS}), url, ip, user_agent, country, region, city
    FROM seen WHERE link_no IS NOT NULL
), first_clicks AS (
  INSERT INTO hot.recipient_link (customer_id, source_kind, source_id, link_no, recipient_id, occurrence)
  SELECT DISTINCT customer_id, source_kind, source_id, link_no, recipient_id, occurrence
    FROM seen WHERE is_click ORDER BY 1, 2, 3, 4, 5, 6
  ON CONFLICT DO NOTHING RETURNING customer_id, source_kind, source_id, link_no
), people AS (
  -- Writes only first times. In the result, a time equal to now() is one that was written here.
  INSERT INTO hot.subscriber_activity AS p (customer_id, list_id, subscriber_id, opened_at, clicked_at)
  SELECT customer_id, list_id, recipient_id, CASE WHEN bool_or(first_open OR open_by_click) THEN now() END,
         CASE WHEN bool_or(first_click) THEN now() END
    FROM change WHERE list_id > 0 AND (first_open OR open_by_click OR first_click)
   GROUP BY customer_id, list_id, recipient_id ORDER BY customer_id, list_id, recipient_id
  ON CONFLICT (customer_id, list_id, subscriber_id) DO UPDATE SET
    opened_at = coalesce(p.opened_at, excluded.opened_at), clicked_at = coalesce(p.clicked_at, excluded.clicked_at)
  WHERE (p.opened_at IS NULL AND excluded.opened_at IS NOT NULL)
     OR (p.clicked_at IS NULL AND excluded.clicked_at IS NOT NULL)
  RETURNING customer_id, list_id, opened_at, clicked_at
)`;
