/** A row of a plugin as a row of the facade: Mailwright reads the request and runs the operation, the plugin says what goes in and out. */
import { z } from 'zod';
import type { GraphQLSchema } from 'graphql';
import type { Answer } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import type { Documents, Operation } from '../documents.ts';
import { restFieldName } from '../errors.ts';
import type { Input } from '../input.ts';
import type { PluginOperationName } from '../operations.ts';
import type { Call, Row } from '../row.ts';
import { pluginOperation } from './plugin-document.ts';
import { pluginRowShape, rowShapeFault, type PluginRowShape } from './plugin-row-shape.ts';

/** Calls a function of the plugin; what it throws is the answer's fault then. */
export type CallPlugin = <T>(plugin: string, act: () => T) => T;

/** What a plugin has handed over. */
export interface GivenRow {
  readonly plugin: string;
  readonly value: unknown;
}

export interface PluginRow {
  readonly row: Row;
  readonly operationName: PluginOperationName;
  readonly operation: Operation;
}

export interface PluginRowOptions {
  readonly schema: GraphQLSchema;
  /** The product's. */
  readonly documents: Documents;
  readonly call: CallPlugin;
}

/** It cannot be used; the message says why. */
export class PluginRowFault extends Error {
  constructor({ plugin }: GivenRow, what: string) {
    super(`A REST row of plugin "${plugin}" cannot be used: ${what}`);
    this.name = 'PluginRowFault';
  }
}

/** Makes the row. Throws PluginRowFault. */
export function pluginRow(given: GivenRow, { schema, documents, call }: PluginRowOptions): PluginRow {
  const { success, data, error } = pluginRowShape.safeParse(given.value);
  if (!success) throw new PluginRowFault(given, rowShapeFault(error));
  checkPath(given, data);
  const operationName: PluginOperationName = `plugin ${given.plugin} ${data.method} ${data.path}`;
  const operation = operationOf(given, data, { schema, documents, call });
  const act = <T>(work: () => T): T => call(given.plugin, work);
  const own = { ...data, operation, operationName, act };
  const row: Row = {
    ...{ method: data.method, path: `/${data.path.slice(1)}`, access: data.access, summary: data.summary },
    ...(data.details === undefined ? {} : { details: data.details }),
    answers: { kind: data.answers.kind, shape: z.unknown().meta(data.answers.shape) },
    required: Object.entries(data.parameters ?? {}).flatMap(([name, { isRequired }]) => (isRequired ? [name] : [])),
    operations: [operationName],
    plugin: given.plugin,
    run: (call_) => runPluginRow(own, call_),
  };
  return { row, operationName, operation };
}

function checkPath(given: GivenRow, { method, path, parameters = {} }: PluginRowShape): void {
  const [, name = ''] = given.plugin.split('/');
  if (path !== `/${name}` && !path.startsWith(`/${name}/`))
    throw new PluginRowFault(given, `the path ${path} must be /${name} or begin with /${name}/.`);
  const parts = partsOf(path);
  const twice = [...parts, ...Object.keys(parameters), ...RESERVED].filter(
    (one, index, all) => all.indexOf(one) !== index,
  );
  if (twice.length > 0)
    throw new PluginRowFault(given, `${method} ${path} has the name "${twice[0]}" twice, or it is Mailwright's.`);
}

/** The token of the caller, and the numbers of pages. */
const RESERVED = ['api_token', 'page', 'per_page'];

function partsOf(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
}

function operationOf(given: GivenRow, { operation }: PluginRowShape, options: PluginRowOptions): Operation {
  try {
    return pluginOperation(operation, options.schema, options.documents);
  } catch (error) {
    throw new PluginRowFault(given, error instanceof Error ? error.message : String(error));
  }
}

interface OwnRow extends Omit<PluginRowShape, 'operation'> {
  readonly operation: Operation;
  readonly operationName: string;
  readonly act: <T>(work: () => T) => T;
}

type Values = Readonly<Record<string, unknown>>;

async function runPluginRow(row: OwnRow, call: Call): Promise<Answer> {
  const given = givenOf(row, call.input);
  if (call.isRecorded) return { kind: 'body', body: null };
  const { variables } = row;
  const values = variables ? row.act(() => valuesOf(variables(given))) : variablesOf(row, given);
  await call.ofPlugin.checkAll(row.operationName, values);
  const data = await call.ofPlugin.execute(row.operationName, values);
  const body: unknown = row.act(() => plainData(row.present(data, given)));
  if (row.answers.kind !== 'page') return { kind: row.answers.kind, body };
  return { kind: 'page', page: row.act(() => page.parse(body)) };
}

const page = z.object({ nodes: z.array(z.unknown()), total: z.int(), page: z.int(), perPage: z.int() });

function givenOf({ path, parameters = {}, answers }: OwnRow, input: Input): Values {
  const given: Record<string, unknown> = {};
  for (const name of partsOf(path)) given[name] = input.param(name);
  for (const [name, { kind, words, isRequired }] of Object.entries(parameters)) {
    const value = words ? input.choice(name, words) : READ[kind](input, name);
    if (isRequired && (value === undefined || value === '') && !(name in input.faults()))
      input.refuse(name, `The ${name.replaceAll('_', ' ')} field is required.`);
    given[name] = value;
  }
  return Object.freeze(answers.kind === 'page' ? { ...given, ...pageArguments(input) } : given);
}

const READ = {
  text: (input: Input, name: string) => input.text(name),
  integer: (input: Input, name: string) => input.integer(name),
  flag: (input: Input, name: string) => input.flag(name),
  time: (input: Input, name: string) => input.time(name),
  object: (input: Input, name: string) => input.plainObject(name),
  any: (input: Input, name: string) => input.raw(name),
};

function variablesOf({ operation, answers }: OwnRow, given: Values): Values {
  const names = [...operation.variableTypes.keys()];
  const nameIn = (name: string) => (answers.kind === 'page' && name === 'perPage' ? name : restFieldName(name));
  return Object.fromEntries(names.map((name) => [name, given[nameIn(name)]]));
}

function valuesOf(value: unknown): Values {
  return z.record(z.string(), z.unknown()).parse(plainData(value));
}

/** What JSON can say, as a copy: a plugin's objects are left behind. */
function plainData(value: unknown): unknown {
  if (value instanceof Promise) {
    value.catch(() => undefined);
    throw new TypeError('"variables" and "present" must not be asynchronous.');
  }
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}
