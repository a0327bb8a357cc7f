/** A reader must arrive, whether or not we could write it down. */
import type { Context } from '../domain/context.ts';
import { messageOf } from '../lib/errors.ts';

/** A database that restarts is waited for; a reader is not kept longer than a slow page would. */
const PATIENCE_MS = 2_000;

/** Resolves when `recorded` does, fails, or takes too long (it then goes on behind). Never throws. */
export async function withinPatience(ctx: Context, recorded: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS);
  });
  const outcome = recorded.catch((error: unknown) =>
    ctx.log.error('tracking.event_lost', { message: messageOf(error) }),
  );
  await Promise.race([outcome, patience]);
  clearTimeout(timer);
}
