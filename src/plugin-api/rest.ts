/**
 * What a plugin adds to the REST interface: an entry of the registry hook `rest_row`. A row runs one GraphQL operation with the caller's
 * token and presents its data. Mailwright reads and checks the request, answers refusals, and describes the row in its reference.
 */

export interface RestRow {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Below `/api/v1`: `/<name of the plugin>` and what follows; `:name` for a part of the path that varies. */
  readonly path: string;
  /** `public`: anybody. `token`: any valid token. `admin`: an administrator's. The operation has its own rights besides. */
  readonly access: 'public' | 'token' | 'admin';
  /** One sentence for the reference: what the call does. */
  readonly summary: string;
  readonly details?: string;
  /** Of the query or the body, by name in snake_case. The parts of the path are not repeated here. */
  readonly parameters?: Readonly<Record<string, RestParameter>>;
  /**
   * A GraphQL document with one query or mutation. Fields whose type is a union of a value and errors get the errors by themselves. Without
   * `variables`, the variable `$listUid` is the parameter `list_uid`.
   */
  readonly operation: string;
  variables?(given: RestGiven): Readonly<Record<string, unknown>>;
  /** The body of the answer from the operation's data; of a `page` also `{ nodes, total, page, perPage }`. Plain data. */
  present(data: Readonly<Record<string, unknown>>, given: RestGiven): unknown;
  readonly answers: RestAnswer;
}

/** `integer` has 32 bits; `time` is ISO text, or null; `object` and `any` are as they came. */
export interface RestParameter {
  readonly kind: 'text' | 'integer' | 'flag' | 'time' | 'object' | 'any';
  /** Absent: 422, before the operation runs. */
  readonly isRequired?: boolean;
  /** The only values of a text. */
  readonly words?: readonly string[];
}

export interface RestAnswer {
  /** `created`: 201, or 200 in the classic dialect. `page`: an index in pages; the row then also gets `page` and `perPage`. */
  readonly kind: 'body' | 'created' | 'page';
  /** JSON Schema of the body, of a page: of one of its rows; for the reference. */
  readonly shape: Readonly<Record<string, unknown>>;
}

/** The parameters and the parts of the path, by name; undefined where nothing was given. */
export type RestGiven = Readonly<Record<string, unknown>>;
