/** Moving people who are inside to a version that is published (decision D84). */
import { z } from 'zod';
import { ok } from '../answer.ts';
import { deepObject } from '../deep-object.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody, countShape } from '../shapes.ts';
import { ownParts } from './flow-faults.ts';
import { faultsShape } from './present.ts';

export const MOVES =
  '`moves`: an object with the ids of nodes, and the node of the draft to which who is there goes; in a form as JSON text. With it, also `{}`, everybody who is inside is moved; nodes with people that the draft has not, or with other work, must be named. ' +
  '`move_parked=false`: those who are parked stay in their version.';

/** Moves as callers give them; the schema checks the names. */
export function movesIn(input: Input) {
  return {
    moves: deepObject<Record<string, unknown>>(input, 'moves', 1),
    moveParked: input.flag('move_parked'),
  };
}

const movesShape = z
  .strictObject({
    draft_version: z.int(),
    nodes: z.array(
      z.strictObject({
        ...{ version: countShape, node: z.string(), waiting: countShape, parked: countShape },
        to: z.string().nullable().meta({ description: 'The node of the draft; null: `moves` must name one.' }),
      }),
    ),
    faults: faultsShape,
  })
  .meta({ id: 'AutomationMoves' });

export const moveRows = [
  endpoint({
    method: 'GET',
    path: '/automations/:uid/moves',
    access: 'token',
    summary: 'Shows where everybody who is inside would go by publishing the draft with moves. Changes nothing.',
    details: `${MOVES} \`faults\`: why publishing would be refused.`,
    answers: answersBody(movesShape),
    operation: 'AutomationMoves',
    variables: (input) => ({ uid: input.param('uid'), ...movesIn(input) }),
    present: ({ automationMoves: { draftVersion, nodes, faults } }) =>
      ok({
        draft_version: draftVersion,
        nodes: nodes.map(({ version, node, waiting, parked, to }) => ({ version, node, waiting, parked, to })),
        faults: faults.map(ownParts),
      }),
  }),
];
