-- The names of all that a plugin makes begin with its vendor. Rows with customer_id are erased with the customer.
CREATE TABLE vendorname_pluginname_note (
  id bigserial PRIMARY KEY,
  customer_id bigint NOT NULL,
  text text NOT NULL
);
