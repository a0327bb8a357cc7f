/**
 * One channel for expected errors: every root field of Query and Mutation answers a union of its value and the error types. Many
 * values, `[Country!]!`, become an object with `nodes`, as pages and connections have it. Subscriptions are left out: their error
 * ends the operation, and GraphQL has a message for that.
 */
import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';

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
    if (config.kind !== 'Query' && config.kind !== 'Mutation') return config;
    const errors = config.type.kind === 'List' ? { dataField: { name: 'nodes' } } : {};
    return { ...config, pothosOptions: { ...config.pothosOptions, errors } };
  }
}

export const resultPlugin = 'result';
SchemaBuilder.registerPlugin(resultPlugin, ResultPlugin);
