/** Accepts a transactional mail: when this returns, its messages are in the ledger and are sent, whatever happens to this process. */
import { viewerOf, type Context } from '../../context.ts';
import { checkMail } from './check-mail.ts';
import { withIntake } from './mail-intake.ts';
import { mailReads } from './mail-reads.ts';
import type { AcceptedMail, SendTransactionalInput } from './transactional.ts';
import { priorityOf, refuseTooMuchKept } from './waiting.ts';

/**
 * Enqueues a message for each recipient and answers what becomes of each, in their order. Throws ValidationError (on each wrong
 * field), WrongStateError `SUBSCRIPTION_ENDED`, RateLimitedError `TOO_MANY_CALLS`, `TOO_MANY_WAITING` and
 * `TOO_MANY_ATTACHMENTS`, NotFoundError and ForeignResourceError
 * (`TEMPLATE_NOT_FOUND`, `LIST_NOT_FOUND`, `FILE_NOT_FOUND`), ForbiddenError.
 */
export function sendTransactional(ctx: Context, given: SendTransactionalInput): Promise<readonly AcceptedMail[]> {
  return withIntake(ctx, async (intake) => {
    const { customerId } = viewerOf(ctx);
    // A call that only checks, or is part of another change, reads by its own rules.
    const reads = ctx.tx || ctx.checksOnly ? mailReads(ctx) : await intake.reads.take(ctx);
    const mail = await checkMail(ctx, given, reads);
    await reads.runningPlan(customerId);
    await reads.place(priorityOf(mail.template?.kind));
    const ofFiles = mail.files.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0);
    await refuseTooMuchKept(ctx.db, customerId, ofFiles * mail.input.to.length);
    return intake.accept(ctx, mail);
  });
}
