/**
 * Hands over one message that is in no ledger: a notification, a test. Signed like its sender's other mail, and with a permit of
 * the server like every message. If a server cannot be used, the next one is tried.
 */
import { domainOf } from '../../lib/mail-domain.ts';
import { SendingError } from '../../plugin-api/index.ts';
import type { FilledMessage } from '../content/message.ts';
import type { Context } from '../context.ts';
import type { DriverPool, SendingChannel } from '../sending/driver-pool.ts';
import type { SendingIdentity } from '../sending/identity.ts';
import { isAboutSetUp } from '../sending/replies/judge-reply.ts';

interface Handover {
  readonly drivers: DriverPool;
  /** The first choice. */
  readonly channel: SendingChannel;
  readonly customerId: bigint;
  /** Absent: not of a campaign's servers. */
  readonly campaignId?: bigint;
  readonly identity: SendingIdentity;
  /** The bare address in From. */
  readonly fromEmail: string;
}

/** Returns the server's reply. Throws what the last driver throws (`SendingError`). */
export async function handOver(
  ctx: Context,
  message: FilledMessage,
  { drivers, channel: first, customerId, campaignId, identity, fromEmail }: Handover,
): Promise<{ reply: string }> {
  const { sign } = identity;
  let signed: FilledMessage | undefined;
  // A vendor that signs by itself gets no signature of ours; the server that is tried next may need one.
  const messageFor = async ({ signsDkim }: SendingChannel): Promise<FilledMessage> =>
    sign === null || signsDkim ? message : (signed ??= { ...message, content: await sign(message.content) });
  const without = new Set<bigint>();
  for (let channel = first; ;) {
    try {
      return await sendThrough(ctx, channel, { customerId, fromEmail, message: await messageFor(channel) });
    } catch (error) {
      // Certainly not accepted, and the server is at fault: without this no later try would choose another server. A fault of
      // set-up may be about this recipient's host; for one message another server is soon tried.
      const isUnusable = error instanceof SendingError && (error.kind === 'unavailable' || isAboutSetUp(error));
      without.add(channel.serverId);
      const next = isUnusable && (await drivers.channelBeside(ctx, { customerId, campaignId, without }));
      if (!next) throw error;
      channel = next;
    }
  }
}

async function sendThrough(
  ctx: Context,
  { permits: all, driver, senders, gate }: SendingChannel,
  { customerId, fromEmail, message }: { customerId: bigint; fromEmail: string; message: FilledMessage },
): Promise<{ reply: string }> {
  const domain = domainOf(message.envelope.to);
  const permits = all.of(customerId);
  while (permits.tryTake(1) === 0) await permits.whenFree();
  try {
    await senders.prepare(fromEmail);
    const answer = await driver.send(message);
    gate.judgeOutcome(ctx, domain, undefined);
    return answer;
  } catch (error) {
    if (!(error instanceof SendingError)) throw error;
    const { kind } = gate.judgeOutcome(ctx, domain, error).recipient;
    throw kind === 'sent' || kind === error.kind ? error : new SendingError(kind, error.message, error);
  } finally {
    permits.give(1);
  }
}
