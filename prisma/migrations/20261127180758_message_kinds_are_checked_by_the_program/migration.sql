-- Kinds are checked where messages are written, as kinds of other tables are.
ALTER TABLE hot.message DROP CONSTRAINT message_kind;
