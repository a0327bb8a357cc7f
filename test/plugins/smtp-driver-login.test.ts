/** The SMTP driver against servers of other programs: TLS, STARTTLS, logins, and Postfix's sink where there is one. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { afterEach, describe, expect, it } from 'vitest';
import { validateSettings } from '../../plugins/mailwright/smtp/settings.ts';
import { connectSmtp } from '../../plugins/mailwright/smtp/smtp-driver.ts';
import { freePort } from '../support/free-port.ts';
import type { DriverOptions, SendingDriver } from '../../src/plugin-api/index.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';

// part of Debian's package `postfix`; SMTP_SINK names one that lies elsewhere
const SINK = [process.env['SMTP_SINK'] ?? '', '/usr/sbin/smtp-sink'].find((path) => path !== '' && existsSync(path));
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function driverFor(
  port: number,
  settings: Record<string, unknown>,
  postForm?: DriverOptions['postForm'],
): SendingDriver {
  const checked = validateSettings({ host: '127.0.0.1', port, allow_invalid_certificate: true, ...settings });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const driver = connectSmtp(checked.settings, {
    connectionsMax: 5,
    clientName: 'client.test',
    replyTimeoutMs: 30_000,
    ...(postForm ? { postForm } : {}),
  });
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

  it('is told which login to take', async () => {
    const { port } = await mailServer({ authMethods: ['PLAIN', 'LOGIN', 'CRAM-MD5'], authOptional: false });
    const login = { username: 'anna', password: 'open sesame' };
    for (const auth of ['plain', 'LOGIN', 'cram-md5'])
      expect(await driverFor(port, { ...login, auth }).test()).toEqual({ ok: true });
    await expect(sendMany(driverFor(port, { ...login, auth: 'none' }), 1)).rejects.toMatchObject({
      kind: 'unavailable',
      code: 530,
    });
    expect(await driverFor(port, { ...login, auth: 'xoauth2', oauth_access_token: 't' }).test()).toMatchObject({
      message: expect.stringContaining('(XOAUTH2); it offers'),
    });
  });

  it('takes an access token, and a new one when it has run out', async () => {
    const { port } = await mailServer({
      authMethods: ['XOAUTH2', 'PLAIN'],
      authOptional: false,
      onAuth: (auth, _session, done) =>
        auth.method === 'XOAUTH2' && auth.username === 'anna' && auth.accessToken === 'good'
          ? done(null, { user: 'anna' })
          : done(null, { data: { status: '401', schemes: 'bearer' } }),
    });
    const login = { username: 'anna', auth: 'xoauth2' };
    expect(await driverFor(port, { ...login, oauth_access_token: 'good' }).test()).toEqual({ ok: true });
    expect(await driverFor(port, { ...login, oauth_access_token: 'old' }).test()).toMatchObject({
      ok: false,
      message: expect.stringContaining('The server refused the login: 535'),
    });
    const asked: unknown[] = [];
    const refresh = {
      ...login,
      oauth_refresh_token: 'r',
      oauth_token_url: 'https://id.test/token',
      oauth_client_id: 'c',
    };
    const tokens = ['stale', 'good'];
    const driver = driverFor(port, refresh, async (url, fields) => {
      asked.push([url, fields]);
      return JSON.stringify({ access_token: tokens.shift(), expires_in: 3600 });
    });
    expect(await driver.test()).toMatchObject({ ok: false });
    await sendMany(driver, 20);
    expect(asked).toEqual(
      Array(2).fill(['https://id.test/token', { grant_type: 'refresh_token', refresh_token: 'r', client_id: 'c' }]),
    );
  });

  it.each([
    ['{"error":"invalid_grant"}', 'holds no access token'],
    ['not json', 'holds no access token'],
    [new Error('The address answered 400.'), 'The address answered 400.'],
  ])('gets no login when the token url answers %s', async (answer, words) => {
    const { port } = await mailServer({ authMethods: ['XOAUTH2'] });
    const login = { username: 'anna', auth: 'xoauth2', oauth_refresh_token: 'r', oauth_token_url: 'https://id.test/t' };
    const driver = driverFor(port, login, () =>
      typeof answer === 'string' ? Promise.resolve(answer) : Promise.reject(answer),
    );
    expect(await driver.test()).toMatchObject({ ok: false, message: expect.stringContaining(words) });
  });

  it('is encrypted where that is offered, and gets no password in plain text where it is not', async () => {
    const login = { encryption: 'opportunistic', username: 'anna', password: 'open sesame' };
    const offering = await mailServer({ authMethods: ['PLAIN'], authOptional: false });
    expect(await driverFor(offering.port, { ...login, allow_invalid_certificate: false }).test()).toEqual({ ok: true });
    const plain = await mailServer({ disabledCommands: ['STARTTLS'], authMethods: ['PLAIN', 'CRAM-MD5'] });
    expect(await driverFor(plain.port, { encryption: 'opportunistic' }).test()).toEqual({ ok: true });
    expect(await driverFor(plain.port, login).test()).toEqual({ ok: true });
    const onlyPlain = await mailServer({ disabledCommands: ['STARTTLS'], authMethods: ['PLAIN', 'LOGIN'] });
    expect(await driverFor(onlyPlain.port, login).test()).toMatchObject({
      message: expect.stringContaining('not sent in plain text'),
    });
    expect(await driverFor(onlyPlain.port, { ...login, encryption: 'none' }).test()).toEqual({ ok: true });
  });

  it('is named by its fault when there is no connection', async () => {
    const own = await mailServer({ secure: true });
    const plain = await mailServer({});
    const old = await mailServer({
      secure: true,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'ALL@SECLEVEL=0',
    });
    const message = async (port: number, settings: Record<string, unknown>) => {
      const end = await driverFor(port, settings).test();
      return end.ok ? 'ok' : end.message;
    };
    const strict = { encryption: 'tls', allow_invalid_certificate: false };
    expect(await message(own.port, strict)).toMatch(/certificate (is self-signed|comes from|has expired)/);
    expect(await message(plain.port, strict)).toContain('does not speak TLS on this port');
    expect(await message(old.port, { encryption: 'tls' })).toContain('before 1.2');
    expect(await message(1, { encryption: 'none' })).toContain('Nothing answers on this port');
    expect(await message(25, { host: 'nowhere.invalid', encryption: 'none' })).toMatch(/host name/);
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

describe('a server that repeats what it was told', () => {
  it.each(['plain', 'login', 'xoauth2'])('has no secret of %s in the refusal', async (auth) => {
    const secret = 'open sesame, '.repeat(40);
    const asBase64 = (text: string) => Buffer.from(text).toString('base64');
    await using server = await scriptedSmtpServer({
      extensions: ['AUTH PLAIN LOGIN XOAUTH2'],
      answer: ({ verb, line }) => {
        if (verb === 'CONNECT' || verb === 'EHLO') return undefined;
        return line === 'AUTH LOGIN' || line === asBase64('anna') ? '334 go on' : `535 5.7.8 not known: ${line}`;
      },
    });
    const driver = driverFor(server.port, {
      encryption: 'none',
      username: 'anna',
      auth,
      ...(auth === 'xoauth2' ? { oauth_access_token: asBase64(secret) } : { password: secret }),
    });
    const { message } = (await driver.test()) as { message: string };
    expect(message).toMatch(/refused the login: 535 5\.7\.8 not known: (AUTH \w+ )?\*\*\*$/);
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
  const port = await freePort();
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
