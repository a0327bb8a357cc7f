/**
 * What a campaign that is being sent waits for, and until when: its servers or its recipients. Computed when it is read, so it is
 * always current; waits that are stored in the campaign's row (a plan's limit, quiet hours, local times) are there.
 */
import type { Queryable } from '../../db/database.ts';
import type { Context } from '../context.ts';
import { serverWaits } from '../sending/server-wait.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import {
  campaignsUnderWay,
  nextBatches,
  reasonsOfBatches,
  storedReasons,
  type NextBatch,
} from './campaign-wait-read-model.ts';
import { standstillOf } from './standstill.ts';
import { reasonText, type LiveWait } from './status-reason.ts';

/** No page has more of them under way; of further ones only the stored reason is shown. */
const CAMPAIGNS_MAX = 1_000;
const REPLY_LENGTH_MAX = 200;

/** The present wait of a campaign. */
export interface Wait {
  readonly reason: LiveWait;
  /** Nothing has to be corrected: it continues automatically. */
  readonly isInOrder: boolean;
}

/** For each campaign, in order; undefined: it makes progress, or is not being sent. Always four statements. */
export async function campaignWaits(
  db: Queryable,
  keys: readonly CampaignKey[],
): Promise<readonly (Wait | undefined)[]> {
  const underWay = await campaignsUnderWay(db, keys);
  if (underWay.length === 0) return [];
  const waits: (Wait | undefined)[] = [];
  const ofServers = await serverWaits(db, underWay);
  for (const [index, { no }] of underWay.entries()) waits[no] = ofServers[index];
  const batches = await nextBatches(
    db,
    underWay.filter(({ no, hasSnapshot, snapshotOn }) => waits[no] === undefined && hasSnapshot && snapshotOn !== null),
  );
  for (const { no, wait } of await waitsOfBatches(db, batches)) waits[no] = wait;
  return waits;
}

/** The status reasons of these campaigns, in order: what stops all of them, else the present wait, else the stored reason. */
export async function statusReasonsOf(
  { db }: Pick<Context, 'db'>,
  keys: readonly CampaignKey[],
): Promise<(string | null)[]> {
  const rows = await storedReasons(db, keys);
  const reasons = rows.map(({ reason, until }) => (reason === null ? null : reasonText(reason, until) || null));
  if (rows.some(({ isSending, isQueued }) => isSending || isQueued)) {
    const standstill = await standstillOf(db);
    if (standstill !== null)
      return rows.map(({ isSending, isQueued }, no) => (isSending || isQueued ? standstill : (reasons[no] ?? null)));
  }
  const looks = keys.flatMap((key, no) => (rows[no]?.isSending ? [{ ...key, no }] : [])).slice(0, CAMPAIGNS_MAX);
  const waits = looks.length > 0 ? await campaignWaits(db, looks) : [];
  for (const [index, { no }] of looks.entries()) {
    const wait = waits[index];
    if (wait) reasons[no] = reasonText(wait.reason);
  }
  return reasons;
}

/** Why the first recipient of each batch waits: another try, a provider that asked to wait, the limit of a domain. */
async function waitsOfBatches(db: Queryable, batches: readonly NextBatch[]): Promise<{ no: number; wait: Wait }[]> {
  if (batches.length === 0) return [];
  const rows = await reasonsOfBatches(db, batches);
  return rows.flatMap(({ index, reason, said }) => {
    const batch = batches[index];
    if (!batch) return [];
    const params = { at: batch.at.toISOString(), reason, said: said?.slice(0, REPLY_LENGTH_MAX) ?? null };
    return [{ no: batch.no, wait: { reason: { code: 'next_batch', params }, isInOrder: true } }];
  });
}
