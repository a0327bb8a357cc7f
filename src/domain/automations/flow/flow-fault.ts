/** What is wrong with a flow, for the person who draws it (D91). */

export interface FlowFault {
  /** The id of a node, a goal or an exit; null: of the flow as a whole. */
  readonly node: string | null;
  /** In the node: `for.days`; null: the node itself. */
  readonly field: string | null;
  readonly code: string;
  readonly message: string;
}

/** For people who see no places: a sentence that begins with the part and the field. */
export function faultLine({ node, field, message }: FlowFault): string {
  const place = [node === null ? '' : `“${node}”`, field ?? ''].filter((part) => part !== '').join(', ');
  return place === '' ? message : `${place}: ${message}`;
}

export function flowFault(
  code: string,
  message: string,
  node: string | null = null,
  field: string | null = null,
): FlowFault {
  return { node, field, code, message };
}
