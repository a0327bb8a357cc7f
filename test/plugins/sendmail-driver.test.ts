/** The driver for mail programs: what it hands over, what becomes of it, and what it leaves behind. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { connectSendmail } from '../../plugins/mailwright/sendmail/sendmail-driver.ts';
import { validateSettings } from '../../plugins/mailwright/sendmail/settings.ts';
import { isAlive } from '../../src/lib/is-alive.ts';
import { SENDER_REFUSED, SendingError, type OutgoingMessage, type SendingDriver } from '../../src/plugin-api/index.ts';
import { makeSendmail, type SendmailProgram } from '../support/sendmail-program.ts';

const PROCESSES = 3;
const LONG_MS = 60_000;
/** More than the kernel keeps for a program that does not read. */
const LARGE = 2_000_000;

function driverFor({ path: program }: Pick<SendmailProgram, 'path'>, replyTimeoutMs = LONG_MS): SendingDriver {
  const options = { connectionsMax: PROCESSES, clientName: 'client.test', replyTimeoutMs };
  return connectSendmail({ path: program }, options);
}

function message(changes: Partial<OutgoingMessage> & { to?: string; from?: string } = {}): OutgoingMessage {
  const { to = 'one@there.test', from = 'bounce@house.test', ...more } = changes;
  return {
    envelope: { from, to },
    content: Buffer.from('Subject: Hi\r\nMessage-ID: <1@house.test>\r\n\r\nHello\r\n.\r\n..two\r\nÄ\r\n'),
    messageId: '<1@house.test>',
    idempotencyKey: 'key.1',
    needsSmtpUtf8: false,
    ...more,
  };
}

const large = () => message({ content: Buffer.alloc(LARGE, 'x') });

async function failure(driver: SendingDriver, given = message()): Promise<SendingError> {
  const error = await driver.send(given).then(
    (result) => new Error(`It was sent: ${result.reply}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof SendingError)) throw error;
  return error;
}

/** Of this process, less those that come and go by themselves. */
const descriptors = () => readdirSync('/proc/self/fd').length;
const childrenOfThis = () =>
  execFileSync('ps', ['-o', 'pid=,stat=,comm=', '--ppid', String(process.pid)], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => /sendmail|defunct/.test(line));

describe('what is handed over', () => {
  test('no shell, addresses behind --, LF, and none of our variables', async () => {
    using program = makeSendmail();
    program.run(`printf '%s\\n' "$@" > "$here/arguments"; env > "$here/env"; pwd > "$here/pwd"; keep one`);
    process.env['CANARY_SECRET'] = 'canary';
    const to = "$HOME`id`&a'b@there.test";
    const { reply, runtimeMessageId } = await driverFor(program).send(message({ to, from: '-oQ/tmp@house.test' }));
    delete process.env['CANARY_SECRET'];
    const read = (name: string) => readFileSync(path.join(program.folder, name), 'utf8');
    expect(read('arguments').split('\n')).toEqual(['-i', '-f', '-oQ/tmp@house.test', '--', to, '']);
    const [kept = ''] = readdirSync(path.join(program.folder, 'taken'));
    expect(read(`taken/${kept}`)).toBe('Subject: Hi\nMessage-ID: <1@house.test>\n\nHello\n.\n..two\nÄ\n');
    const ofShell = ['PWD', 'OLDPWD', 'SHLVL', '_'];
    const names = [...read('env').matchAll(/^(\w+)=/gm)].map(([, name = '']) => name);
    expect(new Set(names.filter((name) => !ofShell.includes(name)))).toEqual(new Set(['HOME', 'LC_ALL', 'PATH']));
    expect(read('pwd')).toBe('/\n');
    expect({ reply, runtimeMessageId }).toEqual({
      reply: `${program.path} has taken it.`,
      runtimeMessageId: '<1@house.test>',
    });
  });

  test('an empty sender is the null sender', async () => {
    using program = makeSendmail();
    program.run('printf %s "$3" > "$here/sender"; keep one');
    await driverFor(program).send(message({ from: '' }));
    expect(readFileSync(path.join(program.folder, 'sender'), 'utf8')).toBe('<>');
  });

  // Postfix, Exim and OpenSMTPD were seen to take the first of these for two recipients.
  test.each([
    'a@x.test,b@y.test',
    'a@x.test b@y.test',
    '"a,b"@x.test',
    'a@x.test(comment)',
    'Name <a@x.test>',
    'list:a@x.test;',
    '|/bin/id',
    'a@x.test\nb@y.test',
    'a\0@x.test',
    'a@x..test',
    '',
    `${'a'.repeat(400)}@x.test`,
  ])('an address that can be read in another way is refused, and nothing is started: %j', async (address) => {
    using program = makeSendmail();
    const driver = driverFor(program);
    expect(await failure(driver, message({ to: address }))).toMatchObject({ kind: 'refused', enhancedStatus: '5.1.3' });
    if (address !== '')
      expect(await failure(driver, message({ from: address }))).toMatchObject({ enhancedStatus: '5.1.7' });
    expect(program.connections().ever).toBe(0);
  });
});

describe('the end of the program', () => {
  test.each([
    [64, 'unavailable'],
    [65, 'refused'],
    [66, 'unavailable'],
    [67, 'refused'],
    [68, 'deferred'],
    [69, 'unavailable'],
    [70, 'unavailable'],
    [71, 'unavailable'],
    [72, 'unavailable'],
    [73, 'unavailable'],
    [74, 'unavailable'],
    [75, 'deferred'],
    [76, 'deferred'],
    [77, 'unavailable'],
    [78, 'unavailable'],
    [126, 'unavailable'],
    [127, 'unavailable'],
    [1, 'deferred'],
    [42, 'deferred'],
    [255, 'deferred'],
    // a shell says so of a program that a signal has ended
    [137, 'unknown'],
    [143, 'unknown'],
  ])('code %i is %s', async (code, kind) => {
    using program = makeSendmail();
    program.run(`cat > /dev/null; echo 'sendmail: what is wrong' >&2; exit ${code}`);
    const error = await failure(driverFor(program));
    expect(error).toMatchObject({ kind, message: expect.stringContaining('what is wrong') });
    expect(error.message).toContain(String(code));
    expect(error.code).toBe(code === 67 ? 550 : undefined);
  });

  // As msmtp 1.8.23 and OpenSMTPD 6.8 were seen to write it.
  test.each([
    [65, 'msmtp: server message: 550 5.1.1 no such user', { kind: 'refused', code: 550, enhancedStatus: '5.1.1' }],
    [69, 'msmtp: server message: 451 4.2.1 later', { kind: 'deferred', code: 451, enhancedStatus: '4.2.1' }],
    [
      70,
      'sendmail: command failed: 501 5.1.3 Recipient address syntax error',
      { kind: 'refused', code: 501, enhancedStatus: '5.1.3' },
    ],
    [69, 'msmtp: server message: 421 4.3.2 closing', { kind: 'unavailable', code: undefined }],
    [
      65,
      'msmtp: server message: 530 5.7.0 Authentication required',
      { kind: 'unavailable', code: 530, about: 'login' },
    ],
    [77, 'msmtp: server message: 535 5.7.8 Error: authentication failed', { kind: 'unavailable', code: undefined }],
    [75, 'msmtp: cannot connect to relay.test, port 587: Connection refused', { kind: 'deferred', code: undefined }],
  ])('code %i with %j', async (code, words, expected) => {
    using program = makeSendmail();
    program.run(`cat > /dev/null; echo '${words}' >&2; exit ${code}`);
    const error = await failure(driverFor(program));
    expect({ ...error, kind: error.kind, code: error.code }).toMatchObject(expected);
    expect(error.message).toContain(words);
  });

  test('a refused sender is said to be one', async () => {
    using program = makeSendmail();
    program.run(
      `cat > /dev/null; echo 'msmtp: envelope from address b@house.test not accepted by the server' >&2; echo 'msmtp: server message: 550 5.7.1 not you' >&2; exit 65`,
    );
    expect((await failure(driverFor(program))).message).toMatch(new RegExp(`^${SENDER_REFUSED}`));
  });

  test('by a signal: unknown after the whole message, unavailable before', async () => {
    using program = makeSendmail();
    program.run('keep one; kill -9 $$');
    expect(await failure(driverFor(program))).toMatchObject({
      kind: 'unknown',
      message: expect.stringContaining('SIGKILL'),
    });
    program.run('head -c 10 > /dev/null; kill -9 $$');
    expect(await failure(driverFor(program), large())).toMatchObject({ kind: 'unavailable' });
  });

  test('without reading: what the code says counts, and success is not believed', async () => {
    using program = makeSendmail();
    program.run('exec 0<&-; echo "no space left" >&2; exit 75');
    expect(await failure(driverFor(program), large())).toMatchObject({ kind: 'deferred' });
    program.run('exec 0<&-; exit 0');
    expect(await failure(driverFor(program), large())).toMatchObject({ kind: 'unknown' });
  });

  test('too late: it and what it has started are ended; unknown after the whole message, unavailable before', async () => {
    using program = makeSendmail();
    program.run('cat > /dev/null; sleep 300 & echo $! > "$here/child"; trap "" TERM; while :; do sleep 0.1; done');
    const startedAt = performance.now();
    expect(await failure(driverFor(program, 3_000))).toMatchObject({
      kind: 'unknown',
      message: expect.stringContaining('took too long'),
    });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2_990);
    const child = Number(readFileSync(path.join(program.folder, 'child'), 'utf8'));
    await expect.poll(() => isAlive(child)).toBe(false);
    program.run('exec sleep 300');
    expect(await failure(driverFor(program, 300), large())).toMatchObject({ kind: 'unavailable' });
  });

  test('a program that cannot be started: unavailable, with what is wrong', async () => {
    using program = makeSendmail();
    chmodSync(program.path, 0o600);
    expect((await failure(driverFor(program))).message).toContain('may not run it');
    writeFileSync(program.path, 'no program', { mode: 0o700 });
    chmodSync(program.path, 0o700);
    expect(await failure(driverFor(program))).toMatchObject({ kind: 'unavailable' });
    expect(await failure(driverFor({ path: '/nowhere/sendmail' }))).toMatchObject({
      kind: 'unavailable',
      message: '/nowhere/sendmail cannot be started: there is no such program on this machine.',
    });
  });

  test('a flood of words is cut, and control characters do not reach the ledger', async () => {
    using program = makeSendmail();
    program.run('cat > /dev/null; yes noise | head -c 20000000 >&2; printf "\\033[31mlast\\r\\nwords\\n" >&2; exit 75');
    const { message: text } = await failure(driverFor(program));
    expect(text.length).toBeLessThan(1_200);
    expect(text).toMatch(/ \[31mlast words \(/);
  });

  test('a process that it leaves behind does not keep the message waiting', async () => {
    using program = makeSendmail();
    program.run('keep one; sleep 300 & echo $! > "$here/child"');
    const { reply } = await driverFor(program).send(message());
    expect(reply).toContain('has taken it');
    const child = Number(readFileSync(path.join(program.folder, 'child'), 'utf8'));
    // Mail programs deliver in the background.
    expect(isAlive(child)).toBe(true);
    process.kill(child);
  });
});

test('a message that may not leave while it waited is not handed over', async () => {
  using program = makeSendmail();
  program.run('sleep 0.2; keep one');
  const driver = driverFor(program);
  const first = Array.from({ length: PROCESSES }, () => driver.send(message()));
  let mayLeave = true;
  const waiting = failure(driver, message({ mayStillLeave: () => mayLeave }));
  mayLeave = false;
  expect(await waiting).toMatchObject({ kind: 'unavailable' });
  await Promise.all(first);
  expect(program.taken()).toHaveLength(PROCESSES);
});

test('more messages than processes wait, and close() leaves nothing: no process, no zombie, no descriptor', async () => {
  using program = makeSendmail();
  const before = descriptors();
  // The first ones wait for one another: on a busy machine each could have ended before the next had begun.
  program.run(`while [ $(grep -c start "$here/log") -lt ${PROCESSES} ]; do sleep 0.02; done; sleep 0.02; keep "$5"`);
  const driver = driverFor(program);
  const all = Array.from({ length: 60 }, (_, no) => driver.send(message({ to: `p${no}@there.test` })));
  await Promise.all(all);
  expect(program.connections()).toEqual({ ever: 60, now: 0, most: PROCESSES });
  expect(new Set(program.taken().map(({ to }) => to)).size).toBe(60);
  const last = Array.from({ length: 5 }, (_, no) => driver.send(message({ to: `late${no}@there.test` })));
  const ends = Promise.allSettled(last);
  await driver.close();
  expect(program.taken()).toHaveLength(60 + PROCESSES);
  // Those in a process are finished; those that waited have not been handed over.
  expect((await ends).map(({ status }) => status)).toEqual([
    ...Array.from({ length: PROCESSES }, () => 'fulfilled'),
    ...Array.from({ length: 5 - PROCESSES }, () => 'rejected'),
  ]);
  // Of what ended just now, also for a test before, the system still tells until this process comes round.
  await expect.poll(childrenOfThis).toEqual([]);
  await expect.poll(descriptors).toBeLessThanOrEqual(before);
});

describe('test()', () => {
  const ask = (program: SendmailProgram, lines: string) => {
    writeFileSync(program.path, `#!/bin/sh\n${lines}\n`);
    return driverFor(program).test();
  };

  test('takes what the known programs answer for an answer', async () => {
    using program = makeSendmail();
    // Postfix, Exim, Sendmail, dma; OpenSMTPD; msmtp
    expect(await ask(program, '[ "$1" = -bp ] && echo "Mail queue is empty"')).toEqual({ ok: true });
    expect(await ask(program, 'echo "sendmail: no recipients" >&2; exit 70')).toEqual({ ok: true });
    const msmtp = (then: string) => `case $1 in
      -bp) echo 'sendmail: unsupported operation mode bp' >&2; exit 64;;
      --version) echo 'msmtp version 1.8.23'; exit 0;;
      --serverinfo) ${then};;
      esac`;
    expect(await ask(program, msmtp('echo "SMTP server at relay.test"'))).toEqual({ ok: true });
    expect(await ask(program, msmtp('echo "msmtp: cannot connect to relay.test" >&2; exit 75'))).toEqual({
      ok: false,
      message: expect.stringContaining('cannot connect to relay.test'),
    });
  });

  test('says what is wrong', async () => {
    using program = makeSendmail();
    expect(await ask(program, 'echo "fatal: bad main.cf" >&2; exit 75')).toEqual({
      ok: false,
      message: `fatal: bad main.cf (${program.path} ended with 75: it asks to try again later (EX_TEMPFAIL).)`,
    });
    expect(await ask(program, 'echo "mail system is down" >&2; exit 69')).toMatchObject({ ok: false });
    chmodSync(program.path, 0o600);
    expect(await driverFor(program).test()).toMatchObject({
      ok: false,
      message: expect.stringContaining('may not run'),
    });
  });

  test('a queue that takes long to list is an answer, and silence is none', async () => {
    using program = makeSendmail();
    writeFileSync(program.path, '#!/bin/sh\nwhile :; do echo "A1B2C3 message"; sleep 0.05; done\n');
    expect(await driverFor(program, 2_000).test()).toEqual({ ok: true });
    writeFileSync(program.path, '#!/bin/sh\nexec sleep 300\n');
    expect(await driverFor(program, 400).test()).toMatchObject({
      ok: false,
      message: `${program.path} does not answer.`,
    });
    await expect.poll(childrenOfThis).toEqual([]);
  });

  const REAL = '/usr/sbin/sendmail';
  test.skipIf(!existsSync(REAL))('the mail program of this machine answers, and nothing is sent', async () => {
    expect(statSync(REAL).size).toBeGreaterThan(0);
    const tested = await driverFor({ path: REAL }).test();
    expect(tested.ok || tested.message.length > 10).toBe(true);
  });
});

test('settings', () => {
  expect(validateSettings({})).toEqual({ ok: true, settings: { path: '/usr/sbin/sendmail' } });
  expect(validateSettings({ path: '/opt/m/sendmail', connections: '7' })).toEqual({
    ok: true,
    settings: { path: '/opt/m/sendmail', connections: 7 },
  });
  for (const wrong of ['sendmail', './sendmail', '/a\0b', '/a\nb', 7, `/${'a'.repeat(5_000)}`])
    expect(validateSettings({ path: wrong })).toMatchObject({ ok: false, errors: { path: [expect.any(String)] } });
  for (const wrong of [0, -1, 101, 1.5, 'x', '1e1', true])
    expect(validateSettings({ connections: wrong })).toMatchObject({ errors: { connections: [expect.any(String)] } });
});
