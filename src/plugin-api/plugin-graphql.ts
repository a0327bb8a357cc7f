/** How a plugin reads and changes data of customers: the operations of Mailwright's GraphQL interface, under the plugin's own name. */

/** For whom an operation is run. */
export interface ForCustomer {
  /** The customer must have switched the plugin on, unless the plugin may act for all. */
  readonly customerUid: string;
}

/** As GraphQL answers. Expected errors are members of `data`, as for any client; `errors` has what is wrong with the operation. */
export interface GraphqlAnswer {
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly errors?: readonly { readonly message: string; readonly code: string | undefined }[];
}

/**
 * Runs a query or a mutation with the scopes that the manifest names. Needs `scopes` in the manifest. Rejects with a sentence when the
 * plugin is not active, may not act for this customer, or has too many operations waiting.
 */
export type RunGraphql = (
  document: string,
  variables: Readonly<Record<string, unknown>>,
  options: ForCustomer,
) => Promise<GraphqlAnswer>;
