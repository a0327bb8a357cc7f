-- Settings of a plugin for the installation. They may outlive the plugin's row.
CREATE TABLE plugin_settings (
    "vendor" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "values" JSONB NOT NULL DEFAULT '{}',
    "sealed_values" BYTEA,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "plugin_settings_pkey" PRIMARY KEY ("vendor","name")
);

-- Settings of a plugin for a customer.
CREATE TABLE customer_plugin_settings (
    "customer_id" BIGINT NOT NULL,
    "vendor" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "values" JSONB NOT NULL DEFAULT '{}',
    "sealed_values" BYTEA,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "customer_plugin_settings_pkey" PRIMARY KEY ("customer_id","vendor","name")
);

ALTER TABLE "customer_plugin_settings" ADD CONSTRAINT "customer_plugin_settings_customer_id_fkey" FOREIGN KEY ("customer_id") REFERENCES "customer"("id") ON DELETE CASCADE ON UPDATE CASCADE;
