/** Connects an operation's name with the types that codegen made of its document; for the compiler only. */
import type * as Generated from '../generated/operations.ts';
import type { FailureName } from './errors.ts';

type Documents = typeof Generated;

/** The name of an operation in one of the facade's `.graphql` files. */
export type OperationName = {
  [Key in keyof Documents]: Key extends `${string}FragmentDoc`
    ? never
    : Key extends `${infer Name}Document`
      ? Name
      : never;
}[keyof Documents];

/** The operation of a plugin's row: `plugin acme/notes GET /notes`. */
export type PluginOperationName = `plugin ${string}`;

type Signature<Name extends OperationName> = Documents[`${Name}Document` & keyof Documents] extends {
  __apiType?: (variables: infer Variables) => infer Data;
}
  ? { variables: Variables; data: Data }
  : never;

/** The words of enums are texts here: a call compares them with the schema's (words.ts). */
export type VariablesOf<Name extends OperationName> = AnyText<Signature<Name>['variables']> &
  Readonly<Record<string, unknown>>;

type AnyText<Value> = Value extends string
  ? string
  : Value extends Uint8Array
    ? Value
    : Value extends readonly (infer Item)[]
      ? readonly AnyText<Item>[]
      : Value extends object
        ? { [Key in keyof Value]: AnyText<Value[Key]> }
        : Value;

/** An operation's data when none of its results is a failure. */
export type DataOf<Name extends OperationName> = {
  [Field in keyof Signature<Name>['data']]: Success<Signature<Name>['data'][Field]>;
};

type Success<Result> = Result extends { __typename: FailureName } ? never : Result;
