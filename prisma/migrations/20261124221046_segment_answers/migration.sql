-- What a plugin has answered to a condition of a segment (src/domain/audience/segments/ask-plugins.ts): for one list, with certain
-- values. It is used only when it is complete. That of a campaign is kept until the campaign's audience is in the ledger.
CREATE TABLE hot.segment_answer (
  customer_id bigint      NOT NULL,
  list_id     bigint      NOT NULL,
  id          bigint      GENERATED ALWAYS AS IDENTITY,
  -- The campaign that asked; null: a request.
  campaign_id bigint,
  -- Digest of plugin, condition and values.
  question    text        NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  complete_at timestamptz,
  PRIMARY KEY (customer_id, list_id, id)
);

-- The people of an answer, as bits: block is subscriber_id >> 11. Only people of this customer and list.
CREATE TABLE hot.segment_answer_block (
  customer_id bigint    NOT NULL,
  list_id     bigint    NOT NULL,
  answer_id   bigint    NOT NULL,
  block       bigint    NOT NULL,
  members     bit(2048) NOT NULL,
  PRIMARY KEY (customer_id, list_id, answer_id, block)
);
