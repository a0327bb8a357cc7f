-- People at the node wait, because a plugin that it asks has not answered: since when, and what it was asked. Null: they do not.
ALTER TABLE hot.flow_node
  ADD COLUMN postponed_at  timestamptz,
  ADD COLUMN postponed_for jsonb;

-- The same of a flow that cannot read what happens to its people, as its goals, exits or triggers ask a plugin.
ALTER TABLE hot.flow_follower
  ADD COLUMN postponed_at  timestamptz,
  ADD COLUMN postponed_for jsonb;
