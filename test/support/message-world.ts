/** A sender of messages outside of campaigns, as a process with the role `worker` has one; and what became of messages. */
import { randomUUID } from 'node:crypto';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';
import { startMessageSender, type MessageSender } from '../../src/domain/delivery/messages/message-sender.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { proveLiveness } from '../../src/workers/liveness.ts';

/** Starts one with drivers of its own; `await using` stops it. */
export async function runSender(ctx: Context): Promise<MessageSender & AsyncDisposable> {
  const drivers = createDriverPool(ctx.hooks);
  const workerId = randomUUID();
  const liveness = await proveLiveness(ctx.database, ctx.log);
  await liveness.hold(workerId);
  const sender = startMessageSender({ ctx, drivers, workerId });
  return {
    wake: () => sender.wake(),
    pause: (reason) => sender.pause(reason),
    resume: (reason) => sender.resume(reason),
    beginStop: () => sender.beginStop(),
    stop: (graceMs) => sender.stop(graceMs),
    async [Symbol.asyncDispose]() {
      await sender.stop(5_000);
      await drivers.close();
      await liveness.release();
    },
  };
}

export interface MessageRow {
  readonly id: bigint;
  readonly cause: string;
  readonly purpose: string;
  readonly state: string;
  readonly reason: string | null;
  readonly reply: string | null;
  readonly email: string;
  readonly ambiguous: number;
  readonly attempts: number;
  readonly waits: boolean;
}

/** The messages with their rows in the ledger, in the order in which they were written. */
export function messageRows(ctx: Context, cause = '%'): Promise<MessageRow[]> {
  return queryRows<MessageRow>(
    ctx.db,
    sql`SELECT m.id, m.cause, m.purpose, d.state::text AS state, d.reason, d.reply, d.email, d.ambiguous_count AS ambiguous, d.attempts,
               EXISTS (SELECT 1 FROM hot.message_queue q WHERE q.message_id = m.id) AS waits
          FROM hot.message m JOIN hot.delivery d ON d.customer_id = m.customer_id AND d.occurrence = m.id AND d.source_kind = m.source_kind
         WHERE m.cause LIKE ${cause} ORDER BY m.id`,
  );
}
