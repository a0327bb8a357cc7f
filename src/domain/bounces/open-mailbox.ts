/** Opens a mailbox by its protocol, at an address that the caller may reach. */
import { messageOf } from '../../lib/errors.ts';
import { formsOfPassword, hideSecrets } from '../../lib/hide-secrets.ts';
import { addressGuard } from '../../lib/public-address.ts';
import type { Context } from '../context.ts';
import { hostNotAllowed } from './bounce-handler-errors.ts';
import type { MailboxAddress } from './bounce-handler.ts';
import type { Mailbox, MailboxSession } from './mailbox.ts';
import { openPop3Mailbox } from './pop3-mailbox.ts';

/**
 * Opens it, or throws an Error with a message for its owner, without the password if the server repeats it. A customer's mailbox
 * must be at a public address (D44).
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
  // Loaded when there is such a mailbox: the library and its character tables take 10 MB.
  const { openImapMailbox } = await import('./imap-mailbox.ts');
  return openImapMailbox(address, session);
}
