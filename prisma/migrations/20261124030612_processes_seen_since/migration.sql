-- Since when a process's signs of life have come without a gap: after a gap the others shared its part of a server's connections.
-- Null: it has left.
ALTER TABLE hot.process ADD COLUMN seen_since timestamptz DEFAULT now();
