/** A mailbox by IMAP (imapflow): messages are named by the mailbox's validity and their uid (RFC 9051 2.3.1.1). */
import { isIP, type LookupFunction } from 'node:net';
import { ImapFlow } from 'imapflow';
import { connectionFaultInWords } from '../../lib/connection-faults.ts';
import type { MailboxAddress } from './bounce-handler.ts';
import { MAIL_BYTES_READ } from './mail-report.ts';
import { LISTED_MAX, MAILBOX_TIMEOUTS, type Mailbox, type MailboxSession } from './mailbox.ts';

const { connectMs, idleMs, sessionMs } = MAILBOX_TIMEOUTS;
const CLOSED = 'The connection to the mailbox is closed.';
/** The uids of a million messages are on one line; the library would use a gigabyte. */
const LINE_BYTES_MAX = 16 * 1024 * 1024;
/** A server's text is shorter; a hostile one may have any length. */
const REASON_CHARS_MAX = 450;

/** Opens the folder. Throws an Error with the server's text. */
export async function openImapMailbox(
  address: MailboxAddress,
  { lookup, msMax = sessionMs }: MailboxSession = {},
): Promise<Mailbox> {
  // An IP address cannot be used as a server name (RFC 6066, 3).
  const named = isIP(address.host) === 0 ? { servername: address.host } : {};
  const client = new ImapFlow({
    // Connects to the address that was checked.
    host: lookup ? await resolved(address.host, lookup) : address.host,
    ...named,
    port: address.port,
    secure: address.encryption === 'tls',
    doSTARTTLS: address.encryption === 'starttls',
    auth: { user: address.username, pass: address.password },
    tls: { ...named, minVersion: 'TLSv1.2' },
    logger: false,
    disableAutoIdle: true,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: idleMs,
    maxLiteralSize: MAIL_BYTES_READ * 2,
    maxLineLength: LINE_BYTES_MAX,
    maxResponseSize: LINE_BYTES_MAX,
    // A compressed answer could have any length.
    disableCompression: true,
    clientInfo: { name: 'Mailwright' },
  });
  // A connection that breaks between two commands is noticed by the next one.
  client.on('error', () => undefined);
  const timer = setTimeout(() => client.close(), msMax);
  client.on('close', () => clearTimeout(timer));
  try {
    await client.connect();
    const { uidValidity } = await client.mailboxOpen(address.folder);
    return mailboxOf(client, `${uidValidity}.`);
  } catch (error) {
    client.close();
    throw new Error(reasonOf(error), { cause: error });
  }
}

function mailboxOf(client: ImapFlow, prefix: string): Mailbox {
  const uidOf = (name: string) => name.slice(prefix.length);
  return {
    async list() {
      const uids = await client.search({ all: true }, { uid: true }).catch((error: unknown) => {
        throw new Error(client.usable ? saidOf(error) : CLOSED, { cause: error });
      });
      if (!uids) throw new Error(client.usable ? 'The mailbox cannot be listed.' : CLOSED);
      return uids
        .toSorted((a, b) => a - b)
        .slice(0, LISTED_MAX)
        .map((uid) => `${prefix}${uid}`);
    },
    async read(name) {
      const found = await client.fetchOne(
        uidOf(name),
        { source: { start: 0, maxLength: MAIL_BYTES_READ } },
        { uid: true },
      );
      // The library reports a deleted message and a lost connection in the same way.
      if (!found && !client.usable) throw new Error(CLOSED);
      return found ? found.source : undefined;
    },
    async remove(names) {
      if (names.length === 0) return;
      const isDone = await client.messageDelete(names.map(uidOf).join(','), { uid: true });
      if (!isDone) throw new Error('Reports that were read cannot be deleted from the mailbox.');
    },
    async close() {
      await client.logout().catch(() => client.close());
    },
  };
}

function resolved(host: string, lookup: LookupFunction): Promise<string> {
  return new Promise((done, fail) => {
    lookup(host, {}, (error, found) => {
      if (error) fail(error);
      else done(typeof found === 'string' ? found : (found[0]?.address ?? host));
    });
  });
}

/** The server's text says more than "command failed". */
function reasonOf(error: unknown): string {
  return `The mailbox cannot be opened: ${saidOf(error)}`;
}

function saidOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const answer = 'responseText' in error && typeof error.responseText === 'string' ? error.responseText : undefined;
  return (answer ?? connectionFaultInWords(error).message).slice(0, REASON_CHARS_MAX);
}
