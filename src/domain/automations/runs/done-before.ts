/**
 * What was done for a person is not done again when the flow changes (D84): a node keeps its id, and its work is passed over by whom an earlier
 * version has led through it. A node of the same id and another type is another node. Pure.
 */
import type { FlowNode } from '../flow/flow-nodes.ts';
import type { LiveFlow } from './live-flow.ts';
import type { Run } from './run.ts';

type Work = Pick<FlowNode, 'id' | 'type'>;

/** As `done` of a run has it. */
function nameOf({ id, type }: Work): string {
  return `${type} ${id}`;
}

/** Whether the flow has the node: another type is another node. */
export function hasNode({ graph }: Pick<LiveFlow, 'graph'>, { id, type }: Work): boolean {
  return graph.nodes.get(id)?.type === type;
}

export function isDoneBefore(node: Work, { done }: Pick<Run, 'done'>): boolean {
  return done?.includes(nameOf(node)) === true;
}

/** What is passed over behind this node: on a way round, its work is done when the person comes there again. */
export function doneBehind(node: Work, { done }: Pick<Run, 'done'>): readonly string[] | null {
  return namesOrNull(done?.filter((name) => name !== nameOf(node)));
}

/** What is passed over by whom a run before has led through these nodes; it was `done` before that run, and the run did not come there. */
export function doneBy(worked: readonly Work[], done: Run['done']): readonly string[] | null {
  return namesOrNull([...new Set([...(done ?? []), ...worked.map(nameOf)])]);
}

interface Changing {
  /** Nodes whose work was done for the person in any version. */
  readonly worked: readonly Work[];
  /** Where the person is with work to do; undefined: it is passed over, or the person comes there. */
  readonly atWork: Work | undefined;
  readonly before: Pick<LiveFlow, 'graph' | 'repeated'>;
  readonly live: Pick<LiveFlow, 'graph' | 'repeated'>;
}

/**
 * What is passed over in the next version: what was to be in the one before and was not come to, and what was done. On what is a way round in both
 * versions, it goes on.
 */
export function doneAfter({ done }: Pick<Run, 'done'>, { worked, atWork, before, live }: Changing) {
  const goesRound = (one: Work) => live.repeated.has(one.id) && before.repeated.has(one.id) && hasNode(before, one);
  const isOver = (one: Work) => hasNode(live, one) && one.id !== atWork?.id && !goesRound(one);
  return namesOrNull([...new Set([...(done ?? []), ...worked.filter(isOver).map(nameOf)])]);
}

function namesOrNull(names: readonly string[] = []): readonly string[] | null {
  return names.length > 0 ? names : null;
}
