/**
 * A check for each of the operator's ways on which bounces and complaints come back: a vendor's webhook, a bounce mailbox, the server for
 * bounces. One that became silent while mail was sent goes unnoticed otherwise: addresses that do not exist get mail again and again.
 */
import { ok, warning, type CheckResult } from './check-result.ts';
import { reportSources, type ReportSourceFacts } from './diagnostics-read-model.ts';
import type { Queryable } from '../../db/database.ts';

/**
 * So many messages are never without one bounce: lists in use have 0.5 % and more, with which a thousand messages without a bounce happen
 * once in 150 times.
 */
const SENT_WITHOUT_REPORT_MAX = 1_000;
/** Servers try for hours before they bounce a message, and vendors repeat a failed webhook for as long. */
const SILENT_HOURS_MAX = 24;

/** One result for each way that is in use. */
export async function reportSourceChecks(
  db: Queryable,
  bounceDomain: string | undefined,
): Promise<(CheckResult & { readonly name: string })[]> {
  const sources = await reportSources(db);
  return sources
    .filter(({ kind }) => kind !== 'bounce_server' || Boolean(bounceDomain))
    .map((source) => ({ name: nameOf(source), ...checkOf(source) }));
}

function nameOf({ kind, uid }: ReportSourceFacts): string {
  return kind === 'bounce_server' ? 'reports_by_bounce_server' : `reports_by_${kind}_${uid}`;
}

function checkOf(source: ReportSourceFacts): CheckResult {
  const { sentSince, sinceReportHours, sinceComplaintHours, watchedHours } = source;
  const silentHours = sinceReportHours ?? watchedHours;
  const last =
    sinceReportHours === null
      ? `Nothing has come in ${age(watchedHours)}`
      : `The last report is ${age(sinceReportHours)} old`;
  const complaint =
    sinceComplaintHours === null
      ? 'no complaint has come yet'
      : `the last complaint is ${age(sinceComplaintHours)} old`;
  const message = `${PLACES[source.kind](source)}: ${last}, ${complaint}; ${sentSince} messages were sent since.`;
  const isSilent = silentHours > SILENT_HOURS_MAX && sentSince >= SENT_WITHOUT_REPORT_MAX;
  return isSilent ? warning(message, ADVICE[source.kind](source)) : ok(message);
}

type Words = Readonly<Record<ReportSourceFacts['kind'], (source: ReportSourceFacts) => string>>;

const PLACES: Words = {
  webhook: ({ uid }) => `Webhook of the sending server ${uid}`,
  mailbox: ({ uid }) => `Bounce mailbox ${uid}`,
  bounce_server: () => 'Server for bounces',
};

const ADVICE: Words = {
  webhook: ({ uid, type }) =>
    `Look in your account at the provider whether it still posts to /webhook/${type}/${uid} of BASE_URL, and for which events.`,
  mailbox: () =>
    'Send a message to an address that does not exist and look whether its bounce comes into the mailbox. If bounces come another way now, delete the bounce handler.',
  bounce_server: () =>
    'Check the MX record of BOUNCE_DOMAIN (check bounce_domain), and that its port 25 can be reached from outside.',
};

/** Rounded, for people. */
export function age(hours: number): string {
  if (hours < 1) return `${Math.round(hours * 60)} minutes`;
  return hours < 48 ? `${Math.round(hours)} hours` : `${Math.round(hours / 24)} days`;
}
