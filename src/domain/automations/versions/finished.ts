/** Sending people who have finished an earlier version of a flow to a node of the live one, as callers ask for it. */
import { z } from 'zod';
import { placeInput } from '../runs/seen-run.ts';

const INT_MAX = 2_147_483_647;

export const sendToFinishedInput = z.object({
  node: placeInput.shape.node.min(1),
  people: z.int().min(0).max(INT_MAX),
});
