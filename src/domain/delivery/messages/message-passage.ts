/**
 * How a message passes the gate of its server. Mails of flows pass it as a campaign's do: the pace of the server, its health, limits of
 * domains. Other messages are few and wanted now: they only tell it what became of them.
 */
import type { SendingError } from '../../../plugin-api/index.ts';
import type { Context } from '../../context.ts';
import { PRIORITIES } from '../../messages/message.ts';
import type { SendingChannel } from '../../sending/driver-pool.ts';
import type { RecipientVerdict } from '../../sending/replies/judge-reply.ts';
import type { Held } from '../flow-mails/flow-budget.ts';
import type { TakenMessage } from './message-queue-store.ts';

/** After this time all processes know of a server's trouble, and choose another one if there is one. */
const HEALTH_KNOWN_SECONDS = 2;

export interface Passage {
  /** What an attempt says about the recipient. Once. */
  judge(ctx: Context, error: SendingError | undefined): RecipientVerdict;
  /** There is no attempt any more; after `judge` nothing happens. */
  withdraw(): void;
}

/** Asks for one; or why the message has to wait. */
export async function passGate(
  ctx: Context,
  { gate }: Pick<SendingChannel, 'gate'>,
  { message, domain }: { readonly message: TakenMessage; readonly domain: string },
): Promise<Passage | Held> {
  if (message.priority !== PRIORITIES.flow)
    return { judge: (given, error) => gate.judgeOutcome(given, domain, error).recipient, withdraw: () => undefined };
  const recipient = { domain, beganAt: performance.now() };
  const { go, later, stop } = await gate.admit(ctx, message.customerId, [recipient]);
  const [held] = later;
  if (held) return { ...held, isOfDomain: true };
  if (go.length === 0) {
    const waitSeconds = stop?.waitSeconds ?? 1;
    if (stop?.reason === 'paced') return { reason: 'server_pace', delaySeconds: waitSeconds };
    return { reason: 'server_unavailable', delaySeconds: Math.min(waitSeconds, HEALTH_KNOWN_SECONDS) };
  }
  let isOpen = true;
  return {
    judge(given, error) {
      isOpen = false;
      return gate.ended(given, recipient, { error, attempts: message.attempts }).verdict.recipient;
    },
    withdraw() {
      if (isOpen) gate.withdraw([recipient]);
      isOpen = false;
    },
  };
}
