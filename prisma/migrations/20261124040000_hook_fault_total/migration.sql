-- Counters of hooks for monitoring. Workers have no web server: each process adds what it has counted.
CREATE TABLE hot.hook_fault_total (
  plugin text NOT NULL,
  hook text NOT NULL,
  failed bigint NOT NULL,
  late bigint NOT NULL,
  PRIMARY KEY (plugin, hook)
);
COMMENT ON TABLE hot.hook_fault_total IS 'How often the code of a plugin failed or was late when a hook was called, for monitoring: counters that only grow.';
