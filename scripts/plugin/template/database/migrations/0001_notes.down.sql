-- Runs when the plugin is deleted with its data.
DROP TABLE vendorname_pluginname_note;
