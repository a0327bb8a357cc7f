-- Room on each page of the ledger for the two updates that every row gets: with 70 % filled, two of five went to another
-- page and into the index again, and the partition ended as large all the same. A later version of a row is larger by what
-- the server said. Pages that exist stay as they are; nothing is rewritten.
CREATE OR REPLACE FUNCTION hot.ensure_partitions(first_day date, last_day date) RETURNS integer LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
DECLARE
  parent text;
  month  date;
  made   integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('mailwright:partitions', 0));
  FOREACH parent IN ARRAY ARRAY['delivery', 'open_event', 'click_event', 'unsubscribe_event', 'bounce_event', 'feedback_event'] LOOP
    month := date_trunc('month', first_day)::date;
    WHILE month <= last_day LOOP
      IF to_regclass(format('hot.%I', parent || '_' || to_char(month, 'YYYY_MM'))) IS NULL THEN
        EXECUTE format('CREATE TABLE hot.%I PARTITION OF hot.%I FOR VALUES FROM (%L) TO (%L)%s',
          parent || '_' || to_char(month, 'YYYY_MM'), parent, month, (month + interval '1 month')::date,
          CASE WHEN parent = 'delivery' THEN ' WITH (fillfactor = 45)' ELSE '' END);
        made := made + 1;
      END IF;
      month := (month + interval '1 month')::date;
    END LOOP;
  END LOOP;
  RETURN made;
END $$;

-- Partitions that will still be written to. A lock that only other changes of the table and a vacuum wait for.
DO $$
DECLARE
  partition regclass;
BEGIN
  FOR partition IN SELECT c.oid FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                    WHERE i.inhparent = 'hot.delivery'::regclass AND c.relname >= 'delivery_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM') LOOP
    EXECUTE format('ALTER TABLE %s SET (fillfactor = 45)', partition);
  END LOOP;
END $$;
