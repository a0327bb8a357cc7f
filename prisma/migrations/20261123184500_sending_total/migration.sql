-- What became of messages by server, for monitoring: counters that only grow. Processes add to them every few seconds.
CREATE TABLE hot.sending_total (
  server   text   NOT NULL,
  outcome  text   NOT NULL,
  messages bigint NOT NULL,
  PRIMARY KEY (server, outcome)
);
COMMENT ON TABLE hot.sending_total IS 'What became of messages, by server, for monitoring: counters that only grow. A system server has its uid; servers of customers are counted together.';
