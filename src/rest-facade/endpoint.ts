/**
 * How rows are written, and the function that runs a usual one: parameters -> variables -> operation -> presentation. A row
 * contains no rule; what does not fit here belongs below the schema.
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

/** A row of one operation, with its types bound. */
export function endpoint<Name extends OperationName>(row: Endpoint<Name>): Row {
  const { operation, variables, present, ...head } = row;
  return {
    ...head,
    operations: [operation],
    async run(call) {
      const values = variables(call.input, call.view());
      await call.checkAll(operation, values);
      const data = await call.execute(operation, values);
      return present(data, call.view(), call.input);
    },
  };
}

/** A row that runs several operations, takes a file or answers with a stream. */
export function customEndpoint(row: Row): Row {
  return row;
}
