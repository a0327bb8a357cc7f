-- Takes `amount` consecutive priorities, and returns the first. `served` is the priority that is served now.
CREATE OR REPLACE FUNCTION hot.take_priorities(customer bigint, amount integer, is_again boolean, served integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  last integer;
BEGIN
  IF is_again THEN
    INSERT INTO hot.queue_priority AS t (customer_id, again) VALUES (customer, served + amount - 1)
      ON CONFLICT (customer_id) DO UPDATE SET again = greatest(t.again, served - 1) + amount RETURNING t.again INTO last;
  ELSE
    INSERT INTO hot.queue_priority AS t (customer_id, planned) VALUES (customer, served + amount - 1)
      ON CONFLICT (customer_id) DO UPDATE SET planned = greatest(t.planned, served - 1) + amount RETURNING t.planned INTO last;
  END IF;
  RETURN last - amount + 1;
END $$;
