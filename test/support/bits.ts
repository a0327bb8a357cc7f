/** What is kept as bits against the rows that it is kept of, person by person. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Queryable } from '../../src/db/database.ts';

/** One line for each bit of a living person that says something else than the rows. */
export async function wrongBits(db: Queryable): Promise<string[]> {
  const rows = await queryRows<{ fault: string }>(
    db,
    sql`
    WITH believed AS (
      SELECT k.customer_id, k.campaign_id, b.block >> 2 AS block FROM hot.counted_campaign k JOIN hot.campaign_activity_block b USING (customer_id, campaign_id)
       GROUP BY 1, 2, 3 HAVING bool_and(b.last_on < k.counted_on)
    ), bit AS (
      SELECT 'list ' || list_id AS place, (block << 11) + p AS id,
             CASE WHEN get_bit(opened, p) = 1 THEN 'o' ELSE '' END || CASE WHEN get_bit(clicked, p) = 1 THEN 'c' ELSE '' END AS said
        FROM hot.list_activity_block, generate_series(0, 2047) p
      UNION ALL
      SELECT 'campaign ' || campaign_id, (block << 9) + p,
             CASE WHEN get_bit(opened, p) = 1 THEN 'o' ELSE '' END || CASE WHEN get_bit(clicked, p) = 1 THEN 'c' ELSE '' END
             || CASE WHEN get_bit(human_opened, p) = 1 THEN 'O' ELSE '' END || CASE WHEN get_bit(human_clicked, p) = 1 THEN 'C' ELSE '' END
        FROM hot.campaign_activity_block, generate_series(0, 511) p
      UNION ALL
      SELECT 'received ' || b.campaign_id, (b.block << 11) + p, CASE WHEN get_bit(members, p) = 1 THEN 'r' ELSE '' END
        FROM hot.received_campaign r JOIN hot.delivery_counter n ON n.source_id = r.campaign_id AND n.sent = r.people
        JOIN hot.received_block b ON b.campaign_id = r.campaign_id, generate_series(0, 2047) p
      UNION ALL
      SELECT c.kind || ' ' || c.campaign_id, (c.block << 11) + p, CASE sum(get_bit(c.members, p) << c.digit) WHEN 0 THEN '' ELSE sum(get_bit(c.members, p) << c.digit)::text END
        FROM believed k JOIN hot.campaign_count_block c USING (customer_id, campaign_id, block), generate_series(0, 2047) p GROUP BY 1, 2
      UNION ALL
      SELECT 'link ' || c.campaign_id || '.' || c.link_no, (c.block << 11) + p, CASE WHEN get_bit(c.members, p) = 1 THEN 'l' ELSE '' END
        FROM believed k JOIN hot.campaign_link_block c USING (customer_id, campaign_id, block), generate_series(0, 2047) p
    ), fact AS (
      SELECT 'list ' || list_id AS place, subscriber_id AS id,
             CASE WHEN opened_at IS NOT NULL THEN 'o' ELSE '' END || CASE WHEN clicked_at IS NOT NULL THEN 'c' ELSE '' END AS said
        FROM hot.subscriber_activity
      UNION ALL
      SELECT 'campaign ' || source_id, recipient_id,
             CASE WHEN open_count > 0 THEN 'o' ELSE '' END || CASE WHEN click_count > 0 THEN 'c' ELSE '' END
             || CASE WHEN human_opens > 0 OR (human_clicks > 0 AND open_count > 0) THEN 'O' ELSE '' END
             || CASE WHEN human_clicks > 0 THEN 'C' ELSE '' END
        FROM hot.recipient_activity
      UNION ALL
      SELECT 'received ' || d.source_id, d.recipient_id, 'r'
        FROM hot.received_campaign r JOIN hot.delivery_counter n ON n.source_id = r.campaign_id AND n.sent = r.people
        JOIN hot.delivery d ON d.source_id = r.campaign_id AND d.state = 'sent'
      UNION ALL
      SELECT n.kind || ' ' || a.source_id, a.recipient_id, n.count::text
        FROM hot.recipient_activity a JOIN believed k ON k.customer_id = a.customer_id AND k.campaign_id = a.source_id AND k.block = a.recipient_id >> 11,
             LATERAL (VALUES ('opens', a.open_count), ('clicks', a.click_count), ('human_clicks', a.human_clicks),
               ('human_opens', greatest(a.human_opens, (a.human_clicks > 0 AND a.open_count > 0)::integer))) n (kind, count) WHERE n.count > 0
      UNION ALL
      SELECT 'link ' || a.source_id || '.' || a.link_no, a.recipient_id, 'l'
        FROM hot.recipient_link a JOIN believed k ON k.customer_id = a.customer_id AND k.campaign_id = a.source_id AND k.block = a.recipient_id >> 11
    )
    SELECT place || ', ' || id || ': ' || coalesce(b.said, '') || ' instead of ' || coalesce(f.said, '') AS fault
      FROM (SELECT * FROM bit WHERE said <> '') b FULL JOIN (SELECT * FROM fact WHERE said <> '') f USING (place, id)
     WHERE b.said IS DISTINCT FROM f.said AND id IN (SELECT id FROM subscriber)`,
  );
  return rows.map(({ fault }) => fault);
}
