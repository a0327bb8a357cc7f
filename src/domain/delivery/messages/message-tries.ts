/** How long a message that is not of a campaign is tried: its reader waits for it now, and after a day nobody does. */
import type { Context } from '../../context.ts';
import { PRIORITIES } from '../../messages/message.ts';
import type { RetryRule } from '../ledger/delivery.ts';
import type { TakenMessage } from './message-queue-store.ts';

/** A sending server that is down for a night loses no confirmation. */
const TRIED_SECONDS = 86_400;
/** Mails of flows that are held back for longer, caps and quiet hours not counted, are not sent any more: they belong to an act that is days old. */
export const HELD_SECONDS_MAX = 3 * 86_400;
/** One that was held for days is tried as long as others are. */
const HELD_AND_TRIED_SECONDS = HELD_SECONDS_MAX + TRIED_SECONDS;
/** The author of a test waits for its result. */
const TEST_TRIED_SECONDS = 60;
const WAIT_SECONDS_MIN = 2;
/** A server that works again is found after so long, however old the message is. */
const WAIT_SECONDS_MAX = 600;
/** The part of its age that a message waits until the next try. */
const WAIT_PART = 4;
const TEST_TRIES_MAX = 4;
const TEST_RETRY_SECONDS = 3;

/** How long it waits for a server that can be used; undefined: it has waited for long enough. */
export function waitSeconds(message: Pick<TakenMessage, 'purpose' | 'priority' | 'ageSeconds'>): number | undefined {
  const { ageSeconds } = message;
  if (ageSeconds >= triedSeconds(message)) return undefined;
  return Math.min(WAIT_SECONDS_MAX, Math.max(WAIT_SECONDS_MIN, ageSeconds / WAIT_PART));
}

function triedSeconds({ purpose, priority }: Pick<TakenMessage, 'purpose' | 'priority'>): number {
  if (purpose === 'test') return TEST_TRIED_SECONDS;
  return priority === PRIORITIES.flow ? HELD_AND_TRIED_SECONDS : TRIED_SECONDS;
}

/** The rule for tries of which the server said something. */
export function tryRuleOf({ installation }: Context, { purpose }: Pick<TakenMessage, 'purpose'>): RetryRule {
  if (purpose === 'test') return { attemptsMax: TEST_TRIES_MAX, delaySeconds: TEST_RETRY_SECONDS };
  const { sendAttemptsMax, sendRetryDelaySeconds } = installation.limits;
  return { attemptsMax: sendAttemptsMax, delaySeconds: sendRetryDelaySeconds };
}
