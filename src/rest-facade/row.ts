/** The row of the REST interface, and what it is given when it runs: types only. */
import type { Answer } from './answer.ts';
import type { Dialect } from './dialects.ts';
import type { Failure, RestError } from './errors.ts';
import type { Input } from './input.ts';
import type { IncomingFile } from './multipart.ts';
import type { DataOf, OperationName, VariablesOf } from './operations.ts';
import type { AnswerShape } from './shapes.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
/** Who may call a row at all. The schema decides again, field by field; this orders the refusals and documents. */
export type Access = 'public' | 'token' | 'admin';

/** What every row says of itself. */
export interface RowHead {
  readonly method: Method | readonly Method[];
  /** Below `/api/v1`, with `:name` for parameters. */
  readonly path: `/${string}`;
  readonly access: Access;
  /** One sentence for the reference: what the call does. */
  readonly summary: string;
  /** What else a caller should know of it. */
  readonly details?: string;
  /** What it answers when all goes well. */
  readonly answers: AnswerShape;
  /** Parameters without which it is a 422, by their usual spelling. A test tries each of them. */
  readonly required?: readonly string[];
  /** The schema's name of a field (`contact.countryId`) -> the parameter's; by default in snake case. */
  fieldName?(path: string): string | undefined;
  /** Where the classic dialect words a refusal in its own way. */
  refuseClassic?(failure: Failure): RestError | undefined;
  /** The token's own dialect is looked up before the variables are made, because they depend on it. */
  readonly dialectFirst?: boolean;
}

/** What the router, the reference and the tests hold. */
export interface Row extends RowHead {
  /** Takes one file of a multipart body as a stream (`call.upload`). */
  readonly takesFile?: boolean;
  readonly operations: readonly OperationName[];
  run(call: Call): Promise<Answer> | Answer;
}

/** What presentation may know besides the data. */
export interface View {
  readonly dialect: Dialect;
  /** `{base_url}/api/v1`. */
  readonly apiUrl: string;
  readonly product: { readonly name: string; readonly version: string; readonly baseUrl: string };
}

/** One call of a row: its input, and the operations it may run under the caller's own token. */
export interface Call {
  readonly input: Input;
  readonly upload: Upload | undefined;
  /** Runs an operation. Throws RestError for every failure in its data. */
  execute<Name extends OperationName>(name: Name, variables: VariablesOf<Name>): Promise<DataOf<Name>>;
  /** With the dialect as far as it is known: for certain after the first operation. */
  view(): View;
  /** Finds out who is calling. Throws RestError 401 or 403 when the row is not for them. */
  identify(): Promise<void>;
  /** Whether an operation has found out who is calling. */
  identified(): boolean;
}

export interface Upload {
  readonly file: IncomingFile;
  /** All fields, those after the file included; to be asked for when the file has been read. */
  completeInput(): Promise<Input>;
}
