-- Customers take turns: of each the first that is due is found by its key.
DROP INDEX hot.webhook_activity_due;
CREATE INDEX webhook_activity_due ON hot.webhook_activity (customer_id, due_at, id);
