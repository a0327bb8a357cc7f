-- The last time of each line of a plugin's timetable that has come: each time runs once in the installation.
CREATE TABLE plugin_slot (
    "vendor" TEXT NOT NULL,
    "plugin" TEXT NOT NULL,
    "hook" TEXT NOT NULL,
    "line" TEXT NOT NULL,
    "slot" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "plugin_slot_pkey" PRIMARY KEY ("vendor","plugin","hook","line")
);
