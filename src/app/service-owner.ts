/** What each service of plugins gets: whose it is, and what the process has. */
import type { Context } from '../domain/context.ts';
import type { PluginKey } from '../domain/plugin-host.ts';
import type { PluginRights } from '../plugin-api/index.ts';
import type { GraphqlServer } from '../schema/graphql-server.ts';

/** A GraphQL server as plugins use it. */
export type Operations = Pick<GraphqlServer, 'executeForPlugin'>;

/** What the process has for its plugins. */
export interface ServiceTools extends Context {
  /** The GraphQL operations; loaded by the first one in a process that serves no requests. */
  operations(): Promise<Operations>;
}

/** Whose services are made. */
export interface ServiceOwner {
  /** `vendor/name`. */
  readonly plugin: string;
  readonly key: PluginKey;
  readonly rights: PluginRights;
  /** What the process has. Throws a sentence while the plugin is not live: each call of a service begins with it. */
  readonly use: () => ServiceTools;
  /** Calls `end` when the plugin is not live any more. */
  readonly onEnd: (end: () => void) => void;
}
