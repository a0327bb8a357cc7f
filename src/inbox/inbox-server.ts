/**
 * The development receiver: accepts every mail over SMTP and delivers none. It listens on the loopback address only, and answers
 * 250 only when the mail is stored.
 */
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import { listeningPort, smtpError } from '../lib/receiving-smtp.ts';
import { createBatcher, type Batcher } from './store-batcher.ts';

/** The limit of common providers; larger mails would not arrive elsewhere either. */
const MESSAGE_BYTES_MAX = 25 * 1024 * 1024;
/** Only programs on this machine may hand over mails: there is no login. */
const LOOPBACK = '127.0.0.1';
const BANNER = 'Mailwright development receiver: stores mails for /inbox, delivers none';
/** When the server stops, a message under way gets this long. */
const CLOSE_MS_MAX = 2_000;

/** One mail as it came, with its envelope. */
export interface ReceivedMessage {
  readonly mailFrom: string;
  readonly rcptTo: readonly string[];
  readonly raw: Buffer;
}

export interface InboxServerOptions {
  /** 0 takes a free one. */
  readonly port: number;
  readonly log: Log;
  /** Keeps all of these messages or none; called with one batch at a time. */
  storeBatch(messages: readonly ReceivedMessage[]): Promise<void>;
}

export interface InboxServer {
  readonly port: number;
  /** Waits for running transfers, then frees the port. */
  close(): Promise<void>;
}

/** Starts the receiver; rejects when the port is taken. */
export async function startInboxServer({ port, log, storeBatch }: InboxServerOptions): Promise<InboxServer> {
  const batcher = createBatcher(storeBatch);
  const server = new SMTPServer({
    name: 'localhost',
    banner: BANNER,
    size: MESSAGE_BYTES_MAX,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    authOptional: true,
    closeTimeout: CLOSE_MS_MAX,
    onData: (stream, session, done) => receive(stream, session, { batcher, log, done }),
  });
  server.on('error', (error: Error) => log.debug('inbox.connection_failed', { message: error.message }));
  return {
    port: await listeningPort(server.listen(port, LOOPBACK)),
    close: async () => {
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await batcher.idle();
    },
  };
}

interface Receiving {
  readonly batcher: Batcher<ReceivedMessage>;
  readonly log: Log;
  done(error?: Error | null, reply?: string): void;
}

function receive(stream: SMTPServerDataStream, session: SMTPServerSession, { batcher, log, done }: Receiving): void {
  const chunks: Buffer[] = [];
  stream.on('error', () => undefined);
  stream.on('data', (chunk: Buffer) => {
    // the rest of a message that is too long is read, as SMTP demands, and dropped
    if (!stream.sizeExceeded) chunks.push(chunk);
  });
  stream.on('end', () => {
    if (stream.sizeExceeded) return done(smtpError(552, `5.3.4 The message is longer than ${MESSAGE_BYTES_MAX} bytes`));
    batcher.add({ ...envelopeOf(session), raw: Buffer.concat(chunks) }).then(
      () => done(null, 'Stored in the development inbox'),
      (error: unknown) => {
        log.error('inbox.store_failed', { message: messageOf(error) });
        done(smtpError(451, '4.3.0 The inbox could not store the message'));
      },
    );
  });
}

function envelopeOf({ envelope }: SMTPServerSession): Pick<ReceivedMessage, 'mailFrom' | 'rcptTo'> {
  const mailFrom = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
  return { mailFrom, rcptTo: envelope.rcptTo.map(({ address }) => address) };
}
