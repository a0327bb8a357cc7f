/**
 * The counters of the ledger (hot.delivery_counter) where they are set from a count; statements that change rows update them
 * themselves.
 */
import { sql, type Queryable } from '../../../db/database.ts';
import type { SourceKey } from '../../source-key.ts';
import { ofSource } from '../../statistics/source-read-model.ts';
import type { LedgerBalance } from './ledger-read-model.ts';

/** Locks the counters, so that no outcome comes between counting and writing; returns their number of open rows. */
export async function lockOpenCount(db: Queryable, source: SourceKey): Promise<number> {
  const [row] = await db.query(
    { open: 'int' },
    sql`SELECT open FROM hot.delivery_counter c WHERE ${ofSource('c', source)} FOR UPDATE`,
  );
  return row?.open ?? 0;
}

/** The size of the audience, as far as it is in the ledger. */
export async function plannedCount(db: Queryable, source: SourceKey): Promise<number> {
  const [row] = await db.query(
    { audience: 'int' },
    sql`SELECT audience FROM hot.delivery_counter c WHERE ${ofSource('c', source)}`,
  );
  return row?.audience ?? 0;
}

/** Writes the counts of the ledger. */
export async function writeBalance(db: Queryable, source: SourceKey, balance: LedgerBalance): Promise<void> {
  await db.execute(
    sql`UPDATE hot.delivery_counter c SET audience = ${balance.audience}, open = ${balance.queued + balance.leased + balance.sending}, sent = ${balance.sent},
          failed = ${balance.failed}, skipped = ${balance.skipped}, suppressed = ${balance.suppressed}, unknown = ${balance.unknown}
        WHERE ${ofSource('c', source)}`,
  );
}
