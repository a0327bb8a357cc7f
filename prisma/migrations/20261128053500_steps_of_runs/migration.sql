-- Steps of a run in their order: those of one moment have the same time.
ALTER TABLE hot.flow_run ADD COLUMN steps integer NOT NULL DEFAULT 0;
ALTER TABLE hot.flow_step ADD COLUMN no integer NOT NULL DEFAULT 0;
DROP INDEX hot.flow_step_of_run;
CREATE INDEX flow_step_of_run ON hot.flow_step (customer_id, automation_id, run_id, no);

-- Who went on from a node, or left the flow there: what opens the counts of hot.flow_node.
CREATE INDEX flow_step_of_node ON hot.flow_step (customer_id, automation_id, version, node, what, run_id) WHERE what IN ('passed', 'left');

-- Who is at a node without a time: parked, or waiting for a call or an event without end.
CREATE INDEX flow_run_resting ON hot.flow_run (customer_id, automation_id, version, node, state, id) WHERE wake_at IS NULL;
