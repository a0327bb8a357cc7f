/**
 * Hands one message that no ledger knows to a server: a notice, a test. Signed as its sender's other mail is, and
 * under a permit of the server like everything that leaves.
 */
import type { FilledMessage } from '../content/message.ts';
import type { SendingChannel } from '../sending/driver-pool.ts';
import type { SendingIdentity } from '../sending/identity.ts';

interface Handover {
  readonly channel: SendingChannel;
  readonly customerId: bigint;
  readonly identity: SendingIdentity;
}

/** Answers what the server said. Throws what the driver throws (`SendingError`). */
export async function handOver(
  message: FilledMessage,
  { channel, customerId, identity }: Handover,
): Promise<{ reply: string }> {
  const { sign } = identity;
  const content = sign === null ? message.content : await sign(message.content);
  const permits = channel.permits.of(customerId);
  while (permits.tryTake(1) === 0) await permits.whenFree();
  try {
    return await channel.driver.send({ ...message, content });
  } finally {
    permits.give(1);
  }
}
