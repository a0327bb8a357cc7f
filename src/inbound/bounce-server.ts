/**
 * The SMTP server for bounces: accepts mail for return-paths and unsubscribe addresses that this installation signed
 * (tracking/return-path.ts) and for its postmaster, and refuses all other mail before its content is sent. So it relays nothing and
 * stores no other mail. What a mail reports is committed before the 250.
 */
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { MAIL_BYTES_READ } from '../domain/bounces/mail-report.ts';
import { receiveMailReport } from '../domain/bounces/receive-mail-report.ts';
import { receivePostmasterMail } from '../domain/bounces/receive-postmaster-mail.ts';
import { BOUNCE_SERVER } from '../domain/bounces/report-source-store.ts';
import type { Context } from '../domain/context.ts';
import { isReturnPathHost } from '../domain/sending/domains/sending-domain-read-model.ts';
import { parseReturnPath, parseUnsubscribeAddress } from '../domain/tracking/return-path.ts';
import { messageOf } from '../lib/errors.ts';
import { listeningPort, smtpError } from '../lib/receiving-smtp.ts';

/** Bounces carry messages back, and those may be as large. Only the beginning is kept. */
const MESSAGE_BYTES_MAX = 50 * 1024 * 1024;
/** A bounce has one; some programs combine the addresses of one domain. */
const RECIPIENTS_MAX = 10;
const CLIENTS_MAX = 100;
const CLIENTS_PER_ADDRESS_MAX = 20;
const IDLE_MS_MAX = 60_000;
/** For slow senders, too. */
const CONNECTION_MS_MAX = 600_000;
/** When the server stops, a message under way gets this long. */
const CLOSE_MS_MAX = 2_000;

export interface BounceServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** What it calls itself. */
  readonly name: string;
}

export interface BounceServer {
  readonly port: number;
  /** Waits for running transfers, then frees the port. */
  close(): Promise<void>;
}

/** Starts the server; rejects when the port is taken. `ctx` is the public's. */
export async function startBounceServer(ctx: Context, options: BounceServerOptions): Promise<BounceServer> {
  const clients = countClients();
  const server = new SMTPServer({
    name: options.name,
    banner: 'bounces only',
    size: MESSAGE_BYTES_MAX,
    disabledCommands: ['AUTH', 'STARTTLS'],
    authOptional: true,
    disableReverseLookup: true,
    maxClients: CLIENTS_MAX,
    socketTimeout: IDLE_MS_MAX,
    closeTimeout: CLOSE_MS_MAX,
    onConnect: (session, done) => done(clients.enter(session) ? null : smtpError(421, '4.7.0 Too many connections')),
    onClose: (session) => clients.leave(session),
    onRcptTo: ({ address }, session, done) => {
      refusalOf(ctx, { address, name: options.name }, session).then(done, (error: unknown) => {
        ctx.log.error('bounces.recipient_not_checked', { message: messageOf(error) });
        done(smtpError(451, '4.3.0 The recipient could not be checked, try again later'));
      });
    },
    onData: (stream, session, done) => receive(stream, { ctx, session, done }),
  });
  server.on('error', (error: Error) => ctx.log.debug('bounces.connection_failed', { message: error.message }));
  const listening = server.listen(options.port, options.host);
  listening.on('connection', (socket) => {
    const timer = setTimeout(() => socket.destroy(), CONNECTION_MS_MAX);
    socket.once('close', () => clearTimeout(timer));
  });
  return {
    port: await listeningPort(listening),
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

interface Recipient {
  readonly address: string;
  /** What the server calls itself. */
  readonly name: string;
}

async function refusalOf(ctx: Context, recipient: Recipient, { envelope }: SMTPServerSession): Promise<Error | null> {
  const { installation } = ctx;
  const { address } = recipient;
  const isSigned = parseReturnPath(installation, address) ?? parseUnsubscribeAddress(installation, address);
  if (!isSigned) {
    // `a%b@` and `b!a@` ask to send on, as do other domains.
    const isOwn = !/[%!]/.test(address) && (await isOwnName(ctx, recipient));
    if (!isOwn) return smtpError(550, '5.7.1 Relaying is denied');
    if (!isPostmaster(address)) return smtpError(550, '5.1.1 This mailbox does not exist');
  }
  return envelope.rcptTo.length < RECIPIENTS_MAX ? null : smtpError(452, '4.5.3 Too many recipients');
}

/** Its mail leads here: the bounce domain, a customer's host of return-paths, or no domain at all (RFC 5321 4.1.1.3). */
async function isOwnName({ db, installation }: Context, { address, name }: Recipient): Promise<boolean> {
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
  if (!address.includes('@') || domain === name.toLowerCase() || domain === installation.bounceDomain) return true;
  return isReturnPathHost(db, domain);
}

function isPostmaster(address: string): boolean {
  return /^postmaster(?:@|$)/i.test(address);
}

interface Receiving {
  readonly ctx: Context;
  readonly session: SMTPServerSession;
  done(error?: Error | null, reply?: string): void;
}

function receive(stream: SMTPServerDataStream, { ctx, session, done }: Receiving): void {
  const chunks: Buffer[] = [];
  let kept = 0;
  stream.on('error', () => undefined);
  stream.on('data', (chunk: Buffer) => {
    // The rest is read, as SMTP demands, and dropped.
    if (kept < MAIL_BYTES_READ) chunks.push(chunk);
    kept += chunk.length;
  });
  stream.on('end', () => {
    if (stream.sizeExceeded) return done(smtpError(552, `5.3.4 The message is longer than ${MESSAGE_BYTES_MAX} bytes`));
    const recipients = session.envelope.rcptTo.map(({ address }) => address);
    note(ctx, { raw: Buffer.concat(chunks), client: session.remoteAddress }, recipients).then(
      (refusal) => (refusal ? done(refusal) : done(null, '2.0.0 Noted')),
      (error: unknown) => {
        ctx.log.error('bounces.not_recorded', { message: messageOf(error) });

        done(smtpError(451, '4.3.0 The report could not be stored, try again later'));
      },
    );
  });
}

/** Each recipient is an address of another delivery, or the postmaster. Repeating the whole is harmless. */
async function note(
  ctx: Context,
  mail: { readonly raw: Buffer; readonly client: string },
  recipients: readonly string[],
): Promise<Error | undefined> {
  let refusal: Error | undefined;
  for (const recipient of recipients) {
    if (isPostmaster(recipient)) {
      if ((await receivePostmasterMail(ctx, mail)) === 'full')
        refusal = smtpError(452, '4.2.2 The postmaster got too many mails today, try again tomorrow');
      continue;
    }
    const { verdict, outcome } = await receiveMailReport(ctx, { raw: mail.raw, recipient, source: BOUNCE_SERVER });
    ctx.log.debug('bounces.received', { by: 'smtp', verdict, outcome });
  }
  return refusal;
}

/** One client address may not use all connections. */
function countClients() {
  const counts = new Map<string, number>();
  const entered = new Set<string>();
  return {
    enter({ id, remoteAddress }: SMTPServerSession): boolean {
      const count = counts.get(remoteAddress) ?? 0;
      if (count >= CLIENTS_PER_ADDRESS_MAX) return false;
      counts.set(remoteAddress, count + 1);
      entered.add(id);
      return true;
    },
    leave({ id, remoteAddress }: SMTPServerSession): void {
      if (!entered.delete(id)) return;
      const count = (counts.get(remoteAddress) ?? 1) - 1;
      if (count > 0) counts.set(remoteAddress, count);
      else counts.delete(remoteAddress);
    },
  };
}
