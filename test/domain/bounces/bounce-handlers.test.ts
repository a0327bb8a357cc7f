/** Bounce mailboxes by IMAP and POP3: read once, deleted after the commit, and nothing stops the others. */
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { createBounceHandler } from '../../../src/domain/bounces/create-bounce-handler.ts';
import { deleteBounceHandler } from '../../../src/domain/bounces/delete-bounce-handler.ts';
import { pollBounceHandler } from '../../../src/domain/bounces/poll-bounce-handler.ts';
import { openMailbox } from '../../../src/domain/bounces/open-mailbox.ts';
import { testBounceHandler } from '../../../src/domain/bounces/try-mailbox.ts';
import { updateBounceHandler } from '../../../src/domain/bounces/update-bounce-handler.ts';
import type { BounceHandler } from '../../../src/domain/bounces/bounce-handler.ts';
import type { Context } from '../../../src/domain/context.ts';
import { LOGIN, startMailboxServers } from '../../support/mailbox-servers.ts';
import { reportedWorld, standingOf, untouched } from '../../support/reported-world.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';
import { programShapes, type Original } from './bounce-shapes.ts';
import { oddShapes } from './odd-shapes.ts';

const root = await createTestContext();
const servers = await startMailboxServers();
afterAll(() => servers.close());
beforeEach(() => {
  servers.messages.clear();
  servers.commands.length = 0;
  servers.cutAt = undefined;
  servers.endlessAt = undefined;
  servers.answers.clear();
  servers.isSlow = false;
});

const admin = async (): Promise<Context> => {
  const ctx = await createTenant(root);
  return { ...ctx, viewer: ctx.viewer && { ...ctx.viewer, isAdmin: true } };
};
const portOf = (protocol: string) => (protocol === 'imap' ? servers.imapPort : servers.pop3Port);
const settings = (protocol: string) => ({
  name: 'Bounces',
  protocol,
  host: '127.0.0.1',
  port: portOf(protocol),
  encryption: 'none',
  ...LOGIN,
});
const poll = (handler: BounceHandler) => pollBounceHandler(root, handler, new AbortController().signal);
const hardBounce = (original: Original) => programShapes(original)[0]?.raw ?? '';

async function rowOf({ id }: BounceHandler) {
  const [row] = await queryRows(
    root.db,
    sql`SELECT bounce_count::int AS bounces, complaint_count::int AS complaints, other_count::int AS others, failures, last_error, held_until,
               next_poll_at > now() + interval '60 seconds' AS is_later FROM bounce_handler WHERE id = ${id}`,
  );
  return row;
}

describe.each(['imap', 'pop3'])('%s', (protocol) => {
  test('reports are read, acted on and deleted; other mails stay and are read once', async () => {
    const handler = await createBounceHandler(await admin(), settings(protocol));
    const worlds = await Promise.all([1, 2, 3].map(() => reportedWorld(root)));
    for (const { original } of worlds) servers.put(hardBounce(original));
    const stranger = oddShapes(worlds[0]?.original ?? { messageId: '', to: '', returnPath: '' }).find(
      ({ name }) => name === 'a person',
    );
    servers.put(stranger?.raw ?? '');
    servers.put('Subject: .\r\n\r\n.\r\n..\r\nend of it');
    servers.put('');
    await poll(handler);
    for (const world of worlds) expect(await standingOf(world)).toMatchObject({ bounces: 1, suppressed: true });
    expect(servers.messages.size).toBe(3);
    expect(await rowOf(handler)).toEqual({
      bounces: 3,
      complaints: 0,
      others: 3,
      failures: 0,
      last_error: null,
      held_until: null,
      is_later: true,
    });
    const reads = () => servers.commands.filter((command) => /FETCH|TOP|RETR/.test(command)).length;
    expect(reads()).toBe(6);
    await poll(handler);
    expect(reads()).toBe(6);
    expect(await rowOf(handler)).toMatchObject({ others: 3 });
  });

  test('a mail to the unsubscribe address unsubscribes; one that only quotes it does not', async () => {
    const handler = await createBounceHandler(await admin(), settings(protocol));
    const [leaves, shared, stays] = [await reportedWorld(root), await reportedWorld(root), await reportedWorld(root)];
    servers.put(`From: x@x.example\r\nTo: <${leaves.unsubscribeAddress}>\r\nSubject: unsubscribe\r\n\r\n`);
    // A mailbox with a plus in its addresses, whose server says to which one it came.
    servers.put(
      `From: x@x.example\r\nTo: undisclosed-recipients:;\r\nDelivered-To: ${shared.unsubscribeAddress.toUpperCase()}\r\n\r\n`,
    );
    const header = `List-Unsubscribe: <https://t.example/u/x>, <mailto:${stays.unsubscribeAddress}?subject=unsubscribe>`;
    servers.put(
      `From: x@x.example\r\nTo: bounces@bounces.example\r\n${header}\r\nSubject: unsubscribe\r\n\r\n${stays.unsubscribeAddress}`,
    );
    servers.put(`From: x@x.example\r\nTo: ${stays.returnPath}\r\nSubject: unsubscribe\r\n\r\n`);
    servers.put(`From: x@x.example\r\nTo: ${stays.unsubscribeAddress}\r\nAuto-Submitted: auto-replied\r\n\r\n`);
    await poll(handler);
    for (const world of [leaves, shared])
      expect(await standingOf(world)).toEqual({ ...untouched, status: 'unsubscribed', consents: 1 });
    expect(await standingOf(stays)).toEqual(untouched);
    expect(servers.messages.size).toBe(3);
    expect(await rowOf(handler)).toMatchObject({ bounces: 0, complaints: 0, others: 5 });
  });

  test('what was committed and not deleted is deleted later, without a second effect', async () => {
    const handler = await createBounceHandler(await admin(), settings(protocol));
    const at = await reportedWorld(root);
    servers.put(hardBounce(at.original));
    servers.cutAt = /UID STORE|DELE/;
    await poll(handler);
    expect(await standingOf(at)).toMatchObject({ bounces: 1 });
    expect(servers.messages.size).toBe(1);
    expect(await rowOf(handler)).toMatchObject({ failures: 1, last_error: expect.any(String), held_until: null });
    servers.cutAt = undefined;
    await poll(handler);
    expect(servers.messages.size).toBe(0);
    expect(await standingOf(at)).toMatchObject({ bounces: 1, counted: [1, 0, 1, 0] });
    expect(await rowOf(handler)).toMatchObject({ failures: 0, last_error: null });
  });

  test('what was read is counted, also when its reader dies before the end', async () => {
    const handler = await createBounceHandler(await admin(), settings(protocol));
    servers.put(hardBounce((await reportedWorld(root)).original));
    servers.put('Subject: hello');
    await root.db.execute(
      sql`CREATE OR REPLACE FUNCTION dead_reader() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'dead'; END $$`,
    );
    await root.db.execute(sql`CREATE OR REPLACE TRIGGER dead_reader BEFORE UPDATE ON bounce_handler FOR EACH ROW
      WHEN (NEW.held_until IS NULL) EXECUTE FUNCTION dead_reader()`);
    await expect(poll(handler)).rejects.toThrow('dead');
    await root.db.execute(sql`DROP TRIGGER dead_reader ON bounce_handler`);
    expect(await rowOf(handler)).toMatchObject({ bounces: 1, complaints: 0, others: 1, held_until: expect.any(Date) });
  });

  test('a message that kills its reader is set aside after three tries, and the others go on', async () => {
    const handler = await createBounceHandler(await admin(), settings(protocol));
    const [poison, fine] = [await reportedWorld(root), await reportedWorld(root)];
    servers.put(hardBounce(poison.original));
    servers.put(hardBounce(fine.original));
    // What it writes cannot be written: as good as any other defect.
    await root.db.execute(
      sql`CREATE OR REPLACE FUNCTION pg_temp_fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'poison'; END $$`,
    );
    await root.db.execute(sql`CREATE OR REPLACE TRIGGER poison BEFORE INSERT ON hot.recipient_activity FOR EACH ROW
      WHEN (NEW.bounce_type = 'hard') EXECUTE FUNCTION pg_temp_fail()`);
    for (let n = 0; n < 3; n++) await poll(handler);
    await root.db.execute(sql`DROP TRIGGER poison ON hot.recipient_activity`);
    expect(await standingOf(poison)).toEqual(untouched);
    await poll(handler);
    const rows = await queryRows(root.db, sql`SELECT outcome FROM hot.bounce_message WHERE handler_id = ${handler.id}`);
    expect(rows).toEqual([{ outcome: 'set aside' }, { outcome: 'set aside' }]);
    const after = await reportedWorld(root);
    servers.put(hardBounce(after.original));
    await poll(handler);
    expect(await standingOf(after)).toMatchObject({ bounces: 1 });
    expect(await standingOf(poison)).toEqual(untouched);
    expect(servers.messages.size).toBe(2);
  });

  test('one process at a time reads it', async () => {
    const handler = await createBounceHandler(await admin(), settings(protocol));
    const worlds = await Promise.all([1, 2, 3, 4, 5].map(() => reportedWorld(root)));
    for (const { original } of worlds) servers.put(hardBounce(original));
    servers.commands.length = 0;
    await Promise.all(Array.from({ length: 8 }, () => poll(handler)));
    expect(servers.commands.filter((command) => /LOGIN|PASS/.test(command))).toHaveLength(1);
    expect(await rowOf(handler)).toMatchObject({ bounces: 5 });
    for (const world of worlds) expect(await standingOf(world)).toMatchObject({ bounces: 1 });
  });

  test('a mailbox of a customer: its own messages only, and only at allowed addresses', async () => {
    const [mine, theirs] = [await reportedWorld(root), await reportedWorld(root)];
    await expect(createBounceHandler(mine.ctx, settings(protocol))).rejects.toMatchObject({
      fields: { host: [expect.stringContaining('not a public address')] },
    });
    const allowed = { ...mine.ctx, installation: { ...root.installation, outboundAllowHosts: ['127.0.0.0/8'] } };
    const handler = await createBounceHandler(allowed, settings(protocol));
    for (const { original } of [mine, theirs]) servers.put(hardBounce(original));
    await pollBounceHandler(root, handler, new AbortController().signal);
    expect(await rowOf(handler)).toMatchObject({ last_error: expect.any(String) });
    await pollBounceHandler(allowed, handler, new AbortController().signal);
    expect(await standingOf(mine)).toMatchObject({ bounces: 1 });
    expect(await standingOf(theirs)).toEqual(untouched);
    expect(servers.messages.size).toBe(1);
  });

  test('reports are kept where that is wanted; a wrong password, a wrong host and a wrong folder are told', async () => {
    const ctx = await admin();
    const handler = await createBounceHandler(ctx, { ...settings(protocol), keepsReports: true });
    const at = await reportedWorld(root);
    servers.put(hardBounce(at.original));
    await poll(handler);
    await poll(handler);
    expect(servers.messages.size).toBe(1);
    expect(await rowOf(handler)).toMatchObject({ bounces: 1 });
    expect(await testBounceHandler(ctx, handler)).toEqual({ uid: handler.uid, messageCount: 1 });
    const wrong: [object, RegExp][] = [
      [{ password: 'no' }, /./],
      [{ port: 1 }, /Nothing answers on this port/],
      [{ host: 'no-such-host.invalid' }, /The host name /],
      [{ encryption: 'tls' }, /The server does not speak TLS on this port: set the encryption to starttls or none$/],
      ...(protocol === 'imap' ? [[{ folder: 'nowhere' }, /./] satisfies [object, RegExp]] : []),
    ];
    for (const [change, words] of wrong) {
      const input = { ...settings(protocol), ...change };
      const error = await createBounceHandler(ctx, input).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'BOUNCE_HANDLER_CONNECTION_FAILED',
        fields: { connection: [expect.stringMatching(words)] },
      });
      expect(JSON.stringify(error)).not.toContain('canary');
    }
    await expect(updateBounceHandler(ctx, { uid: handler.uid, host: 'localhost' })).rejects.toMatchObject({
      code: 'BOUNCE_HANDLER_PASSWORD_NEEDED',
    });
    await expect(updateBounceHandler(ctx, { uid: handler.uid, password: 'no' })).rejects.toMatchObject({
      code: 'BOUNCE_HANDLER_CONNECTION_FAILED',
    });
    expect(await updateBounceHandler(ctx, { uid: handler.uid, name: 'Other', keepsReports: false })).toMatchObject({
      name: 'Other',
      keepsReports: false,
    });
    await poll(handler);
    expect(servers.messages.size).toBe(0);
    await updateBounceHandler(ctx, { uid: handler.uid, status: 'inactive' });
    servers.commands.length = 0;
    await poll(handler);
    expect(servers.commands).toEqual([]);
    expect(await deleteBounceHandler(ctx, handler)).toEqual({ uid: handler.uid });
  });
});

test.each(['imap', 'pop3'])('%s: a connection that breaks counts against the message it broke at', async (protocol) => {
  const handler = await createBounceHandler(await admin(), settings(protocol));
  for (let count = 0; count < 3; count++) servers.put('Subject: Hi\r\n\r\nHi');
  servers.cutAt = /FETCH|TOP/;
  await poll(handler);
  const begun = await queryRows(root.db, sql`SELECT 1 FROM hot.bounce_message WHERE handler_id = ${handler.id}`);
  expect(begun).toHaveLength(1);
  servers.cutAt = /SEARCH|UIDL/;
  await root.db.execute(sql`UPDATE bounce_handler SET next_poll_at = now() WHERE id = ${handler.id}`);
  await poll(handler);
  expect(await rowOf(handler)).toMatchObject({
    failures: 2,
    last_error: expect.stringMatching(/connection|ECONNRESET/),
  });
});

test("an administrator's token that may not act as one makes a handler like a customer's", async () => {
  const ctx = await admin();
  const { viewer } = ctx;
  const narrow = { ...ctx, viewer: viewer && { ...viewer, scopes: ['sending-servers:write'] } };
  const refused = { fields: { host: [expect.stringMatching(/not a public address/)] } };
  await expect(createBounceHandler(narrow, settings('imap'))).rejects.toMatchObject(refused);
  const { uid } = await createBounceHandler(ctx, settings('imap'));
  await expect(updateBounceHandler(narrow, { uid, folder: 'Other' })).rejects.toMatchObject(refused);
});

test.each([
  ['imap', /SEARCH/],
  ['pop3', /UIDL/],
] as const)('%s: a server that never comes to an end is left', async (protocol, endlessAt) => {
  servers.endlessAt = endlessAt;
  const address = { ...settings(protocol), protocol, encryption: 'none', folder: 'INBOX' } as const;
  // On a machine that is busy the time may be over before the mailbox is open.
  const listed = openMailbox(root, { address, isSystem: true, msMax: 500 }).then(
    async (mailbox) => await mailbox.list().finally(() => mailbox.close()),
  );
  await expect(listed).rejects.toThrow(/in time|connection/i);
});

test('a server that repeats the password is not quoted with it', async () => {
  const ctx = await admin();
  const said = Buffer.from(LOGIN.password).toString('base64');
  for (const [protocol, command, refusal] of [
    ['pop3', 'POP3 PASS', `-ERR unknown: PASS ${LOGIN.password}`],
    ['imap', 'IMAP LOGIN', `BAD unknown: ${said}`],
  ] as const) {
    servers.answers.set(command, refusal);
    await expect(createBounceHandler(ctx, settings(protocol))).rejects.toMatchObject({
      fields: { connection: [expect.stringMatching(/unknown: (PASS )?\*\*\*$/)] },
    });
  }
});

test('POP3: answers in pieces, no TOP, dots, long lines, and a server that goes away', async () => {
  const ctx = await admin();
  const at = await reportedWorld(root);
  const raw = hardBounce(at.original).replace(
    'This is the mail system',
    `.\r\n..dots\r\n${'x'.repeat(70_000)}\r\n.\r\nThis is the mail system`,
  );
  const handler = await createBounceHandler(ctx, settings('pop3'));
  servers.put(raw);
  servers.answers.set('POP3 TOP', '-ERR not here');
  servers.isSlow = true;
  await poll(handler);
  expect(await standingOf(at)).toMatchObject({ bounces: 1 });
  expect(servers.messages.size).toBe(0);
  servers.isSlow = false;
  for (const [command, answer] of [
    ['UIDL', '-ERR unknown'],
    ['PASS', '-ERR busy'],
    ['UIDL', '+OK'],
  ]) {
    servers.answers.set(`POP3 ${command}`, answer ?? '');
    if (answer === '+OK') servers.cutAt = /POP3 QUIT|POP3 TOP/;
    servers.commands.length = 0;
    // Not before it is asked: a server that is not there is another fault.
    if (answer === '+OK')
      void expect
        .poll(() => servers.commands)
        .toContain('POP3 UIDL')
        .then(() => servers.close());
    await poll(handler);
    servers.answers.delete(`POP3 ${command}`);
  }
  expect(await rowOf(handler)).toMatchObject({ failures: 3, last_error: expect.stringMatching(/closed|ECONNRESET/) });
});

test('the password is sealed', async () => {
  const [dump] = await queryRows<{ text: string }>(
    root.db,
    sql`SELECT string_agg(h::text, '') AS text FROM bounce_handler h`,
  );
  expect(dump?.text).toContain('Bounces');
  expect(dump?.text).not.toContain('canary');
});
