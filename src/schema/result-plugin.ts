/**
 * One channel for expected errors: every root field of Query and Mutation answers a union of its value and the error types. Many
 * values, `[Country!]!`, become an object with `nodes`, as pages and connections have it. Subscriptions are left out: their error
 * ends the operation, and GraphQL has a message for that. Every root field's description says the right that it checks.
 */
import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import { rightOf } from './access.ts';

declare global {
  // Pothos knows plugins by declaration merging; the parameter repeats that of its own types.
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      result: ResultPlugin<Types>;
    }
  }
}

class ResultPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    if (config.kind === 'Subscription') return described(config);
    if (config.kind !== 'Query' && config.kind !== 'Mutation') return config;
    const errors = config.type.kind === 'List' ? { dataField: { name: 'nodes' } } : {};
    return described({ ...config, pothosOptions: { ...config.pothosOptions, errors } });
  }
}

/** The description with the right that the field checks, and how often it may run in a request. */
function described<Types extends SchemaTypes>(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
  const { authScopes, executionsMax }: { authScopes?: unknown; executionsMax?: unknown } = config.pothosOptions;
  const limit = typeof executionsMax === 'number' ? ` At most ${executionsMax} in a request.` : '';
  return { ...config, description: `${config.description ?? ''} Needs ${rightOf(authScopes)}.${limit}`.trim() };
}

export const resultPlugin = 'result';
SchemaBuilder.registerPlugin(resultPlugin, ResultPlugin);
