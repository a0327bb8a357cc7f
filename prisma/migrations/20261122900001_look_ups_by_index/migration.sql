-- Look-ups that read a whole table, and grew with the installation instead of with what they find.

-- A uid alone is asked for when it is not the caller's own: foreign, or unknown?
CREATE INDEX "app_user_uid_idx" ON "app_user"("uid");
CREATE INDEX "api_token_uid_idx" ON "api_token"("uid");
-- Operators page through all subscriptions.
CREATE INDEX "subscription_id_idx" ON "subscription"("id");

-- What the clock looks for. Partial, so that rows in no need of it do not pay: an import writes no such entry.
CREATE INDEX subscriber_pending ON subscriber (pending_until) WHERE pending_until IS NOT NULL;
CREATE INDEX mail_list_import_uploading ON mail_list_import (created_at) WHERE status = 'uploading';
CREATE INDEX uploaded_file_uploading ON uploaded_file (created_at) WHERE status = 'uploading';
CREATE INDEX api_token_ended ON api_token (least(revoked_at, expires_at)) WHERE least(revoked_at, expires_at) IS NOT NULL;

-- The house's servers, among those of all customers.
CREATE INDEX sending_server_system ON sending_server (id) WHERE is_system;
