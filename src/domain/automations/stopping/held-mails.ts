/** What becomes of mails of a flow that were held back while it was stopped, by what was chosen for late runs (D85). */
import type { Queryable } from '../../../db/database.ts';
import { countHeldMails, type HeldMails } from '../../delivery/flow-mails/resumed-mail-store.ts';
import type { LateRuns } from '../runs/late-runs.ts';
import type { VersionKey } from '../runs/run.ts';

/** What was chosen for late runs, if anything was. */
export type LateChoice = Pick<LateRuns, 'mode' | 'until' | 'from' | 'hours'>;

/** A mail does not wait, so waits that begin anew let it go at once. */
export async function heldMails(
  db: Queryable,
  key: Omit<VersionKey, 'version'>,
  choice: LateChoice | undefined,
): Promise<HeldMails> {
  if (choice?.mode === 'skip_mails') return { mode: 'skip', until: choice.until };
  if (choice?.mode !== 'spread') return { mode: 'now' };
  const { from, hours } = choice;
  return { mode: 'spread', from, hours, total: await countHeldMails(db, key), done: 0 };
}
