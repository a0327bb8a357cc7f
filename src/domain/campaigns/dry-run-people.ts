/** Reads whose faults a dry run tells: addresses are looked up when they are shown, and kept nowhere else. */
import { sql } from '../../db/database.ts';
import { subscriberUid } from '../../lib/ids.ts';
import { viewerOf, type Context } from '../context.ts';
import type { DryRun } from './dry-run-store.ts';

export interface FaultyPerson {
  readonly subscriberUid: string;
  /** Null: no longer on the list. */
  readonly email: string | null;
  readonly message: string;
}

/** The faults of each of the viewer's runs with their people. */
export async function faultsOfEach(ctx: Context, runs: readonly DryRun[]): Promise<FaultyPerson[][]> {
  const ids = runs.flatMap(({ faults }) => faults.map(({ subscriberId }) => subscriberId));
  const people =
    ids.length === 0
      ? []
      : await ctx.db.query<{ id: bigint; email: string }>(
          sql`SELECT id, email FROM subscriber WHERE customer_id = ${viewerOf(ctx).customerId} AND id = ANY (${ids}::bigint[])`,
        );
  const emails = new Map(people.map(({ id, email }) => [String(id), email]));
  return runs.map(({ faults }) =>
    faults.map(({ subscriberId, text }) => ({
      subscriberUid: subscriberUid(BigInt(subscriberId)),
      email: emails.get(subscriberId) ?? null,
      message: text,
    })),
  );
}
