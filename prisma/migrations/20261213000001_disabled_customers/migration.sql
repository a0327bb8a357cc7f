-- Every web process reads the few that are disabled every two seconds (domain/accounts/disabled-customers.ts).
CREATE INDEX customer_not_active ON customer (id) WHERE status <> 'active';
