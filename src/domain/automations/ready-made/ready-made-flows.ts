/** The flows that come with the product, in the order in which they are shown. A customer makes an automation of one, and changes that. */
import { ValidationError } from '../../../lib/errors.ts';
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

const SHOWN_MAX = 50;

/** The ready-made flow of this name. Throws ValidationError on `readyMade`. */
export function readyMadeFlow(name: string): ReadyMadeFlow {
  const found = READY_MADE_FLOWS.find((one) => one.name === name);
  if (found) return found;
  const names = READY_MADE_FLOWS.map((one) => one.name).join(', ');
  const given = name.slice(0, SHOWN_MAX).toWellFormed();
  throw new ValidationError({ readyMade: [`There is no ready-made flow “${given}”. There are: ${names}.`] });
}
