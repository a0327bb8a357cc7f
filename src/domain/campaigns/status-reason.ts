/**
 * Why a campaign has its status, and what it waits for: codes with parameters, as they are stored, and the one catalogue of their
 * texts. The API's `status_reason` is made here.
 */
import type { CodedReason, NoParams, ReasonTexts } from '../../lib/coded-reason.ts';
import { readableTime } from '../../lib/units.ts';
import { deliveryReasonText } from '../sending/delivery-reason.ts';
import { unavailableText, type UnavailableCondition } from '../audience/segments/segment-errors.ts';
import type { StopParams } from '../delivery/campaigns/campaign-stop.ts';
import type { ServerWaitParams } from '../sending/server-wait.ts';
import { sendFaultText, type AudienceFault, type SendFault } from './send-fault.ts';

/** Stored in `reason_code`. */
interface StatusParams extends StopParams {
  account_disabled: NoParams;
  subscription_ended: NoParams;
  /** Its time passed while no process was running. */
  overdue: NoParams;
  restored_from_backup: NoParams;
  /** At its time something was missing. */
  not_ready: { readonly faults: readonly SendFault[] };
  attachment_missing: { readonly name: string };
  /** At its time nobody would have got it; it ends as `error`. */
  no_audience: AudienceFault['params'];
  stalled: { readonly since: string; readonly cause: StallCause };
  /** A plugin is asked again until then. */
  segment_condition_waits: UnavailableCondition & { readonly until: string };
  segment_condition_unavailable: UnavailableCondition;
}
export type StatusReason = CodedReason<StatusParams>;
export type Stall = CodedReason<StatusParams, 'stalled'>;
export type ConditionWait = CodedReason<StatusParams, 'segment_condition_waits'>;

/** Why a dry run ended; stored in `dry_run.reason_code`. */
interface DryRunParams {
  dry_run_changed: NoParams;
  dry_run_fault: { readonly fault: string };
  dry_run_failed: NoParams;
}
export type DryRunReason = CodedReason<DryRunParams>;

/** Stored in `wait_kind`; until when is in `wait_until`. */
interface WaitParams {
  credits: { readonly emails: string };
  sending_quota: { readonly emails: string; readonly time: string; readonly unit: string };
  /** Other jobs of the customer hold the rest of its budget, and will send it or return it soon. */
  budget_in_use: NoParams;
  quiet_hours: NoParams;
  quiet_hours_of_recipients: NoParams;
  time_of_recipients: NoParams;
}
export type WaitReason = CodedReason<WaitParams>;

/** Computed when it is read. */
interface LiveParams extends ServerWaitParams {
  next_batch: { readonly at: string; readonly reason: string | null; readonly said: string | null };
}
export type LiveWait = CodedReason<LiveParams>;

/** The cause of a stall. */
interface StallCauseParams extends LiveParams {
  not_planned: NoParams;
  /** A due recipient with the server's last reply, and the ledger's reason for waiting. */
  server_silent: { readonly reply: string | null };
  not_taken_up: { readonly reply: string | null };
  delivery: { readonly reason: string; readonly reply: string | null };
}
export type StallCause = CodedReason<StallCauseParams>;

type AllParams = StatusParams & DryRunParams & WaitParams & StallCauseParams;

const TO_MEND =
  'Sending is paused, and the remaining recipients are kept. Correct what the message names, and the fields that the template uses, then resume the campaign.';
const TO_DECIDE =
  'Sending is paused. These recipients are queued again, and none of them is suppressed. If the server is broken or configured wrongly, repair it or choose another one. If the server is right, the list is old or the people never asked for mail: clean the list. Then resume the campaign. It tries these recipients once more, and then the answer of the server counts.';

const TEXTS: ReasonTexts<AllParams, [until: Date | null]> = {
  account_disabled: () => 'The account was disabled.',
  subscription_ended: () =>
    'The subscription has ended. Assign a plan, then resume the campaign: it continues where it stopped.',
  overdue: () =>
    'Its start time passed more than an hour ago while no process was running. Start it by hand, or choose another time.',
  restored_from_backup: () =>
    'The installation was restored from a backup. Resume this campaign only if it was not sent meanwhile.',
  not_ready: ({ faults }) => faults.map(sendFaultText).join(' '),
  attachment_missing: (params) => sendFaultText({ code: 'attachment_missing', params }),
  no_audience: (params) => `${sendFaultText({ code: 'no_audience', params })} Then run it again.`,
  stalled: ({ since, cause }) => `No progress since ${timeOf(since)}: ${reasonText(cause).replace(/\.$/, '')}.`,
  segment_condition_waits: (params) =>
    `${unavailableText(params)} It is asked again each minute until ${timeOf(params.until)}; then the campaign ends with an error, and nobody gets it.`,
  segment_condition_unavailable: (params) =>
    `${unavailableText(params)} Nobody else gets the campaign. Correct this, then run it again.`,
  message_fault: ({ fault }) => `${fault} ${TO_MEND}`,
  recipient_fault: ({ subscriber, fault }) =>
    `The message to subscriber ${subscriber} could not be composed. ${fault} ${TO_MEND}`,
  refused_by_server: ({ reply }) => `The sending server refuses this campaign: ${reply}. ${TO_MEND}`,
  bounce_spike: ({ refused, of, reply }) =>
    `The sending server says of ${numberOf(refused)} of the latest ${numberOf(of)} recipients that the mailbox does not exist, the last time: "${reply}". ${TO_DECIDE}`,
  dry_run_changed: () => 'The campaign was changed meanwhile: start another dry run.',
  dry_run_fault: ({ fault }) => fault,
  dry_run_failed: () => 'It failed; the log of the job says why.',
  credits: ({ emails }, until) => `The ${emails} emails of the plan's billing period are used up: ${goesOn(until)}`,
  sending_quota: ({ emails, time, unit }, until) =>
    `The plan's sending quota of ${emails} emails in ${time} ${unit}${time === '1' ? '' : 's'} is used up: ${goesOn(until)}`,
  budget_in_use: () => '',
  quiet_hours: (_params, until) => `These are quiet hours: ${goesOn(until)}`,
  quiet_hours_of_recipients: (_params, until) => `All remaining recipients have quiet hours: ${goesOn(until)}`,
  time_of_recipients: (_params, until) =>
    `The remaining recipients get the message at their local time: ${goesOn(until)}`,
  next_batch: ({ at, reason, said }) =>
    `No remaining recipient can be tried before ${timeOf(at)} (${[reason && deliveryReasonText(reason), said].filter(Boolean).join('; ')}).`,
  no_server: () => 'There is no active sending server for this campaign.',
  server_paused: ({ server, since, until, error }) =>
    `Sending server "${server}" cannot be used${since === null ? '' : ` since ${timeOf(since)}`}${error === null ? '' : ` (${error})`}: ${until === null ? 'it is being tried again' : `it is tried again at ${timeOf(until)}`}.`,
  warm_up_stopped: ({ server }) =>
    `Sending server "${server}" has stopped its warm-up: too many messages bounced. Reset its health to continue.`,
  warm_up_day_full: ({ server, messages, until }) =>
    `Sending server "${server}" is warming up and has sent the ${messages} messages of this day: it continues at ${timeOf(until)}.`,
  server_rate: ({ server, messages, period, next }) =>
    `Sending server "${server}" sends at most ${messages} per ${period}: the next message goes at ${timeOf(next)}.`,
  customer_rate: ({ messages, next }) =>
    `All campaigns together send at most ${messages} per hour: the next message goes at ${timeOf(next)}.`,
  not_planned: () => 'its audience is not in the ledger yet',
  server_silent: ({ reply }) => withReply('its server does not answer', reply),
  not_taken_up: ({ reply }) => withReply('no worker takes its jobs', reply),
  delivery: ({ reason, reply }) => withReply(deliveryReasonText(reason), reply),
};

/** The text of a reason; the code itself if only a newer version of the program knows it. */
export function reasonText<Code extends keyof AllParams>(
  reason: CodedReason<AllParams, Code>,
  until: Date | null = null,
): string {
  return Object.hasOwn(TEXTS, reason.code) ? TEXTS[reason.code](reason.params, until) : reason.code;
}

function withReply(text: string, reply: string | null): string {
  return reply ? `${text}: ${reply}` : text;
}

function goesOn(until: Date | null): string {
  return until === null
    ? 'sending continues when the plan allows more.'
    : `sending continues at ${readableTime(until)}.`;
}

function timeOf(iso: string): string {
  return readableTime(new Date(iso));
}

function numberOf(count: number): string {
  return count.toLocaleString('en');
}
