/** The flows that come with the product, in the order in which they are shown. A customer makes an automation of one, and changes that. */
import { z } from 'zod';
import { NotFoundError } from '../../../lib/errors.ts';
import { parseInput } from '../../../lib/text.ts';
import { ANNIVERSARY, BIRTHDAY, DIGEST, RENEWAL } from './dates.ts';
import type { ReadyMadeFlow } from './ready-made-flow.ts';
import { ABANDONED_CART, AFTER_PURCHASE, LOOKED_AND_LEFT } from './shop.ts';
import { RE_PERMISSION, WIN_BACK } from './silent-people.ts';
import { LEAD_NURTURE, TRIAL_ONBOARDING, WELCOME_SERIES } from './welcoming.ts';

export const READY_MADE_FLOWS: readonly ReadyMadeFlow[] = [
  ...[WELCOME_SERIES, ABANDONED_CART, LOOKED_AND_LEFT, AFTER_PURCHASE],
  ...[WIN_BACK, RE_PERMISSION, BIRTHDAY, ANNIVERSARY],
  ...[LEAD_NURTURE, TRIAL_ONBOARDING, RENEWAL, DIGEST],
];

const NAME_MAX = 50;

export const readyMadeInput = z.string().max(NAME_MAX);

/** The ready-made flow of this name. Throws ValidationError on `readyMade` for a text that is no name, NotFoundError `READY_MADE_FLOW_NOT_FOUND`. */
export function readyMadeFlow(name: string): ReadyMadeFlow {
  parseInput(z.object({ readyMade: readyMadeInput }), { readyMade: name });
  const found = READY_MADE_FLOWS.find((one) => one.name === name);
  if (found) return found;
  const names = READY_MADE_FLOWS.map((one) => one.name).join(', ');
  const given = name.slice(0, NAME_MAX).toWellFormed();
  throw new NotFoundError('READY_MADE_FLOW_NOT_FOUND', `There is no ready-made flow “${given}”. There are: ${names}.`);
}
