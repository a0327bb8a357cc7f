/** The REST rows of the plugins that are live. They are checked before a plugin goes live, with the schema as it will be then. */
import type { OwnedEntry, ProductHooks } from '../domain/product-hooks.ts';
import { messageOf, PluginFailedError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { RestRow } from '../plugin-api/index.ts';
import type { Documents } from '../rest-facade/documents.ts';
import { pluginRow, PluginRowFault, type PluginRow } from '../rest-facade/plugin-rows/plugin-row.ts';
import type { Row } from '../rest-facade/row.ts';
import type { GraphqlServer } from '../schema/graphql-server.ts';

/** The product's rows and documents with those of plugins. */
export interface RowsInUse {
  readonly rows: readonly Row[];
  readonly documents: Documents;
}

export interface PluginRows {
  /** Another object after each change of plugins. */
  current(): RowsInUse;
  close(): void;
}

export interface PluginRowsOptions extends RowsInUse {
  readonly hooks: ProductHooks;
  readonly log: Log;
  readonly graphql: Pick<GraphqlServer, 'live'>;
}

type Entries = readonly OwnedEntry<RestRow>[];
type Schema = GraphqlServer['schema'];

export function openPluginRows(options: PluginRowsOptions): PluginRows {
  const { hooks, log, graphql } = options;
  const leftOut = new WeakSet<RestRow>();
  let inUse: RowsInUse | undefined;
  const stopChecking = hooks.check((next) => {
    const entries = next.owned('rest_row').filter(({ value }) => !leftOut.has(value));
    if (entries.length > 0) madeOf(entries, graphql.live.schemaWith(next.owned('graphql_part')), options);
  });
  const stopWatching = hooks.onChange(() => (inUse = undefined));
  /** What is live already must not stop the program. */
  const makeFitting = (): RowsInUse => {
    const { schema } = graphql.live.current;
    const fitting: OwnedEntry<RestRow>[] = [];
    for (const entry of hooks.owned('rest_row')) {
      try {
        madeOf([...fitting, entry], schema, options);
        fitting.push(entry);
      } catch (error) {
        if (leftOut.has(entry.value)) continue;
        leftOut.add(entry.value);
        log.error('plugin.rest_row_left_out', { plugin: entry.plugin, message: messageOf(error) });
        hooks.noteLeftOut(entry.plugin, messageOf(error));
      }
    }
    return withPluginRows(options, madeOf(fitting, schema, options));
  };
  return {
    current: () => (inUse ??= makeFitting()),
    close() {
      stopChecking();
      stopWatching();
    },
  };
}

function madeOf(entries: Entries, schema: Schema, { hooks, documents }: PluginRowsOptions): PluginRow[] {
  const owners = new Map<string, string>();
  return entries.map((entry) => {
    const call = <T>(plugin: string, act: () => T): T => callPlugin(hooks, plugin, act);
    const made = pluginRow(entry, { schema, documents, call });
    const address = `${String(made.row.method)} ${made.row.path.replace(/:\w+/g, ':')}`;
    const owner = owners.get(address);
    if (owner !== undefined)
      throw new PluginRowFault(
        entry,
        `${String(made.row.method)} ${made.row.path} is a row of plugin "${owner}" already.`,
      );
    owners.set(address, entry.plugin);
    return made;
  });
}

function callPlugin<T>({ contained }: ProductHooks, plugin: string, act: () => T): T {
  try {
    return contained.callOrThrow({ plugin, hook: 'rest_row' }, act);
  } catch (error) {
    throw new PluginFailedError(plugin, { cause: error });
  }
}

function withPluginRows({ rows, documents }: RowsInUse, made: readonly PluginRow[]): RowsInUse {
  if (made.length === 0) return { rows, documents };
  return {
    rows: [...rows, ...made.map(({ row }) => row)],
    documents: new Map([
      ...documents,
      ...made.map(({ operationName, operation }) => [operationName, operation] as const),
    ]),
  };
}
