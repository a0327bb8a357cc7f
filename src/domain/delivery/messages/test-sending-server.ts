/** Tests a stored sending server for its owner: the connection only, or one message through it. No ledger, pace or health changes. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { RateLimitedError, ValidationError, WrongStateError, messageOf } from '../../../lib/errors.ts';
import { asciiDomainOf } from '../../../lib/mail-domain.ts';
import { emailAddress, emailKey, parseInput, singleLine } from '../../../lib/text.ts';
import { SendingError, type OutgoingMessage, type SendingDriver } from '../../../plugin-api/index.ts';
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import { requireRunningPlan } from '../../billing/plans/require-allowed.ts';
import { isSuppressed } from '../../audience/suppression-store.ts';
import { NO_CONTACT } from '../../content/message.ts';
import type { Context } from '../../context.ts';
import { senderFault } from '../../sending/addresses/usable-sender.ts';
import { findOwnedSendingServer } from '../../sending/find-owned-sending-server.ts';
import { PreparedSenders } from '../../sending/prepared-senders.ts';
import { meaningOfError } from '../../sending/replies/meaning-of-error.ts';
import { countRequestedMails, requestedAddress } from '../../sending/requested-mails.ts';
import type { StoredServer } from '../../sending/sending-server.ts';
import { testWithinTime, useStoredServer } from '../../sending/try-settings.ts';
import { composeTransactional } from './compose-transactional.ts';

/** Each test opens a connection: enough for a person who repairs a server, too few to scan networks. */
export const SERVER_TESTS_PER_HOUR_MAX = 60;
/** Mails to one address from all customers together: a test must not become a way to annoy somebody. */
export const SERVER_TESTS_PER_ADDRESS_AND_DAY_MAX = 20;
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
/** A person waits for the answer; a server that needs longer is not fit for sending. */
const SEND_TIMEOUT_MS = 30_000;

export const testServerInput = z.object({ uid: singleLine(64), to: emailAddress().nullish() });

export interface ServerTest {
  readonly server: StoredServer;
  /** Whether the server can be used; with `to`: whether it took the message. */
  readonly isAccepted: boolean;
  /** The server's reply, or why there is none. */
  readonly reply: string;
  /** What to do; null when it works. */
  readonly advice: string | null;
  readonly durationMs: number;
}

/**
 * Connects and logs in, and with `to` sends one message from the server's default address. A failed test is an answer. Throws
 * ValidationError (`to`, `settings.host`, ADDRESS_SUPPRESSED, no plan that allows sending), WrongStateError `INSTALLATION_HELD` (`to` only),
 * RateLimitedError `TOO_MANY_TESTS`, NotFoundError, ForeignResourceError.
 */
export async function testSendingServer(ctx: Context, given: z.input<typeof testServerInput>): Promise<ServerTest> {
  const { uid, to } = parseInput(testServerInput, given);
  const server = await findOwnedSendingServer(ctx, uid);
  if (to) await requireNoHold(ctx);
  // A mail to somebody is sending (decision D55).
  if (to && !server.isSystem) await requireRunningPlan(ctx.db, server.customerId);
  const message = to ? await composeTest(ctx, server, to) : undefined;
  await countTest(ctx, server, to ?? undefined);
  const startedAt = performance.now();
  const outcome = await useStoredServer(ctx, server, (connection) =>
    message ? sendOne(connection, { message, fromEmail: server.defaultFromEmail }) : connect(connection),
  );
  return { server, ...outcome, durationMs: Math.round(performance.now() - startedAt) };
}

/** A restored installation sends nothing until an administrator has released it (docs/decisions/0115). */
async function requireNoHold(ctx: Context): Promise<void> {
  if ((await installationHold(ctx.db)) === undefined) return;
  const sentence =
    'The installation is on hold as a restored backup: no mail is sent until an administrator ends the hold. Test without `to`, which connects only.';
  throw new WrongStateError('INSTALLATION_HELD', sentence);
}

type Outcome = Pick<ServerTest, 'isAccepted' | 'reply' | 'advice'>;

async function connect(connection: SendingDriver): Promise<Outcome> {
  const result = await testWithinTime(connection);
  if (!result.ok) return { isAccepted: false, reply: result.message, advice: ADVICE.unavailable };
  return { isAccepted: true, reply: 'The server answered, and the login worked.', advice: null };
}

interface TestMail {
  readonly message: OutgoingMessage;
  readonly fromEmail: string;
}

async function sendOne(connection: SendingDriver, { message, fromEmail }: TestMail): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  let mayHaveLeft = false;
  const late = new Promise<never>((_resolve, reject) => {
    const text = `The server did not answer within ${SEND_TIMEOUT_MS / 1_000} seconds.`;
    const error = () =>
      mayHaveLeft
        ? new SendingError('unknown', `${text} The message may arrive.`)
        : new SendingError('unavailable', `${text} Nothing was sent.`);
    timer = setTimeout(() => reject(error()), SEND_TIMEOUT_MS);
  });
  try {
    await Promise.race([new PreparedSenders(connection).prepare(fromEmail), late]);
    mayHaveLeft = true;
    const { reply } = await Promise.race([connection.send(message), late]);
    return { isAccepted: true, reply, advice: null };
  } catch (error) {
    return { isAccepted: false, reply: messageOf(error), advice: adviceFor(error) };
  } finally {
    clearTimeout(timer);
  }
}

const ADVICE = {
  unavailable:
    'Check host, port, encryption, user name and password. If nothing answers, ask whether your network blocks the port: many providers block 25 and leave 587 and 465 open.',
  unknown: 'Look into the mailbox and into the log of the server whether the message arrived, then test again.',
  permanent: 'The server does not deliver to this address: test with another one.',
  transient: 'The server asks to try again later: wait some minutes, then test again.',
  rate_limit:
    'The server limits how much it takes: lower the quota of the sending server, or ask its provider for more.',
  policy:
    'The server does not take mail from this sender: allow the default address or its domain there, and check SPF and DKIM with the sending domain.',
  block:
    'The server blocks this machine or domain: read the reply, and ask the provider or the block list that it names.',
} as const;

function adviceFor(error: unknown): string {
  if (!(error instanceof SendingError) || error.kind === 'unavailable') return ADVICE.unavailable;
  if (error.kind === 'unknown') return ADVICE.unknown;
  return ADVICE[meaningOfError(error).class];
}

async function countTest(ctx: Context, { customerId }: StoredServer, to: string | undefined): Promise<void> {
  const all = { key: `server-tests:${customerId}`, max: SERVER_TESTS_PER_HOUR_MAX, seconds: HOUR_SECONDS };
  const address = to && {
    key: `server-tests:${requestedAddress(ctx.installation.secret, to)}`,
    max: SERVER_TESTS_PER_ADDRESS_AND_DAY_MAX,
    seconds: DAY_SECONDS,
  };
  const waitSeconds = await countRequestedMails(ctx.db, address ? [all, address] : [all]);
  const sentence = `A customer may test servers ${SERVER_TESTS_PER_HOUR_MAX} times in an hour, and an address gets at most ${SERVER_TESTS_PER_ADDRESS_AND_DAY_MAX} such mails in a day.`;
  if (waitSeconds !== undefined) throw new RateLimitedError('TOO_MANY_TESTS', sentence, waitSeconds);
}

async function composeTest(ctx: Context, server: StoredServer, to: string): Promise<OutgoingMessage> {
  const { customerId, name, uid, defaultFromEmail: from } = server;
  if (from === '')
    throw new ValidationError({ to: ['The server has no default sender: set default_from_email first.'] });
  if (await isSuppressed(ctx.db, { customerId, emailKey: emailKey(to) })) {
    const sentence = `${to} is suppressed: no mail is sent to it.`;
    throw new ValidationError({ to: [sentence] }, 'ADDRESS_SUPPRESSED', sentence);
  }
  const fault = await senderFault(ctx.db, ctx.installation, { customerId, email: from });
  if (fault !== undefined) throw new ValidationError({ to: [`The default sender cannot be used: ${fault}`] });
  const message = {
    customerId,
    customerUid: uid,
    list: { uid, name: '', contact: NO_CONTACT },
    from: { name: '', email: from },
    // The name is a value: a template in it is shown, not run.
    subject: 'Test of the sending server {SERVER_NAME}',
    fieldDefaults: { SERVER_NAME: '' },
    html: '<p>This message was sent to test a sending server. It works.</p>',
    to: { email: to, uid, fields: { SERVER_NAME: name } },
  };
  // Two tests are two messages.
  const messageId = `<${randomUUID()}@${asciiDomainOf(from)}>`;
  const { filled, identity } = await composeTransactional(ctx, message, messageId);
  return { ...filled, content: identity.sign === null ? filled.content : await identity.sign(filled.content) };
}
