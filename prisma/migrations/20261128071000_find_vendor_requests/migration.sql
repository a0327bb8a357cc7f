-- Requests of one server are asked for by its uid, and most often those that could not be read, which are few.
DROP INDEX hot.vendor_request_of_server;
CREATE INDEX vendor_request_of_server ON hot.vendor_request (server_uid, received_at, id);
CREATE INDEX vendor_request_unreadable ON hot.vendor_request (received_at, id) WHERE fault IS NOT NULL;
