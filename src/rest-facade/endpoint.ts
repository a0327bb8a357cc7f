/**
 * How rows are written, and the one function that runs the usual one: parameters -> variables -> operation ->
 * presentation. A row holds no rule; what it cannot say in these few words belongs below the schema.
 */
import type { Answer } from './answer.ts';
import type { Input } from './input.ts';
import type { DataOf, OperationName, VariablesOf } from './operations.ts';
import type { Row, RowHead, View } from './row.ts';

/** The usual row: one operation. */
export interface Endpoint<Name extends OperationName> extends RowHead {
  readonly operation: Name;
  variables(input: Input, view: View): VariablesOf<Name>;
  present(data: DataOf<Name>, view: View, input: Input): Answer;
}

/** A row of one operation, its types closed over. */
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

/** A row that runs several operations, takes a file or answers with a stream. */
export function customEndpoint(row: Row): Row {
  return row;
}
