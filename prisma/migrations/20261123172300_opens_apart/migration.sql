-- Opens by people, by machines and those that a click implies are shown apart, and add up to open_count (decision D63). So far
-- human_open_count had the implied opens of people, too: from now on it has displays only, and the rest of open_count is implied.
UPDATE hot.tracking_counter t
   SET human_open_count = greatest(t.open_count - t.machine_open_count - coalesce(i.implied, 0), 0)
  FROM hot.tracking_counter o
  LEFT JOIN (SELECT customer_id, source_kind, source_id, count(*)::integer AS implied
               FROM hot.open_event WHERE by_click GROUP BY customer_id, source_kind, source_id) i USING (customer_id, source_kind, source_id)
 WHERE t.customer_id = o.customer_id AND t.source_kind = o.source_kind AND t.source_id = o.source_id AND t.open_count > 0;
