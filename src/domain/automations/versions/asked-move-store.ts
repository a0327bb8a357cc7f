/** Moves of people to a version of a flow (D84), as they were asked for, and whether they are done. */
import { row, sql, typed, type Queryable } from '../../../db/database.ts';
import type { NodeTargets } from './checked-moves.ts';
import type { VersionKey } from '../runs/run.ts';

type AutomationKey = Omit<VersionKey, 'version'>;

export interface AskedMoves {
  readonly moves: NodeTargets;
  readonly moveParked: boolean;
}

/** Of a version that is published by this transaction, or is live. */
export async function writeMoves(
  db: Queryable,
  { customerId, automationId, version }: VersionKey,
  { moves, moveParked }: AskedMoves,
): Promise<void> {
  await db.execute(
    sql`UPDATE automation_version SET moves = ${JSON.stringify(moves)}::jsonb, move_parked = ${moveParked}, moved_at = NULL, moves_ended_at = NULL
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND number = ${version}`,
  );
}

const ASKED_ROW = row({ moves: typed<NodeTargets>('json'), moveParked: 'bool' });

/** Undefined: the version is gone, or nobody is moved to it. */
export async function askedMoves(
  db: Queryable,
  { customerId, automationId, version }: VersionKey,
): Promise<AskedMoves | undefined> {
  const [found] = await db.query(
    ASKED_ROW,
    sql`SELECT moves, move_parked AS "moveParked" FROM automation_version
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND number = ${version} AND moves IS NOT NULL`,
  );
  return found;
}

/** The version to which people are being moved, if any. */
export async function versionInMove(
  db: Queryable,
  { customerId, automationId }: AutomationKey,
): Promise<number | undefined> {
  const [found] = await db.query(
    { version: 'int' },
    sql`SELECT number AS version FROM automation_version
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND moves IS NOT NULL AND moved_at IS NULL LIMIT 1`,
  );
  return found?.version;
}

/** Everybody has been moved. */
export async function endMoves(db: Queryable, { customerId, automationId, version }: VersionKey): Promise<void> {
  await db.execute(
    sql`UPDATE automation_version SET moved_at = now()
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND number = ${version} AND moved_at IS NULL`,
  );
}

/** Also those who were on the way into an earlier version meanwhile. The last round of moves that were asked for before does not end the present ones. */
export async function endLastRound(db: Queryable, { customerId, automationId, version }: VersionKey): Promise<void> {
  await db.execute(
    sql`UPDATE automation_version SET moves_ended_at = now()
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND number = ${version}
           AND moved_at IS NOT NULL AND moves_ended_at IS NULL`,
  );
}
