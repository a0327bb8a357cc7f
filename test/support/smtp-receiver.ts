/** A mail server on this machine that takes everything: what a sending server's settings are tried against. */
import { once } from 'node:events';
import { SMTPServer } from 'smtp-server';

export interface SmtpReceiver {
  /** The settings of a sending server that hands its mails over here. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** How often somebody has connected. */
  connections(): number;
  close(): Promise<void>;
}

/** Starts it on a free port. */
export async function startSmtpReceiver(): Promise<SmtpReceiver> {
  let connections = 0;
  const receiver = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ['STARTTLS'] },
    onConnect: (_session, callback) => {
      connections++;
      callback();
    },
  });
  receiver.on('error', () => undefined);
  const server = receiver.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    settings: { host: '127.0.0.1', port: typeof address === 'object' ? address?.port : 0, encryption: 'none' },
    connections: () => connections,
    close: () => new Promise((resolve) => receiver.close(() => resolve())),
  };
}
