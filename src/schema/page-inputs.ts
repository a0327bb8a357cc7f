/** Checks of the arguments that choose a page. */
import { z } from 'zod';

/** Whoever reads it refuses every other text. */
export const cursorInput = z.string().describe('A cursor that an answer gave.');

/** How many rows; what happens with more, the argument says. */
export const rowsInput = (max: number) => z.int().max(max);
