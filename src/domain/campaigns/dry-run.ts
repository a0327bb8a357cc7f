/**
 * A dry run composes the message for everybody who would get the campaign now, and sends nothing. It shows who cannot be composed
 * for, who gets no message and why, the total size and the time, before the first mail is sent. It goes through the list slice by
 * slice; the ledger is not used.
 */
import type { Queryable } from '../../db/database.ts';
import { dryRunJob } from '../../jobs/campaign-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { ValidationError } from '../../lib/errors.ts';
import { audienceSlice } from '../audience/segments/segment-read-model.ts';
import { answersTo } from '../audience/segments/ask-plugins.ts';
import { UnavailableConditionError } from '../audience/segments/segment-errors.ts';
import type { AnswersByQuestion } from '../audience/segments/segment.ts';
import { ruleOfSegment } from '../audience/segments/segment-store.ts';
import { inTransaction, type Context } from '../context.ts';
import type { CompiledMessage } from '../content/message.ts';
import { faultSentence } from '../content/template-fault.ts';
import { compileCampaign } from '../delivery/campaigns/campaign-message.ts';
import { composeAll, type DryPerson } from '../delivery/campaigns/compose-dry.ts';
import { dryRunRunning, noDryRun } from './campaign-errors.ts';
import { isAtVersion } from './campaign-read-model.ts';
import { findCampaignById } from './campaign-store.ts';
import { peopleOfSlice } from './dry-run-people-read-model.ts';
import type { Campaign } from './campaign.ts';
import {
  addDryRunStep,
  endDryRun,
  insertDryRun,
  latestDryRun,
  takeDryRun,
  type DryRun,
  type DryRunKey,
} from './dry-run-store.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';
import type { DryRunReason } from './status-reason.ts';

/** People between two checks for a stop: some tenths of a second. */
const SLICE_ROWS = 500;

/** Enough of a fault to find it. */
const FAULT_LENGTH_MAX = 1_000;

/**
 * Starts one. Throws ValidationError (a message that cannot be composed at all), DRY_RUN_RUNNING, NotFoundError,
 * ForeignResourceError.
 */
export async function startDryRun(ctx: Context, uid: string): Promise<DryRun> {
  return inTransaction(ctx, async (tx) => {
    const { customerId, id: campaignId } = await findOwnedCampaign(tx, uid);
    await compileCampaign(tx, { customerId, campaignId });
    const run = await insertDryRun(tx.db, { customerId, campaignId });
    if (!run) throw dryRunRunning();
    await enqueueDryRun(tx.db, run);
    return run;
  });
}

async function enqueueDryRun(db: Queryable, { customerId, id }: DryRunKey): Promise<void> {
  await enqueue(db, dryRunJob, { customerId: String(customerId), dryRunId: String(id) });
}

/** Cancels the open one; it composes nothing after its present slice. Throws DRY_RUN_NOT_RUNNING. */
export async function cancelDryRun(ctx: Context, uid: string): Promise<DryRun> {
  return inTransaction(ctx, async (tx) => {
    const { customerId, id: campaignId } = await findOwnedCampaign(tx, uid);
    const run = await latestDryRun(tx.db, { customerId, campaignId });
    if (!run || !(await endDryRun(tx.db, run, { status: 'cancelled' }))) throw noDryRun();
    return (await latestDryRun(tx.db, { customerId, campaignId })) ?? run;
  });
}

/** Runs a dry run; `stopped` when the process has to stop before its end: a new job continues it. */
export async function workDryRun(
  ctx: Context,
  key: DryRunKey,
  { abortSignal, isLastTry }: { abortSignal: AbortSignal; isLastTry: boolean },
): Promise<'over' | 'stopped'> {
  try {
    const end = await composeSlices(ctx, key, abortSignal);
    if (end === 'stopped') await enqueueDryRun(ctx.db, key);
    return end;
  } catch (error) {
    if (error instanceof UnavailableConditionError && abortSignal.aborted) {
      await enqueueDryRun(ctx.db, key);
      return 'stopped';
    }
    const isOurs = error instanceof ValidationError;
    if (!isOurs && !isLastTry) throw error;
    const reason: DryRunReason = isOurs
      ? { code: 'dry_run_fault', params: { fault: faultSentence(error).slice(0, FAULT_LENGTH_MAX) } }
      : { code: 'dry_run_failed', params: {} };
    await endDryRun(ctx.db, key, { status: 'failed', reason });
    if (!isOurs) throw error;
    return 'over';
  }
}

async function composeSlices(ctx: Context, key: DryRunKey, abortSignal: AbortSignal): Promise<'over' | 'stopped'> {
  let message: CompiledMessage | undefined;
  let answers: AnswersByQuestion | undefined;
  for (;;) {
    if (abortSignal.aborted) return 'stopped';
    const run = await takeDryRun(ctx.db, key);
    if (!run) return 'over';
    const campaign = await findCampaignById(ctx.db, key.customerId, run.campaignId);
    const campaignKey = { customerId: key.customerId, campaignId: run.campaignId };
    if (!campaign || !(await isAtVersion(ctx.db, run))) {
      await endDryRun(ctx.db, key, { status: 'failed', reason: { code: 'dry_run_changed', params: {} } });
      return 'over';
    }
    message ??= await compileCampaign(ctx, campaignKey, { files: 'whole' });
    answers ??= await answersForDryRun(ctx, campaign, abortSignal);
    const people = await nextPeople(ctx, campaign, { afterId: run.cursor, answers });
    const last = people.at(-1);
    if (!message || !last) {
      await endDryRun(ctx.db, key, { status: 'done' });
      return 'over';
    }
    const result = await composeAll(ctx, { ...campaignKey, listId: campaign.listId, message }, people);
    const step = { ...result, cursor: last.id, checked: people.length };
    if (!(await addDryRunStep(ctx.db, { ...key, cursor: run.cursor }, step))) return 'over';
  }
}

/** The plugins of the segment are asked for this run: its people are those of now. Throws UnavailableConditionError. */
async function answersForDryRun(ctx: Context, campaign: Campaign, signal: AbortSignal): Promise<AnswersByQuestion> {
  const { customerId, listId, id: campaignId } = campaign;
  const segment = await segmentOf(ctx, campaign);
  return segment
    ? answersTo(ctx, { customerId, listId, rule: segment.rule }, { campaignId, asOf: segment.asOf, signal })
    : new Map();
}

interface DryPlace {
  readonly afterId: bigint;
  readonly answers: AnswersByQuestion;
}

/** The next people of the list, with the reason why each gets no message, if any. */
async function nextPeople(ctx: Context, campaign: Campaign, place: DryPlace): Promise<DryPerson[]> {
  const { customerId, listId } = campaign;
  return inTransaction(ctx, async ({ db }) => {
    const slice = await segmentSlice({ ...ctx, db }, campaign, place);
    if (slice && slice.lastId === null) return [];
    return peopleOfSlice(db, { customerId, listId, afterId: place.afterId, rows: SLICE_ROWS, slice });
  });
}

/** Those of the next people who are in the campaign's segment; undefined: it has none. */
async function segmentSlice(ctx: Context, campaign: Campaign, { afterId, answers }: DryPlace) {
  const { customerId, listId, id } = campaign;
  const segment = await segmentOf(ctx, campaign);
  if (!segment) return undefined;
  const people = { customerId, listId, ...segment, answers, exceptCampaignId: id };
  return audienceSlice(ctx.db, { ...people, afterId, rows: SLICE_ROWS, isOneStretch: true });
}

/** The rule with which the campaign was started, else that of its segment now; undefined: it has none. */
async function segmentOf({ db }: Pick<Context, 'db'>, { customerId, segmentId, segmentSnapshot }: Campaign) {
  if (segmentSnapshot) return { rule: segmentSnapshot.rule, asOf: new Date(segmentSnapshot.asOf) };
  const rule = segmentId === null ? undefined : await ruleOfSegment(db, { customerId, id: segmentId });
  return rule && { rule, asOf: new Date() };
}
