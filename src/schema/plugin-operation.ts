/** Runs an operation for a plugin: within the limits of any other one, with the plugin as the caller. */
import { execute, getOperationAST, GraphQLError, type ExecutionResult } from 'graphql';
import type { PluginKey } from '../domain/plugin-host.ts';
import { pluginViewer } from '../domain/plugins/plugin-viewer.ts';
import { createConcurrencyLimit } from '../lib/concurrency-limit.ts';
import type { GraphqlAnswer, PluginRights } from '../plugin-api/index.ts';
import type { GraphqlContext } from './context.ts';
import { checkCost } from './document-limits.ts';
import type { EntryPointOptions } from './http-entry-point.ts';
import { maskResult } from './mask-error.ts';

export interface PluginOperation {
  readonly plugin: PluginKey;
  readonly rights: PluginRights;
  readonly customerUid: string;
  readonly document: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Of one plugin in this process, at the same time: each uses a connection to the database. */
const RUNNING_MAX = 2;
const WAITING_MAX = 200;
const WAIT_MS_MAX = 30_000;

/** The function that runs them. It rejects with a sentence when the plugin may not act for the customer. */
export function createPluginOperations(options: Pick<EntryPointOptions, 'live' | 'means'>) {
  const limit = createConcurrencyLimit({
    ...{ runningMax: 2 * RUNNING_MAX, runningPerKeyMax: RUNNING_MAX, waitingPerKeyMax: WAITING_MAX },
    waitMsMax: WAIT_MS_MAX,
    refuse: () =>
      new Error('Too many operations of the plugin are waiting. Wait for some of them before you run more.'),
  });
  return (operation: PluginOperation): Promise<GraphqlAnswer> =>
    limit.run(() => run(options, operation), `${operation.plugin.vendor}/${operation.plugin.name}`);
}

async function run(
  { live, means }: Pick<EntryPointOptions, 'live' | 'means'>,
  { plugin, rights, customerUid, document: text, variables }: PluginOperation,
): Promise<GraphqlAnswer> {
  const { schema, documents } = live.current;
  const isInMaintenance = means.installation.isInMaintenance === true;
  const acting = { key: plugin, rights, customerUid };
  const viewer = await pluginViewer({ db: means.database, isInMaintenance }, acting);
  const contextValue: GraphqlContext = {
    ...{ ...means, db: means.database, tx: undefined, viewer, restDialect: null, ipAddress: null, client: null },
    ...{ entryPoint: 'graphql', executions: new Map(), change: { write: undefined } },
  };
  try {
    const document = documents.parse(text);
    const faults = documents.validate(document);
    if (faults.length > 0) return answerOf({ errors: faults });
    if (getOperationAST(document)?.operation === 'subscription')
      throw new GraphQLError('A plugin runs queries and mutations; for changes it has the EVENT hooks.');
    checkCost(schema, { document, variables });
    return answerOf(
      maskResult(await execute({ schema, document, variableValues: variables, contextValue }), means.log),
    );
  } catch (error) {
    if (error instanceof GraphQLError) return answerOf({ errors: [error] });
    throw error;
  }
}

/** Plain data: what a plugin does to it changes nothing here. */
function answerOf({ data, errors }: ExecutionResult): GraphqlAnswer {
  return {
    ...(data === undefined ? {} : { data: structuredClone(data) }),
    ...(errors ? { errors: errors.map(({ message, extensions }) => ({ message, code: codeOf(extensions) })) } : {}),
  };
}

function codeOf({ code }: GraphQLError['extensions']): string | undefined {
  return typeof code === 'string' ? code : undefined;
}
