/** A row of the REST interface, and what it gets when it runs: types only. */
import type { z } from 'zod';
import type { Answer } from './answer.ts';
import type { Dialect } from './dialects.ts';
import type { Failure, RestError } from './errors.ts';
import type { Input } from './input.ts';
import type { IncomingFile } from './multipart.ts';
import type { DataOf, OperationName, PluginOperationName, VariablesOf } from './operations.ts';
import type { AnswerShape } from './shapes.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
/** Who may call a row. The schema decides again, field by field; this sets the order of refusals and documents them. */
export type Access = 'public' | 'token' | 'admin';

/** The description of a row. */
export interface RowHead {
  readonly method: Method | readonly Method[];
  /** Below `/api/v1`, with `:name` for parameters. */
  readonly path: `/${string}`;
  readonly access: Access;
  /** One sentence for the reference: what the call does. */
  readonly summary: string;
  /** Further notes for callers. */
  readonly details?: string;
  /** The answer on success. */
  readonly answers: AnswerShape;
  /** Required parameters (422 without), by their usual spelling. A test tries each of them. */
  readonly required?: readonly string[];
  /** An index whose answer is no page: its filters are refused when it does not know them, as those of pages are (D53). */
  readonly isIndex?: boolean;
  /** What it does for a parameter less cannot be taken back: one that it does not know is refused, in both dialects. */
  readonly refusesUnknown?: boolean;
  /** Changes something although it is a GET: its answer names what it ignored, as those of other methods do (D53). */
  readonly writes?: boolean;
  /** The schema's name of a field (`contact.countryId`) -> the parameter's; by default in snake case. */
  fieldName?(path: string): string | undefined;
  /** A row that works through several things answers 422 with one row of this shape each when all failed. */
  readonly refusesWithRows?: z.ZodType;
  /** For refusals that this row words differently, in both dialects. */
  refuse?(failure: Failure): RestError | undefined;
  /** What a 422 of this row may have besides `message` and `errors`; optional parts. */
  readonly refusesWith?: z.ZodRawShape;
  /** For refusals that the classic dialect words differently. */
  refuseClassic?(failure: Failure): RestError | undefined;
  /** Its operation acts outside of its transaction (connects, counts tries of a password): `checkAll` does not run it. */
  readonly actsOutside?: boolean;
  /** Takes the html of a campaign: its body may be larger than others. */
  readonly takesHtml?: boolean;
  /** The token's dialect is looked up before the variables are made, because they depend on it. */
  readonly dialectFirst?: boolean;
}

/** What the router, the reference and the tests use. */
export interface Row extends RowHead {
  /** Takes the first file of a multipart body, or all of them, as streams (`call.upload`). */
  readonly takesFile?: boolean | 'several';
  readonly operations: readonly (OperationName | PluginOperationName)[];
  /** The plugin to which it belongs; absent: it is the product's. */
  readonly plugin?: string;
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
  /**
   * Throws RestError 422 when the input has faults: all of them, also those that this mutation finds itself. It is run for them
   * and changes nothing; what refuses the caller or does not exist is thrown instead.
   */
  checkAll<Name extends OperationName>(name: Name, variables: VariablesOf<Name>, input?: Input): Promise<void>;
  /** The same for the operation of a plugin's row, whose types nobody knows. */
  readonly ofPlugin: {
    execute(name: string, variables: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>>;
    checkAll(name: string, variables: Readonly<Record<string, unknown>>): Promise<void>;
  };
  /** Nobody has called: the row is read for the reference. It ends after it has read its parameters. */
  readonly isRecorded?: true;
  /** The dialect may be uncertain before the first operation. */
  view(): View;
  /** Looks up the caller. Throws RestError 401 or 403 when the row is not for them. */
  identify(): Promise<void>;
  /** Whether the caller was looked up by an operation. */
  identified(): boolean;
}

export interface Upload {
  readonly file: IncomingFile;
  /** All fields, including those after the file; call it when the file was read. */
  completeInput(): Promise<Input>;
}
