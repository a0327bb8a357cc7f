/** Moves of people to a version, as callers give them: whether they have the shape of moves. */
import { z } from 'zod';
import { checkInput } from '../../../lib/text.ts';
import { flowFault, type FlowFault } from '../flow/flow-fault.ts';
import { NODE_ID_MAX, nodeId } from '../flow/flow-parts.ts';

/** From nodes of earlier versions to those of the new one. */
export type NodeTargets = Readonly<Record<string, string>>;

/** More are not listed. */
export const FAULTS_SHOWN_MAX = 100;

/** Nodes of several earlier versions, of 200 nodes each. */
export const MOVES_MAX = 1_000;

const movesInput = z.object({
  moves: z
    .record(nodeId, nodeId)
    .refine((given) => Object.keys(given).length <= MOVES_MAX, `may not name more than ${MOVES_MAX} nodes`),
});

const NO_NODE_ID = `The node, or its target, is no id of a node: at most ${NODE_ID_MAX} letters, digits, _ and -.`;

/** Given from outside; `faults` when it has another shape. */
export function checkMoves(given: unknown): { readonly moves: NodeTargets; readonly faults: readonly FlowFault[] } {
  const { data, errors } = checkInput(movesInput, { moves: given });
  if (!errors) return { moves: data.moves, faults: [] };
  const faults = Object.entries(errors).flatMap(([path, messages]) => {
    const node = path.startsWith('moves.') ? path.slice('moves.'.length) : null;
    return messages.map((message) => flowFault('invalid', node === null ? message : NO_NODE_ID, node, 'moves'));
  });
  return { moves: {}, faults: faults.slice(0, FAULTS_SHOWN_MAX) };
}
