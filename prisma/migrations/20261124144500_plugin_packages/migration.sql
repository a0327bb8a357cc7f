-- The archive of a plugin that was installed or is being installed. All processes of the installation unpack it.
CREATE TABLE plugin_package (
    "id" BIGSERIAL NOT NULL,
    "uid" TEXT NOT NULL,
    "url" TEXT,
    "sha256" TEXT,
    "signature" TEXT,
    "state" TEXT NOT NULL,
    "reason" TEXT,
    "size_bytes" BIGINT NOT NULL DEFAULT 0,
    "digest" TEXT,
    "vendor" TEXT,
    "name" TEXT,
    "version" TEXT,
    "place" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "plugin_package_pkey" PRIMARY KEY ("id")
);

-- A piece of the archive of a plugin.
CREATE TABLE plugin_package_piece (
    "package_id" BIGINT NOT NULL,
    "no" INTEGER NOT NULL,
    "bytes" BYTEA NOT NULL,

    CONSTRAINT "plugin_package_piece_pkey" PRIMARY KEY ("package_id","no")
);

CREATE UNIQUE INDEX "plugin_package_uid_key" ON "plugin_package"("uid");

CREATE UNIQUE INDEX "plugin_package_vendor_name_place_key" ON "plugin_package"("vendor", "name", "place");

ALTER TABLE "plugin_package_piece" ADD CONSTRAINT "plugin_package_piece_package_id_fkey" FOREIGN KEY ("package_id") REFERENCES "plugin_package"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE plugin_package
  ADD CONSTRAINT plugin_package_state CHECK (state IN ('uploading', 'downloading', 'checking', 'ready', 'failed', 'cancelled')),
  ADD CONSTRAINT plugin_package_place CHECK (place IN ('current', 'waiting', 'former')),
  ADD CONSTRAINT plugin_package_ready CHECK (place IS NULL OR (state = 'ready' AND num_nulls(vendor, name, version, digest) = 0));

-- It is packed already.
ALTER TABLE plugin_package_piece
  ALTER COLUMN bytes SET STORAGE EXTERNAL;
