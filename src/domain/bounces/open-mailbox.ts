/** Opens a mailbox by its protocol, where the caller may reach it. */
import { messageOf } from '../../lib/errors.ts';
import { formsOfPassword, hideSecrets } from '../../lib/hide-secrets.ts';
import { addressGuard } from '../../lib/public-address.ts';
import type { Context } from '../context.ts';
import { hostNotAllowed } from './bounce-handler-errors.ts';
import type { MailboxAddress } from './bounce-handler.ts';
import type { Mailbox, MailboxSession } from './mailbox.ts';
import { openPop3Mailbox } from './pop3-mailbox.ts';

/**
 * Opens it, or throws an Error whose message is for whoever set it up: without the password, should the server repeat it.
 * A customer's may be at public addresses only (D44).
 */
export async function openMailbox(
  ctx: Pick<Context, 'installation'>,
  { address, isSystem, msMax }: { address: MailboxAddress; isSystem: boolean; msMax?: number },
): Promise<Mailbox> {
  const guard = isSystem ? undefined : addressGuard(ctx.installation.outboundAllowHosts);
  const refusal = await guard?.refusal(address.host);
  if (refusal) throw hostNotAllowed(refusal);
  return open(address, { lookup: guard?.lookup, msMax }).catch((error: unknown) => {
    throw new Error(hideSecrets(messageOf(error), formsOfPassword(address)));
  });
}

async function open(address: MailboxAddress, session: MailboxSession): Promise<Mailbox> {
  if (address.protocol !== 'imap') return openPop3Mailbox(address, session);
  // Loaded when there is such a mailbox: the library and its tables of characters take 10 MB.
  const { openImapMailbox } = await import('./imap-mailbox.ts');
  return openImapMailbox(address, session);
}
