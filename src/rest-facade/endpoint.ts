/**
 * A row of the REST interface, and the one function that runs any row: parameters -> variables -> operation ->
 * presentation. A row holds no rule; what it cannot say in these few words belongs below the schema.
 */
import type { Answer } from './answer.ts';
import type { Call } from './call.ts';
import type { Dialect } from './dialects.ts';
import type { Failure, RestError } from './errors.ts';
import type { Input } from './input.ts';
import type { DataOf, OperationName, VariablesOf } from './operations.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
/** Who may call a row at all. The schema decides again, field by field; this orders the refusals and documents. */
export type Access = 'public' | 'token' | 'admin';

/** What presentation may know besides the data. */
export interface View {
  readonly dialect: Dialect;
  /** `{base_url}/api/v1`. */
  readonly apiUrl: string;
  readonly product: { readonly name: string; readonly version: string; readonly baseUrl: string };
}

interface RowHead {
  readonly method: Method | readonly Method[];
  /** Below `/api/v1`, with `:name` for parameters. */
  readonly path: `/${string}`;
  readonly access: Access;
  /** The schema's name of a field (`contact.countryId`) -> the parameter's; by default in snake case. */
  fieldName?(path: string): string | undefined;
  /** Where the classic dialect words a refusal in its own way. */
  refuseClassic?(failure: Failure): RestError | undefined;
  /** The token's own dialect is looked up before the variables are made, because they depend on it. */
  readonly dialectFirst?: boolean;
}

/** The usual row: one operation. */
export interface Endpoint<Name extends OperationName> extends RowHead {
  readonly operation: Name;
  variables(input: Input, view: View): VariablesOf<Name>;
  present(data: DataOf<Name>, view: View, input: Input): Answer;
}

/** A row that runs several operations, takes a file or answers with a stream. */
export interface CustomEndpoint extends RowHead {
  /** Takes one file of a multipart body as a stream (`call.upload`). */
  readonly takesFile?: boolean;
  readonly operations: readonly OperationName[];
  run(call: Call): Promise<Answer> | Answer;
}

/** A row with its types closed over: what the router, the reference and the tests hold. */
export interface Row extends CustomEndpoint {}

/** One operation, presented. */
export function endpoint<Name extends OperationName>(row: Endpoint<Name>): Row {
  const { operation, variables, present, ...head } = row;
  return {
    ...head,
    operations: [operation],
    async run(call) {
      const values = variables(call.input, call.view());
      call.input.check();
      const data = await call.execute(operation, values);
      return present(data, call.view(), call.input);
    },
  };
}

/** Anything more. */
export function customEndpoint(row: CustomEndpoint): Row {
  return row;
}

