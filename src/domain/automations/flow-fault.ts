/** What is wrong with a flow, for the person who draws it (D91). */

export interface FlowFault {
  /** The id of a node, a goal or an exit; null: of the flow as a whole. */
  readonly node: string | null;
  /** In the node: `for.days`; null: the node itself. */
  readonly field: string | null;
  readonly code: string;
  readonly message: string;
}

export function flowFault(
  code: string,
  message: string,
  node: string | null = null,
  field: string | null = null,
): FlowFault {
  return { node, field, code, message };
}
