CREATE TABLE example_hello_greeting (id bigserial PRIMARY KEY, customer_id bigint NOT NULL, text text NOT NULL);
