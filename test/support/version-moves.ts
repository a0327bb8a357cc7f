/** A world of flows that change: the draft is published again, and people are moved as the worker does it. */
import { updateAutomation } from '../../src/domain/automations/update-automation.ts';
import { movePeople } from '../../src/domain/automations/versions/move-people.ts';
import { publishWithMoves, type Publishing } from '../../src/domain/automations/versions/publish-automation.ts';
import { findOwnedAutomation } from '../../src/domain/automations/find-owned-automation.ts';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { VersionKey } from '../../src/domain/automations/runs/run.ts';
import type { startFlowWorld } from './flow-world.ts';

interface Published {
  readonly uid: string;
  readonly key: VersionKey;
}

export function versionMoves(world: Pick<Awaited<ReturnType<typeof startFlowWorld>>, 'ctx' | 'now'>) {
  const { ctx } = world;
  const move = ({ key }: Published, isLast = false) =>
    movePeople(ctx, { ...key, afterId: 0n, isLast, now: world.now() }, () => false);
  return {
    move,
    /** Publishes the flow as a new version; nobody has been moved yet. */
    async publishAgain(
      { uid, key }: Published,
      flow: object,
      moving: Omit<Publishing, 'draftVersion'> = {},
    ): Promise<Published> {
      const { draftVersion } = await findOwnedAutomation(ctx, uid);
      await updateAutomation(ctx, uid, { flow, draftVersion });
      const { number } = await publishWithMoves(ctx, uid, { draftVersion: draftVersion + 1, ...moving });
      return { uid, key: { ...key, version: number } };
    },
    /** Where the person is. */
    async placeOf(personId: bigint) {
      const rows = await queryRows<{ place: string; wakeAt: Date | null }>(
        ctx.db,
        sql`SELECT version || ' ' || node || ' ' || state AS place, wake_at AS "wakeAt" FROM hot.flow_run WHERE person_id = ${personId} ORDER BY id`,
      );
      return rows.map(({ place, wakeAt }) => `${place} ${wakeAt?.toISOString() ?? 'without end'}`);
    },
  };
}
