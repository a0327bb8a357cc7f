/**
 * Takes a mail to a bounce address, received in any way: reads it, finds our message by references that only we can sign, and
 * records the report, or unsubscribes if the mail was written to an unsubscribe address (List-Unsubscribe). A mail that names no
 * message of ours, or not provably, has no effect.
 */
import type { Context } from '../context.ts';
import type { ReportedOutcome } from '../tracking/delivery-report.ts';
import { reportOnDelivery, type ReportOutcome } from '../tracking/report-on-delivery.ts';
import { unsubscribeByMail } from '../tracking/unsubscribe-recipient.ts';
import type { MailReport, MailVerdict } from './mail-report.ts';
import { noteReport, type ReportSource } from './report-source-store.ts';
import { deliveryReferenced, unsubscribeAddressed } from './signed-reference.ts';
import { readMailReport } from './read-mail-report.ts';

export interface ReceivedMail {
  readonly raw: Buffer;
  /** The recipient of the mail, if it is known for sure: it overrides the content of the mail. */
  readonly recipient?: string;
  /** Only for messages of this customer: the mailbox is its own. Absent: for all. */
  readonly customerId?: bigint;
  /** The operator's own way on which it came: its time is noted when it is about a message of ours. */
  readonly source?: ReportSource;
}

/**
 * `nothing`: it says nothing about a message. `unmarked`: not provably about one of ours. `foreign`: about another customer's.
 */
export type MailOutcome = ReportOutcome | 'nothing' | 'unmarked' | 'foreign';

const NOT_OURS: ReadonlySet<MailOutcome> = new Set(['nothing', 'unmarked', 'foreign']);

export interface ReceivedReport {
  readonly verdict: MailVerdict | 'unsubscribe';
  readonly outcome: MailOutcome;
}

/** Receiving the same mail twice changes nothing. */
export async function receiveMailReport(ctx: Context, mail: ReceivedMail): Promise<ReceivedReport> {
  const report = await readMailReport(mail.raw);
  // Who got the mail outweighs what its headers say.
  const addresses = mail.recipient === undefined ? report.addressedTo : [mail.recipient];
  const leaving = report.isWritten ? unsubscribeAddressed(ctx.installation, addresses) : undefined;
  if (leaving) {
    const isForeign = mail.customerId !== undefined && leaving.customerId !== mail.customerId;
    return { verdict: 'unsubscribe', outcome: isForeign ? 'foreign' : await unsubscribeByMail(ctx, leaving) };
  }
  const outcome = await record(ctx, mail, report);
  if (mail.source && !NOT_OURS.has(outcome)) await noteReport(ctx.db, mail.source, report.verdict === 'complaint');
  return { verdict: report.verdict, outcome };
}

async function record(ctx: Context, mail: ReceivedMail, report: MailReport): Promise<MailOutcome> {
  const reported = reportIn(report);
  if (!reported) return 'nothing';
  const marks = mail.recipient === undefined ? report.marks : [mail.recipient, ...report.marks];
  const key = deliveryReferenced(ctx.installation, marks);
  if (!key) return 'unmarked';
  if (mail.customerId !== undefined && key.customerId !== mail.customerId) return 'foreign';
  return reportOnDelivery(ctx, key, reported);
}

function reportIn({ verdict, statusCode, message }: MailReport): ReportedOutcome | undefined {
  switch (verdict) {
    case 'hard':
    case 'soft':
    case 'blocked':
      return { kind: 'bounce', type: verdict, statusCode, message };
    case 'complaint':
      return { kind: 'complaint', type: message ?? 'abuse', message: null };
    case 'delayed':
    case 'autoReply':
    case 'none':
      return undefined;
  }
}
