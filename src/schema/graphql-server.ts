/** GraphQL as a server: HTTP and event streams, websockets, and `execute` for the REST facade, on one schema. */
import { rolledBack } from '../db/rolled-back.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { execute, GraphQLError, type DocumentNode, type ExecutionResult, type GraphQLSchema } from 'graphql';
import type { RestDialect } from '../domain/accounts/api-token-store.ts';
import { openTokenCache } from '../domain/accounts/token-cache.ts';
import type { AnswerMemory } from '../lib/large-answers.ts';
import type { CountRequest } from '../lib/rate-limit.ts';
import { buildSchema } from './build-schema.ts';
import { checkCost } from './document-limits.ts';
import { createHttpEntryPoint, type Caller, type EntryPointOptions } from './http-entry-point.ts';
import { LiveConnections } from './live-connections.ts';
import { LiveSchema } from './live-schema.ts';
import { maskResult } from './mask-error.ts';
import type { GraphqlContext } from './context.ts';
import { actsForCaller } from './plugin-parts/switched-on.ts';
import { createPluginOperations } from './plugin-operation.ts';
import { makeContext, type Means } from './request-context.ts';
import { createWebsocketEntryPoint } from './websocket-entry-point.ts';

export interface GraphqlServerOptions {
  readonly means: Omit<Means, 'tokens'>;
  /** Serves GraphiQL to browsers, and allows reading the schema without a token, which GraphiQL needs. */
  readonly explorer: boolean;
  /** Pages of these origins may ask, with a token. */
  readonly origins?: readonly string[];
  /** Absent: there is no limit on requests. */
  readonly countRequest?: CountRequest | undefined;
}

/** What the REST facade passes: the token as the client sent it, or null; and the session of a page that uploads files. */
export interface RestCredentials {
  readonly token: string | null;
  readonly session?: string | undefined;
  readonly ipAddress: string;
  readonly userAgent: string | undefined;
  /** The memory of the answer that the client gets. */
  readonly answer?: AnswerMemory | undefined;
}

export interface RestOptions {
  /** Finds faults and changes nothing. */
  readonly checksOnly?: boolean;
  /** For a document that a plugin has written: the schema for which it was checked. It is refused when it costs too much. */
  readonly schema?: GraphQLSchema | undefined;
  /** Does nothing unless this plugin acts for the caller's customer. */
  readonly onlyWith?: string | undefined;
}

export interface RestExecution extends ExecutionResult {
  /** The user of the token; null: no valid token. */
  readonly viewer: {
    readonly customerId: bigint;
    readonly isAdmin: boolean;
    readonly restDialect: RestDialect | null;
  } | null;
  readonly isSwitchedOff?: boolean;
}

export interface GraphqlServer {
  /** The product's own, without plugins. */
  readonly schema: GraphQLSchema;
  /** With the plugins that are live; another one after each change of them. */
  readonly live: LiveSchema;
  handle(req: IncomingMessage, res: ServerResponse, caller: Caller): Promise<void>;
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, ipAddress: string): void;
  /** Runs a document that was parsed and validated before, for REST. */
  execute(
    document: DocumentNode,
    variables: Readonly<Record<string, unknown>>,
    credentials: RestCredentials,
    options?: RestOptions,
  ): Promise<RestExecution>;
  /** Runs an operation of a plugin. Rejects with a sentence for its author. */
  readonly executeForPlugin: ReturnType<typeof createPluginOperations>;
  /** Ends every connection that is still open. */
  close(): Promise<void>;
}

/** Makes the server. It does not listen itself: the web server passes requests and upgrades to it. */
export function createGraphqlServer(options: GraphqlServerOptions): GraphqlServer {
  const { means: given, explorer, origins = [], countRequest } = options;
  const schema = buildSchema();
  const live = new LiveSchema(schema, given);
  const tokens = openTokenCache(given.notifications);
  const means: Means = { ...given, tokens };
  const connections = new LiveConnections(means);
  const entryPoint: EntryPointOptions = {
    live,
    means,
    connections,
    policy: { introspectionForAll: explorer },
    origins,
    countRequest,
  };
  const http = createHttpEntryPoint(entryPoint);
  const sockets = createWebsocketEntryPoint(entryPoint);
  return {
    schema,
    live,
    handle: (req, res, caller) => http.handle(req, res, caller),
    upgrade: (req, socket, head, ipAddress) => sockets.upgrade(req, socket, head, ipAddress),
    execute: (document, variables, credentials, more) =>
      executeForRest({ live, means }, { document, variables, credentials, ...more }),
    executeForPlugin: createPluginOperations(entryPoint),
    close: async () => {
      live.close();
      connections.close();
      tokens.close();
      await Promise.all([sockets.close(), http.close()]);
    },
  };
}

interface RestOperation extends RestOptions {
  readonly document: DocumentNode;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly credentials: RestCredentials;
}

async function executeForRest(
  { live, means }: Pick<EntryPointOptions, 'live' | 'means'>,
  { document, variables, credentials, checksOnly, schema: checkedFor, onlyWith }: RestOperation,
): Promise<RestExecution> {
  const schema = checkedFor ?? live.current.schema;
  const { token, ...caller } = credentials;
  const made = await makeContext(means, { token: token ?? undefined, ...caller, entryPoint: 'rest' });
  const contextValue: GraphqlContext = checksOnly ? { ...made, checksOnly, db: rolledBack(made.database) } : made;
  if (onlyWith !== undefined && !(await actsForCaller(made, onlyWith)))
    return { viewer: userOf(made), isSwitchedOff: true };
  const refusal = checkedFor ? costRefusal(schema, document, variables) : undefined;
  const result = refusal
    ? { errors: [refusal] }
    : await execute({ schema, document, variableValues: variables, contextValue });
  return { ...maskResult(result, means.log), viewer: userOf(contextValue) };
}

function userOf({ viewer, restDialect }: GraphqlContext): RestExecution['viewer'] {
  return viewer && { customerId: viewer.customerId, isAdmin: viewer.isAdmin, restDialect };
}

function costRefusal(
  schema: GraphQLSchema,
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>>,
): GraphQLError | undefined {
  try {
    checkCost(schema, { document, variables });
    return undefined;
  } catch (error) {
    if (error instanceof GraphQLError) return error;
    throw error;
  }
}
