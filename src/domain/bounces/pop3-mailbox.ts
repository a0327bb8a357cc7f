/** A mailbox by POP3 (RFC 1939): messages are named by their UIDL; deletions take effect with QUIT. */
import type { MailboxAddress } from './bounce-handler.ts';
import { LISTED_MAX, type Mailbox, type MailboxSession } from './mailbox.ts';
import { Pop3Connection } from './pop3-connection.ts';

/** Per message: the important lines are the first hundreds. */
const LINES_READ = 8_000;

/** Logs in. Throws an Error with the server's text. */
export async function openPop3Mailbox(address: MailboxAddress, session: MailboxSession = {}): Promise<Mailbox> {
  const connection = await Pop3Connection.open(address, session);
  try {
    if (address.encryption === 'starttls') await connection.startTls(address.host);
    await connection.command(`USER ${address.username}`);
    await connection.command(`PASS ${address.password}`, 'PASS');
    return mailboxOf(connection);
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

function mailboxOf(connection: Pop3Connection): Mailbox {
  // By their names: numbers are valid for one connection only.
  const numbers = new Map<string, number>();
  let canTop = true;
  return {
    async list() {
      const lines = await connection.lines('UIDL');
      numbers.clear();
      for (const line of lines.slice(0, LISTED_MAX)) {
        const [, number, name] = /^(\d{1,9}) +([\x21-\x7e]{1,70})$/.exec(line.trim()) ?? [];
        if (number !== undefined && name !== undefined) numbers.set(name, Number(number));
      }
      return [...numbers.keys()];
    },
    async read(name) {
      const number = numbers.get(name);
      if (number === undefined) return undefined;
      if (canTop) {
        const top = await connection.message(`TOP ${number} ${LINES_READ}`);
        if (top) return top;
        // An optional command (RFC 1939, 7).
        canTop = false;
      }
      return connection.message(`RETR ${number}`);
    },
    async remove(names) {
      for (const name of names) {
        const number = numbers.get(name);
        if (number !== undefined) await connection.command(`DELE ${number}`);
      }
    },
    async close() {
      await connection.command('QUIT').catch(() => undefined);
      connection.destroy();
    },
  };
}
