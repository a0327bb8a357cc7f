/** The SMTP driver against servers that are well, ill and malicious. */
import { afterEach, describe, expect, it } from 'vitest';
import { connectSmtp } from '../../plugins/mailwright/smtp/smtp-driver.ts';
import { validateSettings } from '../../plugins/mailwright/smtp/settings.ts';
import { SendingError, type OutgoingMessage, type SendingDriver, type SendResult } from '../../src/plugin-api/index.ts';
import { onBusyMachine } from '../support/busy-machine.ts';
import { scriptedSmtpServer, type ScriptedOptions, type ScriptedServer } from '../support/scripted-smtp-server.ts';

const PIPELINED = ['PIPELINING', 'SIZE 30000000'];
const CHUNKED = ['PIPELINING', 'CHUNKING', '8BITMIME', 'SMTPUTF8'];
const MODES = [
  ['lockstep', []],
  ['pipelined', PIPELINED],
  ['chunked', CHUNKED],
] as const;

const drivers: SendingDriver[] = [];
afterEach(async () => {
  await Promise.all(drivers.splice(0).map((driver) => driver.close()));
});

function driverFor(port: number, overrides: Record<string, unknown> = {}, replyTimeoutMs = 30_000): SendingDriver {
  const checked = validateSettings({ host: '127.0.0.1', port, encryption: 'none', max_connections: 1, ...overrides });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const driver = connectSmtp(checked.settings, { connectionsMax: 10, clientName: 'client.test', replyTimeoutMs });
  drivers.push(driver);
  return driver;
}

function message(name: string, content = `Subject: ${name}\r\n\r\nHello ${name}\r\n`): OutgoingMessage {
  return {
    envelope: { from: 'bounce@house.test', to: `${name}@there.test` },
    content: Buffer.from(content),
    messageId: `<${name}@house.test>`,
    idempotencyKey: name,
    needsSmtpUtf8: false,
  };
}

/** What became of a message: `sent`, or the kind of error with its code. */
function fate(sent: Promise<SendResult>): Promise<string> {
  return sent.then(
    () => 'sent',
    (error: unknown) => {
      if (!(error instanceof SendingError)) throw error;
      return error.code === undefined ? error.kind : `${error.kind} ${error.code}`;
    },
  );
}

function fates(driver: SendingDriver, names: readonly string[]): Promise<string[]> {
  return Promise.all(names.map((name) => fate(driver.send(message(name)))));
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `p${index}`);
const serve = (options: ScriptedOptions): Promise<ScriptedServer> => scriptedSmtpServer(options);

describe.each(MODES)('%s', (mode, extensions) => {
  it('hands over every message once, byte for byte, and keeps the connection', async () => {
    await using server = await serve({ extensions });
    const driver = driverFor(server.port);
    const contents = [
      '.\r\n..\r\n.a\r\nb.\r\n',
      'no line end',
      `${'x'.repeat(900)}\r\n`.repeat(700),
      'Subject: a\r\n\r\n.\r\n.\r\nMAIL FROM:<x@y>\r\n',
    ];
    const results = await Promise.all(contents.map((content, index) => driver.send(message(`p${index}`, content))));
    expect(results.map((result) => result.runtimeMessageId)).toEqual(
      contents.map((_, index) => `<p${index}@house.test>`),
    );
    expect(results[0]?.reply).toBe('250 2.0.0 queued as 0-0');
    expect(server.accepted).toEqual(
      contents.map((content, index) => ({
        from: 'bounce@house.test',
        to: `p${index}@there.test`,
        content: content.endsWith('\r\n') ? content : `${content}\r\n`,
      })),
    );
    expect(server.sessions).toHaveLength(1);
  });

  it('gives each reply to its own message', async () => {
    const answer: ScriptedOptions['answer'] = ({ verb, line, session }) => {
      const number = Number(/<p(\d+)@/.exec(verb === 'RCPT' ? line : `<${session.to}`)?.[1] ?? -1);
      if (verb === 'RCPT' && number % 7 === 3) return '550-5.1.1 no such\r\n550 5.1.1 user';
      if (verb === 'RCPT' && number % 7 === 4) return '451 4.2.1 later';
      return (verb === 'CONTENT' || verb === 'BDAT') && number % 7 === 5 ? '554 5.7.1 spam' : undefined;
    };
    await using server = await serve({ extensions, answer });
    const driver = driverFor(server.port, { connections: 3 });
    const expected = numbered(70).map(
      (_, index) => ({ 3: 'refused 550', 4: 'deferred 451', 5: 'refused 554' })[index % 7] ?? 'sent',
    );
    expect(await fates(driver, numbered(70))).toEqual(expected);
    expect(server.accepted.map(({ to, content }) => content.includes(`Hello ${to.split('@')[0]}\r`))).not.toContain(
      false,
    );
    expect(new Set(server.accepted.map(({ to }) => to)).size).toBe(40);
  });

  it.each([
    ['550 5.1.8 bad sender', 'refused 550'],
    ['450 4.7.1 greylisted', 'deferred 450'],
    ['530 5.7.0 must issue STARTTLS first', 'unavailable 530'],
    ['421 4.7.28 rate', 'unavailable 421'],
    ['550 5.7.8 log in', 'unavailable 550'],
  ])('maps %s at MAIL, RCPT, the opening of the transfer and its end', async (reply, expected) => {
    const verbs = extensions.length > 2 ? ['MAIL', 'RCPT', 'BDAT'] : ['MAIL', 'RCPT', 'DATA', 'CONTENT'];
    for (const bad of verbs) {
      await using server = await serve({ extensions, answer: ({ verb }) => (verb === bad ? reply : undefined) });
      expect([bad, await fate(driverFor(server.port).send(message('p0')))]).toEqual([bad, expected]);
      expect(server.accepted).toEqual([]);
    }
  });

  it('calls a message unknown only when all of it was handed over', async () => {
    const deadlyAt =
      (deadly: string) =>
      ({ verb, session }: { verb: string; session: { socket: { resetAndDestroy(): unknown } } }) =>
        verb === deadly ? (session.socket.resetAndDestroy(), null) : undefined;
    const steps = mode === 'chunked' ? ['MAIL', 'RCPT', 'BDAT'] : ['MAIL', 'RCPT', 'DATA', 'CONTENT'];
    for (const deadly of steps) {
      await using server = await serve({ extensions, answer: deadlyAt(deadly) });
      const expected = deadly === 'CONTENT' || deadly === 'BDAT' ? 'unknown' : 'unavailable';
      expect([deadly, await fate(driverFor(server.port).send(message('p0')))]).toEqual([deadly, expected]);
    }
  });

  it('does the same when the server falls silent', async () => {
    for (const deaf of mode === 'chunked' ? ['MAIL', 'BDAT'] : ['MAIL', 'CONTENT']) {
      let isDeaf = false;
      await using server = await serve({
        extensions,
        answer: ({ verb }) => {
          isDeaf ||= verb === deaf;
          return isDeaf ? null : undefined;
        },
      });
      expect(await fate(driverFor(server.port, {}, 1_000).send(message('p0')))).toBe(
        deaf === 'MAIL' ? 'unavailable' : 'unknown',
      );
      await expect.poll(() => server.openSockets()).toBe(0);
    }
  });

  it('loses and doubles nothing when connections die anywhere', async () => {
    let countdown = 0;
    const answer: ScriptedOptions['answer'] = ({ verb, session }) => {
      if (verb === 'CONNECT' || verb === 'EHLO' || ++countdown % 37 !== 0) return undefined;
      session.socket.resetAndDestroy();
      return null;
    };
    await using server = await serve({ extensions, answer });
    const names = numbered(400);
    const ends = await fates(driverFor(server.port, { connections: 4 }), names);
    const copies = new Map<string, number>();
    for (const { to } of server.accepted) copies.set(to, (copies.get(to) ?? 0) + 1);
    names.forEach((name, index) => {
      const count = copies.get(`${name}@there.test`) ?? 0;
      if (ends[index] === 'sent') expect(count).toBe(1);
      else if (ends[index] === 'unavailable') expect(count).toBe(0);
      else expect([ends[index], count <= 1]).toEqual(['unknown', true]);
    });
    expect(ends.filter((end) => end === 'sent').length).toBeGreaterThan(100);
  });

  it('reads replies that come byte by byte', async () => {
    await using server = await serve({ extensions: [...extensions], byteDelayMs: 1 });
    expect(await fate(driverFor(server.port).send(message('p0')))).toBe('sent');
  });

  it('drops a server that talks nonsense', async () => {
    for (const nonsense of ['hello', '250-one\r\n251 two', '999 no', `250-${'x'.repeat(20_000)}`, '354 again']) {
      await using server = await serve({ extensions, answer: ({ verb }) => (verb === 'RCPT' ? nonsense : undefined) });
      expect(await fate(driverFor(server.port).send(message('p0')))).toBe('unavailable');
      await expect.poll(() => server.openSockets()).toBe(0);
    }
  });

  it('finishes what it has on close, and leaves no socket', async () => {
    await using server = await serve({ extensions });
    const driver = driverFor(server.port, { connections: 2 });
    const ends = fates(driver, numbered(30));
    await driver.close();
    expect(new Set(await ends)).toEqual(new Set(['sent']));
    expect(await fate(driver.send(message('late')))).toBe('unavailable');
    await expect.poll(() => server.openSockets()).toBe(0);
    expect(server.lines.filter((line) => line === 'QUIT').length).toBe(server.sessions.length);
  });
});

describe('connections', () => {
  it('speaks in lockstep to a server that lies about PIPELINING', async () => {
    const firstCommandOnly = (chunk: Buffer) =>
      /^(MAIL|RCPT|RSET|DATA)/.test(chunk.toString()) ? chunk.subarray(0, chunk.indexOf('\n') + 1) : chunk;
    for (const extensions of [PIPELINED, CHUNKED]) {
      await using server = await serve({ extensions, filter: firstCommandOnly });
      const driver = driverFor(server.port, {}, 1_500);
      expect(await fate(driver.send(message('p0')))).toBe('unavailable');
      expect(await fates(driver, ['p1', 'p2', 'p3'])).toEqual(['sent', 'sent', 'sent']);
    }
  });

  it('opens as many connections as allowed, no more, and fewer when the server takes fewer', async () => {
    await using server = await serve({
      extensions: CHUNKED,
      answer: ({ verb, session }) => (verb === 'CONNECT' && session.index > 1 ? '421 too many connections' : undefined),
    });
    const driver = driverFor(server.port, { connections: 4 });
    expect(driver.capacity).toBe(40);
    expect(new Set(await fates(driver, numbered(200)))).toEqual(new Set(['sent']));
    expect(server.sessions.length).toBeLessThanOrEqual(4);
  });

  it('opens as many as the host says, at least one and at most its largest number', async () => {
    let open = 0;
    let most = 0;
    const answer: ScriptedOptions['answer'] = ({ verb, session }) => {
      if (verb !== 'CONNECT') return undefined;
      most = Math.max(most, ++open);
      session.socket.on('close', () => open--);
      return undefined;
    };
    await using server = await serve({ extensions: CHUNKED, answer });
    const driver = driverFor(server.port, { max_connections: 6, window: 10 });
    expect(await fates(driver, numbered(120))).not.toContain('unavailable');
    expect(most).toBe(6);
    driver.useConnections?.(1);
    expect(driver.capacity).toBe(10);
    await expect.poll(() => open).toBe(1);
    most = 0;
    expect(new Set(await fates(driver, numbered(120)))).toEqual(new Set(['sent']));
    expect(most).toBeLessThanOrEqual(1);
    driver.useConnections?.(50);
    expect(new Set(await fates(driver, numbered(120)))).toEqual(new Set(['sent']));
    expect(open).toBe(6);
  });

  it('moves a message to a new connection when the old one had died meanwhile', async () => {
    await using server = await serve({
      extensions: CHUNKED,
      answer: ({ verb, session }) => {
        if (verb === 'MAIL' && session.index === 0 && session.acceptedCount === 1)
          return (session.socket.resetAndDestroy(), null);
        return undefined;
      },
    });
    const driver = driverFor(server.port);
    expect(await fate(driver.send(message('p0')))).toBe('sent');
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect(await fate(driver.send(message('p1')))).toBe('sent');
    expect(server.accepted.map(({ to }) => to)).toEqual(['p0@there.test', 'p1@there.test']);
  });

  it('knows after a 421 that nothing behind it was taken', async () => {
    await using server = await serve({
      extensions: CHUNKED,
      answer: ({ verb, session }) => {
        if (verb !== 'MAIL' || session.acceptedCount < 25) return undefined;
        session.socket.end('421 4.7.28 slow down\r\n');
        return null;
      },
    });
    const names = numbered(60);
    const ends = await fates(driverFor(server.port), names);
    const sent = names.filter((_, index) => ends[index] === 'sent');
    expect(server.accepted.map(({ to }) => to)).toEqual(sent.map((name) => `${name}@there.test`));
    expect(new Set(ends)).toEqual(new Set(['sent', 'unavailable 421']));
    expect(sent).toHaveLength(25);
  });

  it('says at once that nobody listens', async () => {
    const server = await serve({});
    await server[Symbol.asyncDispose]();
    const driver = driverFor(server.port, { connections: 5 });
    expect(new Set(await fates(driver, numbered(20)))).toEqual(new Set(['unavailable']));
    expect(await driver.test()).toMatchObject({ ok: false });
  });

  it('does not hang on close when the server is silent', async () => {
    await using server = await serve({ answer: ({ verb }) => (verb === 'CONNECT' ? null : undefined) });
    const driver = driverFor(server.port, {}, 300);
    const end = fate(driver.send(message('p0')));
    const startedAt = performance.now();
    await driver.close();
    expect(await end).toBe('unavailable');
    expect(performance.now() - startedAt).toBeLessThan(onBusyMachine(3_000));
  });
});

describe('envelope', () => {
  it.each([
    'a@b.test>\r\nRCPT TO:<evil@x.test',
    'a b@c.test',
    'a@b.test\0',
    '<a@b.test',
    'a@b.test\u2028',
    '',
    `${'a'.repeat(400)}@b.test`,
    'a@b.test\u0085',
  ])('refuses the recipient %j before a byte is written', async (to) => {
    await using server = await serve({});
    const sent = driverFor(server.port).send({ ...message('p0'), envelope: { from: 'a@b.test', to } });
    expect(await fate(sent)).toBe('refused');
    expect(server.sessions).toHaveLength(0);
  });

  it('asks for SMTPUTF8 where an address needs it, and refuses where the server has none', async () => {
    const foreign = { ...message('p0'), envelope: { from: '', to: 'jürgen@там.test' } };
    await using able = await serve({ extensions: CHUNKED });
    expect(await fate(driverFor(able.port).send(foreign))).toBe('sent');
    expect(able.lines.find((line) => line.startsWith('MAIL'))).toBe('MAIL FROM:<> BODY=8BITMIME SMTPUTF8');
    expect(Buffer.from(able.accepted[0]?.to ?? '', 'latin1').toString()).toBe('jürgen@там.test');
    await using unable = await serve({ extensions: PIPELINED });
    expect(await fates(driverFor(unable.port), ['p1'])).toEqual(['sent']);
    await expect(driverFor(unable.port).send(foreign)).rejects.toMatchObject({
      kind: 'refused',
      enhancedStatus: '5.6.7',
    });
    // the envelope is plain, a header is not
    const header = { ...message('p2'), needsSmtpUtf8: true };
    expect(await fate(driverFor(unable.port).send(header))).toBe('refused');
    expect(await fate(driverFor(able.port).send(header))).toBe('sent');
    expect(able.lines.at(-3)).toBe('MAIL FROM:<bounce@house.test> BODY=8BITMIME SMTPUTF8');
    expect(unable.accepted).toHaveLength(1);
  });

  it.each([
    ['SIZE 1000', 'refused'],
    ['SIZE 0', 'sent'],
    ['SIZE', 'sent'],
    ['SIZE many', 'sent'],
    ['SIZE 5000', 'sent'],
  ])('transfers nothing that is larger than the server said: %s', async (size, expected) => {
    await using server = await serve({ extensions: ['PIPELINING', size] });
    const large = message('p0', `Subject: a\r\n\r\n${'x'.repeat(70)}\r\n`.repeat(20));
    expect(await fates(driverFor(server.port), ['p1'])).toEqual(['sent']);
    expect(await fate(driverFor(server.port).send(large))).toBe(expected);
    expect(server.lines.filter((line) => line.startsWith('MAIL')).length).toBe(expected === 'sent' ? 2 : 1);
  });

  it('leaves a connection after so many messages, or so long a pause', async () => {
    await using server = await serve({ extensions: CHUNKED });
    const driver = driverFor(server.port, { messages_per_connection: 7, idle_seconds: 1 });
    expect(new Set(await fates(driver, numbered(20)))).toEqual(new Set(['sent']));
    expect(server.sessions.map(({ acceptedCount }) => acceptedCount)).toEqual([7, 7, 6]);
    await expect.poll(() => server.openSockets()).toBe(0);
  });
});

describe('settings', () => {
  it('fills in defaults', () => {
    expect(validateSettings({ host: ' mail.test ', port: '', encryption: 'tls', username: null })).toEqual({
      ok: true,
      settings: {
        host: 'mail.test',
        port: 465,
        encryption: 'tls',
        username: '',
        password: '',
        allow_invalid_certificate: false,
        window: 10,
      },
    });
  });

  it('names each fault by its key', () => {
    const checked = validateSettings({
      host: 'a b',
      port: 70_000,
      encryption: 'ssl',
      username: 'a\r\nb',
      connections: 0,
      window: 'x',
    });
    expect(checked.ok ? [] : Object.keys(checked.errors).toSorted()).toEqual([
      'connections',
      'encryption',
      'host',
      'port',
      'username',
      'window',
    ]);
    const token = validateSettings({ host: 'a.test', auth: 'xoauth2', oauth_refresh_token: 'r' });
    expect(token.ok ? [] : Object.keys(token.errors).toSorted()).toEqual(['oauth_token_url', 'username']);
    expect(validateSettings({ host: 'a.test', auth: 'PLAIN', username: 'a' }).ok).toBe(true);
    expect(validateSettings({ host: 'a.test', auth: 'ntlm' })).toMatchObject({
      errors: { auth: [expect.any(String)] },
    });
    expect(validateSettings({})).toEqual({ ok: false, errors: { host: ['The host is required.'] } });
  });
});
