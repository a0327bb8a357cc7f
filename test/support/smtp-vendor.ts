/** A scripted SMTP server as the vendor of the conformance suite. */
import type { TestVendor, VendorBehaviour } from '../../src/plugin-testing/test-vendor.ts';
import { scriptedSmtpServer } from './scripted-smtp-server.ts';

const SLOW_MS = 200;

/** With `AUTH PLAIN` among the extensions every login is right. */
export async function startSmtpVendor(extensions: readonly string[]): Promise<TestVendor> {
  let how: VendorBehaviour = 'takes';
  let ever = 0;
  let now = 0;
  let most = 0;
  const server = await scriptedSmtpServer({
    extensions,
    keepsUnanswered: true,
    answer({ verb, session: { socket } }) {
      if (verb === 'CONNECT') {
        ever++;
        most = Math.max(most, ++now);
        socket.on('close', () => now--);
        if (how === 'is away') return (socket.destroy(), null);
      }
      if (verb === 'AUTH') return '235 2.7.0 welcome';
      const isEnd = verb === 'CONTENT' || verb === 'BDAT';
      if (how === 'refuses' && verb === 'RCPT') return '550 5.1.1 no such user';
      if (how === 'defers' && verb === 'RCPT') return '451 4.2.1 later';
      return how === 'never answers' && isEnd ? null : undefined;
    },
    write: (reply, { socket }) => {
      const send = () => socket.writable && socket.write(reply, 'latin1');
      if (how === 'slow') setTimeout(send, SLOW_MS);
      else send();
    },
  });
  return {
    settings: {
      ...{ host: '127.0.0.1', port: server.port, encryption: 'none', max_connections: 2, window: 5 },
    },
    behave: (next) => void (how = next),
    taken: () =>
      server.accepted.map(({ from, to, content }) => ({
        from,
        to: Buffer.from(to, 'latin1').toString(),
        id: /^Message-ID: (\S+)/im.exec(content)?.[1] ?? '',
        content: Buffer.from(content, 'latin1').toString(),
      })),
    connections: () => ({ ever, now, most }),
    close: async () => server[Symbol.asyncDispose](),
  };
}
