-- A plugin that was found on disk. A deleted one has no row.
CREATE TABLE plugin (
    "id" BIGSERIAL NOT NULL,
    "vendor" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "title" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "status" TEXT NOT NULL DEFAULT 'inactive',
    "is_bundled" BOOLEAN NOT NULL,
    "error" TEXT,
    "activated_at" TIMESTAMPTZ(3),
    "first_activated_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "plugin_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "plugin_vendor_name_key" ON plugin ("vendor", "name");

-- A migration of a plugin that was applied. Its tables may outlive the plugin's row.
CREATE TABLE plugin_migration (
    "vendor" TEXT NOT NULL,
    "plugin" TEXT NOT NULL,
    "no" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "checksum" TEXT NOT NULL,
    "up_sql" TEXT NOT NULL,
    "down_sql" TEXT,
    "objects" TEXT[],
    "applied_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "plugin_migration_pkey" PRIMARY KEY ("vendor","plugin","no")
);
