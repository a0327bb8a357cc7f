/** One call of a row: its input, the operations it may run under the caller's own token, and the dialect. */
import type { DocumentNode, GraphQLSchema } from 'graphql';
import type { FieldErrors } from '../lib/errors.ts';
import type { AnswerMemory } from '../lib/large-answers.ts';
import type { Log } from '../lib/log.ts';
import type { RequestParameters } from './request-parameters.ts';
import type { Dialect } from './dialects.ts';
import type { Documents } from './documents.ts';
import {
  RestError,
  defectAnswer,
  failureAnswer,
  failureFields,
  graphqlErrorAnswer,
  invalid,
  isFailure,
  restFieldName,
  unauthenticated,
  type Failure,
  type OperationError,
} from './errors.ts';
import { inputOf, type NameTree } from './input.ts';
import type { IncomingFile } from './multipart.ts';
import type { DataOf, OperationName, VariablesOf } from './operations.ts';
import type { Call, Row, View } from './row.ts';
import { compareWords, type VariableTypes } from './words.ts';

/** The caller as the request states it; not verified yet. */
export interface Credentials {
  readonly token: string | null;
  /** The text of a session's cookie, from a page of our own; used only without a token. */
  readonly session?: string | undefined;
  readonly ipAddress: string;
  readonly userAgent: string | undefined;
  /** The memory of the answer's content. */
  readonly answer?: AnswerMemory | undefined;
}

/** The result of an operation, with the user of the token. */
export interface Execution {
  readonly data?: Readonly<Record<string, unknown>> | null | undefined;
  readonly errors?: readonly OperationError[] | undefined;
  /** null: no valid token. */
  readonly viewer: {
    readonly customerId: bigint;
    readonly isAdmin: boolean;
    readonly restDialect: Dialect | null;
  } | null;
  /** The plugin that was named does not act for the caller's customer: nothing was done. */
  readonly isSwitchedOff?: boolean | undefined;
}

export interface ExecuteOptions {
  /** Finds the faults of a mutation and changes nothing. */
  readonly checksOnly?: boolean;
  /** For a plugin's document; its cost is limited. */
  readonly schema?: GraphQLSchema | undefined;
  /** Only if this plugin acts for the caller's customer. */
  readonly onlyWith?: string | undefined;
}

/** The facade's only access: an operation with the caller's credentials. `app` passes it in. */
export type Execute = (
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>>,
  credentials: Credentials,
  options?: ExecuteOptions,
) => Promise<Execution>;

export interface CallParts {
  readonly row: Row;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly given: RequestParameters;
  readonly declared: NameTree;
  /** Names of parameters that nothing was done with; the row may add some. */
  readonly ignored: Set<string>;
  readonly file: IncomingFile | undefined;
  readonly completeParameters: () => Promise<RequestParameters>;
  readonly credentials: Credentials;
  /** From the header; overrides the token's own. */
  readonly dialect: Dialect | undefined;
  readonly log: Log;
  readonly requestId: string;
}

/** What is the same for all calls. */
export interface CallOptions {
  readonly execute: Execute;
  readonly documents: Documents;
  readonly view: View;
}

/** Makes the call of one request. */
export function beginCall(parts: CallParts, options: CallOptions): Call {
  let viewer: Execution['viewer'] | undefined;
  const { row, given, file } = parts;
  type Values = Readonly<Record<string, unknown>>;
  const run = async (name: string, variables: Values, more?: { checksOnly: boolean }): Promise<Execution> => {
    const operation = operationNamed(name);
    // The schema may allow customers to do for themselves what this row is not for: refused before the change.
    if (row.access === 'admin' && viewer === undefined && operation.isMutation) await run('Identify', {});
    const onlyWith = row.access === 'admin' ? undefined : row.plugin;
    const how = { ...more, schema: operation.schema, onlyWith };
    const execution = await options.execute(operation.document, variables, parts.credentials, how);
    viewer = execution.viewer;
    checkAccess(row, viewer);
    if (execution.isSwitchedOff) throw switchedOff(row.plugin ?? '');
    return execution;
  };
  const operationNamed = (name: string) => {
    const operation = options.documents.get(name);
    if (!operation) throw new Error(`The REST facade has no operation ${name}.`);
    return operation;
  };
  const view = () => ({ ...options.view, dialect: parts.dialect ?? viewer?.restDialect ?? options.view.dialect });
  const input = inputOf(given, parts);
  const faultsOf = async (name: string, variables: Values) => {
    const { data } = await run(name, variables, { checksOnly: true });
    const [failure] = Object.values(data ?? {}).filter(isFailure);
    // Without one the variables did not fit the schema.
    if (!failure) return {};
    const answer = failureAnswer(failure, fieldNames(row));
    if ([401, 403, 404].includes(answer.status)) throw answer;
    return failureFields(failure, fieldNames(row));
  };
  const execute = async (name: string, variables: Values) => {
    const execution = await run(name, variables);
    const data = dataOf(execution, parts, operationNamed(name).variableTypes);
    for (const result of Object.values(data)) {
      if (isFailure(result)) throw refusal(result, row, view().dialect);
    }
    return data;
  };
  const checkAll = async (name: string, variables: Values, read = input) => {
    const { isMutation, variableTypes } = operationNamed(name);
    const { right, wrong } = compareWords(variableTypes, variables, (path) =>
      fieldNames(row)(path.replace(/^input\./, '')),
    );
    const words = [...wrong].map(([name_, sentence]) => [name_, [sentence]]);
    const own: FieldErrors = { ...Object.fromEntries(words), ...read.faults() };
    if (Object.keys(own).length === 0) return;
    const isChecked = isMutation && row.access !== 'public' && !row.actsOutside;
    const found = isChecked ? await faultsOf(name, right) : {};
    // What is missing in an object that was not read is no fault of the caller's, nor is what was judged without it.
    const isUnknown = (name_: string) =>
      Object.keys(own).some((unread) => name_.startsWith(`${unread}.`) || JUDGED_BY[name_] === unread);
    const others = Object.entries(found).filter(([name_]) => !isUnknown(name_));
    throw invalid({ ...own, ...Object.fromEntries(others), ...own });
  };
  return {
    input,
    upload: file && { file, completeInput: async () => inputOf(await parts.completeParameters(), parts) },
    async execute<Name extends OperationName>(name: Name, variables: VariablesOf<Name>) {
      // The document was validated at the start, and the type was generated from that document.
      return (await execute(name, variables)) as DataOf<Name>;
    },
    checkAll,
    ofPlugin: { execute, checkAll },
    view,
    identify: async () => void (await run('Identify', {})),
    identified: () => viewer !== undefined,
  };
}

/** A segment is right or wrong for its list, options are for the type of their field. */
const JUDGED_BY: Readonly<Record<string, string>> = {
  segment_uid: 'list_uid',
  options: 'type',
  // Without a version there is nothing that could have changed since.
  status: 'draft_version',
};

function switchedOff(plugin: string): RestError {
  return new RestError(404, { message: `Your account has not switched on ${plugin}.` });
}

function checkAccess(row: Row, viewer: Execution['viewer']): void {
  if (row.access === 'public') return;
  if (!viewer) throw unauthenticated();
  if (row.access === 'admin' && !viewer.isAdmin)
    throw new RestError(403, { message: 'This needs the token of an administrator.' });
}

function dataOf(
  execution: Execution,
  { row, log, requestId }: CallParts,
  types: VariableTypes,
): Readonly<Record<string, unknown>> {
  const [error] = execution.errors ?? [];
  if (error) {
    const known = graphqlErrorAnswer(error, { nameOf: fieldNames(row), requestId, types });
    if (known) throw known;
    const masked = error.extensions?.['reference'];
    const reference = typeof masked === 'string' ? masked : requestId;
    log.error('rest.operation_failed', { message: error.message, reference });
    throw defectAnswer(reference);
  }
  if (!execution.data) throw new Error('An operation ended without data and without an error.');
  return execution.data;
}

function refusal(failure: Failure, row: Row, dialect: Dialect): RestError {
  const own = row.refuse?.(failure) ?? (dialect === 'classic' ? row.refuseClassic?.(failure) : undefined);
  return own ?? failureAnswer(failure, fieldNames(row));
}

function fieldNames(row: Row): (path: string) => string {
  return (path) => row.fieldName?.(path) ?? restFieldName(path);
}
