-- The person has left the list by this flow, or had left it when the flow began: only such a run goes on without a subscription (D80).
ALTER TABLE hot.flow_run ADD COLUMN has_left boolean NOT NULL DEFAULT false;
