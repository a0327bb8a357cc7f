/**
 * What a plugin adds to GraphQL: an entry of the registry hook `graphql_part`. It is plain SDL with plain functions, so a plugin needs no
 * package for it.
 */

export interface GraphqlPart {
  /**
   * SDL: own types, `extend type Query`, `extend type Mutation`, `extend type Subscription`, and `extend type` of a type of Mailwright that
   * has a `uid`. Names begin with the vendor: types as `AcmeNote`, fields of Mailwright's types as `acmeNotes`. Fields have types of the
   * same part or scalars (Int, Float, String, Boolean, ID, DateTime, BigInt, Base64, JsonObject). Fields that are added to Mailwright's
   * types are nullable.
   */
  readonly schema: string;
  /** By type and field. A field of an own type needs none if the value of its object has a property of that name. */
  readonly resolvers: Readonly<Record<string, Readonly<Record<string, GraphqlResolver | GraphqlStream>>>>;
  /** Who may use each field of Query, Mutation and Subscription, by the field's name. */
  readonly access: Readonly<Record<string, GraphqlAccess>>;
}

/**
 * `public`: anybody, without a token. `authenticated`: any valid token. `admin`: an administrator's token with the scope `admin`.
 * `{ scope }`: a token with this scope, such as `lists:read`.
 */
export type GraphqlAccess = 'public' | 'authenticated' | 'admin' | { readonly scope: string };

/**
 * Answers the value of one field, at most five seconds later. `parent` is what the field around it has answered; for a field of a type of
 * Mailwright it is `{ uid }`. Of the errors that it throws, those of `mailwright/plugin-api` (`ValidationError`, `NotFoundError`,
 * `ForbiddenError`, `WrongStateError`) reach the client as they are; any other one is a fault of the plugin.
 */
export type GraphqlResolver = Resolving['resolve'];

/** As a method, so that a resolver may name the types that its part's SDL gives to parent and arguments. */
interface Resolving {
  resolve(parent: unknown, args: Readonly<Record<string, unknown>>, ctx: GraphqlCaller): unknown;
}

/** A field of Subscription: each value is an event. The stream is ended when the client leaves or the plugin is deactivated. */
export interface GraphqlStream {
  subscribe(
    args: Readonly<Record<string, unknown>>,
    ctx: GraphqlCaller,
  ): AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>;
}

/** Who asks. */
export interface GraphqlCaller {
  /** Null: without a valid token, which only a `public` field can see. */
  readonly viewer: PluginViewer | null;
}

export interface PluginViewer {
  readonly customerUid: string;
  readonly userUid: string;
  readonly isAdmin: boolean;
}
