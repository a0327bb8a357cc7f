-- What an administrator has granted a plugin, and where the version is that was activated.
ALTER TABLE plugin ADD COLUMN     "folder" TEXT,
ADD COLUMN     "granted" JSONB,
ADD COLUMN     "granted_at" TIMESTAMPTZ(3);

-- A customer that has switched a plugin on: the plugin may act for it.
CREATE TABLE plugin_customer (
    "customer_id" BIGINT NOT NULL,
    "vendor" TEXT NOT NULL,
    "plugin" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "plugin_customer_pkey" PRIMARY KEY ("customer_id","vendor","plugin")
);

-- The plugin that did it, `vendor/name`; null: a person or a program with a token.
ALTER TABLE hot.audit_event ADD COLUMN plugin text;
