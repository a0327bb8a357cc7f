/** What Mailwright does for a plugin. */
import type { PluginJobs } from './jobs.ts';
import type { SettingsService } from './plugin-settings.ts';
import type { PluginDatabase } from './plugin-database.ts';
import type { PaymentsService } from './payment-gateway.ts';
import type { PluginFetch } from './plugin-fetch.ts';
import type { RunGraphql } from './plugin-graphql.ts';
import type { PluginTexts } from './plugin-texts.ts';

/**
 * The second argument of `register` and `boot`. A plugin may keep it and use it at any time while it
 * is active. Everything is done under the plugin's own name, within what its manifest asks for and an administrator has granted.
 */
export interface PluginServices extends PluginTexts {
  readonly log: PluginLog;
  readonly jobs: PluginJobs;
  /** The values of the plugin's `settings_form`. */
  readonly settings: SettingsService;
  readonly graphql: RunGraphql;
  readonly database: PluginDatabase;
  readonly fetch: PluginFetch;
  readonly payments: PaymentsService;
}

/** Writes to Mailwright's log, with the plugin's name. Details are plain data, and never contain a password or an address of a person. */
export interface PluginLog {
  info(event: string, details?: Readonly<Record<string, unknown>>): void;
  warn(event: string, details?: Readonly<Record<string, unknown>>): void;
  error(event: string, details?: Readonly<Record<string, unknown>>): void;
}
