/** A new bounce handler: an administrator's is for messages of all customers, a customer's for its own. */
import { newUid } from '../../lib/ids.ts';
import { parseInput } from '../../lib/text.ts';
import { administers } from '../billing/billing-rights.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { tooManyHandlers } from './bounce-handler-errors.ts';
import { countHandlers, insertHandler, sealPassword } from './bounce-handler-store.ts';
import {
  createBounceHandlerInput,
  folderOf,
  HANDLERS_PER_CUSTOMER_MAX,
  usualPort,
  type BounceHandler,
  type CreateBounceHandlerInput,
  type MailboxAddress,
} from './bounce-handler.ts';
import { tryMailbox } from './try-mailbox.ts';

/** Stores the handler when its mailbox opens. Throws ValidationError on the input, `host` or `connection`. */
export async function createBounceHandler(ctx: Context, input: CreateBounceHandlerInput): Promise<BounceHandler> {
  const { customerId } = viewerOf(ctx);
  // A token without administrator rights has none of an administrator's access: private addresses, others' messages.
  const isSystem = administers(ctx);
  const { password, ...wanted } = parseInput(createBounceHandlerInput, input);
  const protocol = wanted.protocol ?? 'imap';
  const encryption = wanted.encryption ?? 'tls';
  const place: Omit<MailboxAddress, 'password'> = {
    protocol,
    encryption,
    host: wanted.host,
    port: wanted.port ?? usualPort(protocol, encryption),
    username: wanted.username,
    folder: folderOf(wanted.folder),
  };
  // Checked before the mailbox is opened, too, so that a refusal comes at once.
  await inTransaction(ctx, ({ db }) => requireWithinLimit(db, customerId));
  await tryMailbox(ctx, { address: { ...place, password }, isSystem });
  const uid = newUid();
  return inTransaction(ctx, async ({ db }) => {
    await requireWithinLimit(db, customerId);
    return insertHandler(db, {
      ...place,
      customerId,
      uid,
      name: wanted.name,
      sealedPassword: sealPassword(ctx.installation.secret, uid, password),
      keepsReports: wanted.keepsReports ?? false,
      isSystem,
    });
  });
}

async function requireWithinLimit(db: Context['db'], customerId: bigint): Promise<void> {
  if ((await countHandlers(db, customerId)) >= HANDLERS_PER_CUSTOMER_MAX) throw tooManyHandlers();
}
