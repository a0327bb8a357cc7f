/**
 * Puts a restored backup on hold until an administrator has confirmed it (docs/decisions/0115). The hold is a row of the
 * database: every process sees it within seconds, and it outlasts restarts.
 */
import type { Queryable, Transaction } from '../../db/database.ts';
import { lockUntilCommit } from '../../db/lock.ts';
import { stopRestoredFlows } from '../automations/stopping/stop-restored.ts';
import { EVERY_CAMPAIGN, moveCampaigns, PAUSABLE } from '../campaigns/campaign-state-store.ts';
import { HOLD_KEY, RELEASED_KEY } from '../accounts/installation-hold-read-model.ts';
import { inTransaction, type Context } from '../context.ts';
import { insertHold, storedGuard } from './hold-store.ts';
import { notHeld } from './installation-errors.ts';
import { remembered, restoreReasonOf, type KnownPlace, type Place } from './place.ts';
import { hasSomethingToSend, signsOf, timelineOf } from './place-read-model.ts';
import { deleteSettings, readSetting, writeSetting } from './setting-store.ts';
import { dropWaitingMails, type WaitingMails } from './waiting-mail-store.ts';

export interface Hold {
  readonly since: Date;
  readonly reason: string;
}

/** What a process knows at its start. */
export interface Arriving {
  readonly place: Pick<Place, 'address' | 'file'>;
  /** The latest heartbeat recorded on this machine; null: none. */
  readonly seenAt: Date | null;
}

const LOCK = 'mailwright:place';
const PLACE_KEY = 'installation.place';

/** Checks where the database is now, and puts it on hold when it looks like a restored backup with something to send. */
export async function guardRestoredBackup(ctx: Context, arriving: Arriving): Promise<Hold | null> {
  const timeline = await timelineOf(ctx.db);
  return inTransaction(ctx, async ({ db, log }) => {
    await lockUntilCommit(db, LOCK);
    const held = await holdOf(db);
    if (held) return held;
    const known = await readSetting<KnownPlace>(db, PLACE_KEY);
    const { marks, silentSeconds, aheadSeconds } = await signsOf(db, arriving.seenAt);
    const place = { ...arriving.place, marks, timeline };
    const suspicion = known ? restoreReasonOf({ place, known, silentSeconds, aheadSeconds }) : null;
    if (suspicion === null || !(await hasSomethingToSend(db))) {
      await writeSetting(db, PLACE_KEY, remembered(place, suspicion === null ? known : undefined));
      if (suspicion !== null) log.warn('installation.moved', { suspicion });
      return null;
    }
    return hold(db, suspicion);
  });
}

/** The present hold, and whether the place is recorded: after a hold it has to be recorded again. */
export async function guardState(db: Queryable): Promise<{ hold: Hold | null; isPlaced: boolean }> {
  const rows = await storedGuard(db, [HOLD_KEY, PLACE_KEY]);
  const held = rows.find(({ key }) => key === HOLD_KEY)?.value;
  const hold = held ? { since: new Date(held.since ?? 0), reason: held.reason ?? '' } : null;
  return { hold, isPlaced: rows.some(({ key }) => key === PLACE_KEY) };
}

/** Starts a hold by hand, for example before a backup is used for something else. */
export async function hold(db: Queryable, reason: string): Promise<Hold> {
  await insertHold(db, reason);
  return (await holdOf(db)) ?? { since: new Date(), reason };
}

/** The present hold. */
export async function holdOf(db: Queryable): Promise<Hold | null> {
  const held = await readSetting<{ since: string; reason: string }>(db, HOLD_KEY);
  return held ? { since: new Date(held.since), reason: held.reason } : null;
}

/** `pause`: campaigns under way and automations are paused, mails that waited before the hold are dropped. `continue`: everything continues. */
export type AfterHold = 'pause' | 'continue';

export interface Released {
  readonly campaignsPaused: number;
  readonly automationsPaused: number;
  /** Mails that were requested before the hold and are not sent any more. */
  readonly mailsDropped: readonly WaitingMails[];
}

/** Ends the hold: an administrator has seen what would be sent. Returns what is not sent. */
export async function endHold(
  { database, log, clock }: Pick<Context, 'database' | 'log' | 'clock'>,
  underWay: AfterHold,
): Promise<Released> {
  return database.transaction(async (db) => {
    await lockUntilCommit(db, LOCK);
    const held = await holdOf(db);
    if (!held) throw notHeld();
    const released = underWay === 'pause' ? await pauseAll(db, held) : NOTHING_PAUSED;
    // Whatever was chosen, nobody is charged for what the original may have charged.
    await writeSetting(db, RELEASED_KEY, { at: clock.now().toISOString() });
    // The place is recorded again by the next process with a heartbeat there.
    await deleteSettings(db, [HOLD_KEY, PLACE_KEY]);
    log.warn('installation.released', { underWay, ...released });
    return released;
  });
}

const NOTHING_PAUSED: Released = { campaignsPaused: 0, automationsPaused: 0, mailsDropped: [] };

async function pauseAll(db: Transaction, { since }: Hold): Promise<Released> {
  const mailsDropped = await dropWaitingMails(db, since);
  const reason = { code: 'restored_from_backup', params: {} } as const;
  const paused = await moveCampaigns(db, EVERY_CAMPAIGN, { from: PAUSABLE, to: 'paused', reason });
  return { campaignsPaused: paused.length, automationsPaused: await stopRestoredFlows(db), mailsDropped };
}
