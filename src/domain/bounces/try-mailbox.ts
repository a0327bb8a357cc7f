/** Opens a mailbox to see whether that works, and counts its messages. */
import { messageOf, ValidationError } from '../../lib/errors.ts';
import { viewerOf, type Context } from '../context.ts';
import { mailboxFailed } from './bounce-handler-errors.ts';
import { mailboxAddressOf } from './bounce-handler-store.ts';
import type { MailboxAddress } from './bounce-handler.ts';
import { openMailbox } from './open-mailbox.ts';
import { findOwnedBounceHandler } from './find-owned-bounce-handler.ts';

/** A person waits for the answer in a browser. */
const TRY_MS_MAX = 20_000;

export interface MailboxTest {
  readonly uid: string;
  readonly messageCount: number;
}

/** Tests the caller's handler as it is stored. Throws as `tryMailbox` does. */
export async function testBounceHandler(ctx: Context, { uid }: { uid: string }): Promise<MailboxTest> {
  viewerOf(ctx);
  const handler = await findOwnedBounceHandler(ctx, uid);
  const address = mailboxAddressOf(ctx.installation.secret, handler);
  return { uid, messageCount: await tryMailbox(ctx, { address, isSystem: handler.isSystem }) };
}

/** The number of messages in the mailbox. Throws ValidationError on `host` or `connection`. */
export async function tryMailbox(
  ctx: Context,
  mailbox: { address: MailboxAddress; isSystem: boolean },
): Promise<number> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`The mail server did not answer within ${TRY_MS_MAX / 1_000} seconds.`)),
      TRY_MS_MAX,
    );
  });
  const tried = count(ctx, mailbox);
  tried.catch(() => undefined);
  try {
    return await Promise.race([tried, late]);
  } catch (error) {
    throw error instanceof ValidationError ? error : mailboxFailed(messageOf(error));
  } finally {
    clearTimeout(timer);
  }
}

async function count(ctx: Context, mailbox: { address: MailboxAddress; isSystem: boolean }): Promise<number> {
  const opened = await openMailbox(ctx, { ...mailbox, msMax: TRY_MS_MAX });
  try {
    return (await opened.list()).length;
  } finally {
    await opened.close();
  }
}
