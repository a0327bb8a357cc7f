/** The mailbox of a world, into which bounces come. */
import { sql } from '../../src/db/database.ts';
import { sealPassword } from '../../src/domain/bounces/bounce-handler-store.ts';
import { newUid } from '../../src/lib/ids.ts';
import { LOGIN, startMailboxServers, type MailboxServers } from './mailbox-servers.ts';
import type { RestApp } from './rest-app.ts';

let mailboxes: Promise<MailboxServers> | undefined;

/** A mailbox that opens; one for all worlds of a process. */
export async function insertBounceHandler(
  app: RestApp,
  customerId: bigint,
): Promise<{ bounceHandlerUid: string; mailbox: Readonly<Record<string, unknown>> }> {
  mailboxes ??= startMailboxServers();
  const { imapPort: port } = await mailboxes;
  const uid = newUid();
  const password = sealPassword(app.ctx.installation.secret, uid, LOGIN.password);
  await app.ctx.db.execute(sql`
    INSERT INTO bounce_handler (customer_id, uid, name, protocol, host, port, encryption, username, sealed_password)
    VALUES (${customerId}, ${uid}, 'Bounces', 'imap', '127.0.0.1', ${port}, 'none', ${LOGIN.username}, ${password})`);
  const mailbox = {
    protocol: 'imap',
    host: '127.0.0.1',
    port,
    encryption: 'none',
    username: LOGIN.username,
    folder: 'INBOX',
  };
  return { bounceHandlerUid: uid, mailbox };
}
