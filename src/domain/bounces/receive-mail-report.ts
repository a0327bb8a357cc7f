/**
 * Takes a mail that came to a bounce address, whichever way: reads it, finds whose message it is about by marks that we
 * alone can make, and records what it says. A mail that names nothing of ours, or nothing provably ours, has no effect.
 */
import type { Context } from '../context.ts';
import type { ReportedOutcome } from '../tracking/delivery-report.ts';
import { reportOnDelivery, type ReportOutcome } from '../tracking/report-on-delivery.ts';
import type { MailReport, MailVerdict } from './mail-report.ts';
import { deliveryReferenced } from './signed-reference.ts';
import { readMailReport } from './read-mail-report.ts';

export interface ReceivedMail {
  readonly raw: Buffer;
  /** The address it was sent to, where that is known for sure: it outweighs what stands in the mail. */
  readonly recipient?: string;
  /** Only about messages of this customer: the mailbox is its own. Absent: about everybody's. */
  readonly customerId?: bigint;
}

/** `nothing`: it says nothing about a message. `unmarked`: not one of ours, as far as anybody can prove. `foreign`: another customer's. */
export type MailOutcome = ReportOutcome | 'nothing' | 'unmarked' | 'foreign';

export interface ReceivedReport {
  readonly verdict: MailVerdict;
  readonly outcome: MailOutcome;
}

/** Receiving the same mail twice changes nothing. */
export async function receiveMailReport(ctx: Context, mail: ReceivedMail): Promise<ReceivedReport> {
  const report = await readMailReport(mail.raw);
  return { verdict: report.verdict, outcome: await record(ctx, mail, report) };
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
