/** Whether the counters of a database equal its rows: every figure that the product keeps beside rows, counted anew. */
import pg from 'pg';

/** Each gives a row for what differs. */
const QUESTIONS: Readonly<Record<string, string>> = {
  'people of lists': `
    SELECT list_id, status, sum(kept) AS kept, sum(counted) AS counted FROM (
      SELECT list_id, status, 0 AS kept, count(*) AS counted FROM subscriber GROUP BY 1, 2
      UNION ALL SELECT list_id, status, n, 0 FROM hot.list_counter, LATERAL (VALUES
        ('subscribed', subscribed), ('unsubscribed', unsubscribed), ('unconfirmed', unconfirmed), ('pending', pending)) v (status, n)) b
     GROUP BY 1, 2 HAVING sum(kept) <> sum(counted)`,
  'people of blocks': `
    SELECT list_id, block, sum(kept) AS kept, sum(counted) AS counted FROM (
      SELECT list_id, id >> 11 AS block, 0 AS kept, count(*) AS counted FROM subscriber GROUP BY 1, 2
      UNION ALL SELECT list_id, block, members, 0 FROM hot.subscriber_block) b
     GROUP BY 1, 2 HAVING sum(kept) <> sum(counted)`,
  ledger: `
    SELECT source_id, state, sum(kept) AS kept, sum(counted) AS counted FROM (
      SELECT source_id, CASE WHEN state IN ('queued', 'leased', 'sending') THEN 'open' ELSE state::text END AS state, 0 AS kept, count(*) AS counted
        FROM hot.delivery GROUP BY 1, 2
      UNION ALL SELECT source_id, state, n, 0 FROM hot.delivery_counter, LATERAL (VALUES
        ('open', open), ('sent', sent), ('failed', failed), ('skipped', skipped), ('suppressed', suppressed), ('unknown', unknown)) v (state, n)) b
     GROUP BY 1, 2 HAVING sum(kept) <> sum(counted)`,
  opens: `
    SELECT source_id, what, sum(kept) AS kept, sum(counted) AS counted FROM (
      SELECT source_id, 'opens' AS what, 0 AS kept, count(*) AS counted FROM hot.open_event GROUP BY 1
      UNION ALL SELECT source_id, 'openers', 0, count(DISTINCT recipient_id) FROM hot.open_event GROUP BY 1
      UNION ALL SELECT source_id, 'clicks', 0, count(*) FROM hot.click_event GROUP BY 1
      UNION ALL SELECT source_id, 'clickers', 0, count(DISTINCT recipient_id) FROM hot.click_event GROUP BY 1
      UNION ALL SELECT source_id, 'bounces', 0, count(*) FROM hot.bounce_event GROUP BY 1
      UNION ALL SELECT source_id, 'unsubscribes', 0, count(*) FROM hot.unsubscribe_event GROUP BY 1
      UNION ALL SELECT source_id, what, n, 0 FROM hot.tracking_counter, LATERAL (VALUES
        ('opens', open_count), ('openers', uniq_open_count), ('clicks', click_count), ('clickers', uniq_click_count),
        ('bounces', bounce_count), ('unsubscribes', unsubscribe_count)) v (what, n)) b
     GROUP BY 1, 2 HAVING sum(kept) <> sum(counted)`,
  'openers and clickers of lists': `
    SELECT list_id, sum(kept) AS kept, sum(counted) AS counted, sum(kept_clickers) AS kept_clickers, sum(counted_clickers) AS counted_clickers FROM (
      SELECT list_id, 0 AS kept, count(opened_at) AS counted, 0 AS kept_clickers, count(clicked_at) AS counted_clickers FROM hot.subscriber_activity GROUP BY 1
      UNION ALL SELECT list_id, openers, 0, clickers, 0 FROM hot.list_counter) b
     GROUP BY 1 HAVING sum(kept) <> sum(counted) OR sum(kept_clickers) <> sum(counted_clickers)`,
  links: `
    SELECT source_id, link_no, sum(kept) AS kept, sum(counted) AS counted FROM (
      SELECT source_id, link_no, 0 AS kept, count(*) AS counted FROM hot.click_event GROUP BY 1, 2
      UNION ALL SELECT source_id, link_no, click_count, 0 FROM hot.link_counter) b
     GROUP BY 1, 2 HAVING sum(kept) <> sum(counted)`,
};

/** One line for each figure that is wrong. */
export async function faultsOfCounters(url: string): Promise<string[]> {
  const client = new pg.Client(url);
  await client.connect();
  const faults: string[] = [];
  for (const [name, question] of Object.entries(QUESTIONS)) {
    const { rows } = await client.query<Record<string, unknown>>(question);
    faults.push(...rows.map((row) => `${name}: ${JSON.stringify(row)}`));
  }
  await client.end();
  return faults;
}
