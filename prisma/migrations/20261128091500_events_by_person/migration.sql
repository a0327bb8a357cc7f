-- Segments ask who did something, how often and since when: by this order the index answers it alone, for a whole list and for a range of people.
DROP INDEX hot.person_event_by_name;
CREATE INDEX person_event_by_name ON hot.person_event (customer_id, list_id, name, person_id, at) WHERE name IS NOT NULL;
