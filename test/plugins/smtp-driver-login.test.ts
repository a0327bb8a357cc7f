/** The SMTP driver against servers of other programs: TLS, STARTTLS, logins, and Postfix's sink where there is one. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { afterEach, describe, expect, it } from 'vitest';
import { validateSettings } from '../../plugins/mailwright/smtp/settings.ts';
import { connectSmtp } from '../../plugins/mailwright/smtp/smtp-driver.ts';
import type { SendingDriver } from '../../src/plugin-api/index.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';

// part of Debian's package `postfix`; SMTP_SINK names one that lies elsewhere
const SINK = [process.env['SMTP_SINK'] ?? '', '/usr/sbin/smtp-sink'].find((path) => path !== '' && existsSync(path));
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function driverFor(port: number, settings: Record<string, unknown>): SendingDriver {
  const checked = validateSettings({ host: '127.0.0.1', port, allow_invalid_certificate: true, ...settings });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const driver = connectSmtp(checked.settings, { connectionsMax: 5, clientName: 'client.test', replyTimeoutMs: 5000 });
  cleanups.push(() => driver.close());
  return driver;
}

/** A server that takes `anna` with `open sesame`, and remembers what it got. */
async function mailServer(options: SMTPServerOptions): Promise<{ port: number; got: string[] }> {
  const got: string[] = [];
  const server = new SMTPServer({
    disableReverseLookup: true,
    authOptional: true,
    onAuth: (auth, _session, done) => {
      const isRight =
        auth.method === 'CRAM-MD5' ? auth.validatePassword('open sesame') : auth.password === 'open sesame';
      return auth.username === 'anna' && isRight ? done(null, { user: 'anna' }) : done(new Error('no such login'));
    },
    onData: (stream, _session, done) => {
      const chunks: Buffer[] = [];
      stream
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => (got.push(Buffer.concat(chunks).toString()), done()));
    },
    ...options,
  });
  server.on('error', () => {});
  const listening = server.listen(0, '127.0.0.1');
  await new Promise((resolve) => listening.once('listening', resolve));
  cleanups.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { port: (listening.address() as AddressInfo).port, got };
}

function sendMany(driver: SendingDriver, count: number): Promise<unknown> {
  const content = (index: number) => Buffer.from(`Subject: ${index}\r\n\r\n.dotted\r\nline ${index}\r\n`);
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      driver.send({
        envelope: { from: 'a@house.test', to: `p${index}@there.test` },
        content: content(index),
        messageId: `<${index}@house.test>`,
        idempotencyKey: String(index),
        needsSmtpUtf8: false,
      }),
    ),
  );
}

describe('a general mail server', () => {
  it.each([
    ['plain', 'none', {}],
    ['plain without PIPELINING', 'none', { hidePIPELINING: true }],
    ['STARTTLS', 'starttls', {}],
    ['TLS', 'tls', { secure: true }],
  ] as const)('gets every message over %s', async (_name, encryption, options) => {
    const { port, got } = await mailServer(options);
    await sendMany(driverFor(port, { encryption }), 40);
    const expected = Array.from({ length: 40 }, (_, index) => `Subject: ${index}\r\n\r\n.dotted\r\nline ${index}\r\n`);
    expect(got.toSorted()).toEqual(expected.toSorted());
  });

  it.each(['PLAIN', 'LOGIN', 'CRAM-MD5'])('takes a login by %s', async (mechanism) => {
    const { port } = await mailServer({ authMethods: [mechanism], authOptional: false });
    const login = { encryption: 'starttls', username: 'anna' };
    expect(await driverFor(port, { ...login, password: 'open sesame' }).test()).toEqual({ ok: true });
    const refused = await driverFor(port, { ...login, password: 'guess' }).test();
    expect(refused).toMatchObject({ ok: false, message: expect.stringContaining('535') });
    await expect(sendMany(driverFor(port, { ...login, password: 'guess' }), 3)).rejects.toMatchObject({
      kind: 'unavailable',
      code: 535,
    });
  });

  it('is not trusted with a certificate that nobody vouches for', async () => {
    for (const [encryption, secure] of [
      ['tls', true],
      ['starttls', false],
    ] as const) {
      const { port, got } = await mailServer({ secure });
      const driver = driverFor(port, { encryption, allow_invalid_certificate: false });
      await expect(sendMany(driver, 2)).rejects.toMatchObject({ kind: 'unavailable' });
      expect(got).toEqual([]);
    }
  });

  it('gets no password when it offers no login', async () => {
    const { port } = await mailServer({ disabledCommands: ['AUTH'] });
    expect(
      await driverFor(port, { encryption: 'none', username: 'anna', password: 'open sesame' }).test(),
    ).toMatchObject({ ok: false });
  });
});

describe('somebody on the way', () => {
  it('who strips STARTTLS gets nothing', async () => {
    await using server = await scriptedSmtpServer({ extensions: ['PIPELINING', 'AUTH PLAIN'] });
    const driver = driverFor(server.port, { encryption: 'starttls', username: 'anna', password: 'open sesame' });
    expect(await driver.test()).toMatchObject({ ok: false, message: expect.stringContaining('STARTTLS') });
    expect(server.lines).toEqual(['EHLO client.test']);
  });

  it.each(['220 go\r\n250 injected', '220 go\r\n250-injec'])(
    'who slips in replies before TLS ends the connection',
    async (reply) => {
      await using server = await scriptedSmtpServer({
        extensions: ['STARTTLS'],
        answer: ({ verb }) => (verb === 'STARTTLS' ? reply : undefined),
      });
      expect(await driverFor(server.port, { encryption: 'starttls' }).test()).toMatchObject({ ok: false });
      await expect.poll(() => server.openSockets()).toBe(0);
    },
  );

  it('who answers STARTTLS with garbage ends the connection', async () => {
    await using server = await scriptedSmtpServer({
      extensions: ['STARTTLS'],
      answer: ({ verb, session }) => {
        if (verb === 'STARTTLS') setTimeout(() => session.socket.write('this is not TLS'), 20);
        return verb === 'STARTTLS' ? '220 go' : undefined;
      },
    });
    expect(await driverFor(server.port, { encryption: 'starttls' }).test()).toMatchObject({ ok: false });
    await expect.poll(() => server.openSockets()).toBe(0);
  });
});

describe.skipIf(SINK === undefined)("Postfix's sink", () => {
  it.each([
    ['pipelined', []],
    ['without PIPELINING', ['-p']],
    ['refusing RCPT', ['-f', 'RCPT']],
    ['dropping at the dot', ['-q', '.']],
    ['dropping at DATA', ['-q', 'DATA']],
    ['only HELO', ['-e']],
  ])('is served %s', async (name, flags) => {
    const driver = driverFor(await startSink(flags), { encryption: 'none' });
    const sent = sendMany(driver, 60);
    if (name === 'refusing RCPT') return expect(sent).rejects.toMatchObject({ kind: 'refused' });
    if (name === 'dropping at the dot') return expect(sent).rejects.toMatchObject({ kind: 'unknown' });
    if (name === 'dropping at DATA') return expect(sent).rejects.toMatchObject({ kind: 'unavailable' });
    await sent;
  });
});

async function startSink(flags: readonly string[]): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const env = { ...process.env, LD_LIBRARY_PATH: join(dirname(SINK ?? ''), '../lib/postfix') };
  const sink = spawn(SINK ?? '', [...user, ...flags, `127.0.0.1:${port}`, '100'], { env, stdio: 'ignore' });
  cleanups.push(() => sink.kill());
  const answers = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => (socket.destroy(), resolve(true))).on('error', () =>
        resolve(false),
      );
    });
  await expect.poll(answers).toBe(true);
  return port;
}
