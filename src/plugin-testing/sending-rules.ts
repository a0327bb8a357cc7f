/** The rules for a driver at work: what `send`, `test` and `close` promise. */
import { openOutboundPool } from '../lib/outbound-pool.ts';
import {
  SendingError,
  type DriverOptions,
  type OutgoingMessage,
  type SendingDriver,
  type SendingDriverRegistration,
} from '../plugin-api/index.ts';
import { endsWithin, requireThat, requireSoon, type ConformanceRule } from './conformance-rule.ts';
import type { SendingDriverConformance, TestVendor, VendorBehaviour } from './test-vendor.ts';
import { disposable, settingsOf } from './settings-rules.ts';

/** The driver is told to wait so long for a reply, also on a busy machine; where none comes, not so long. */
const REPLY_MS_MAX = 10_000;
const NO_REPLY_MS_MAX = 2_000;
/** A connection that is opened too early is seen by then, also on a busy machine. */
const EARLY_MS = 300;
/** In which everything must have ended, also on a busy machine. */
const END_MS_MAX = 20_000;
const CONNECTIONS_MAX = 2;

interface World {
  readonly vendor: TestVendor;
  readonly driver: SendingDriver;
}

type Check = (world: World) => Promise<void>;

/** A check with a vendor that does not answer. */
interface CheckWithoutReply {
  readonly withoutReply: Check;
}

/** The rules that every driver keeps, and those for what its registration promises beyond. */
export function sendingRules(
  registration: SendingDriverRegistration,
  conformance: SendingDriverConformance,
): readonly ConformanceRule[] {
  const { configKeys, idempotencyKeySeconds } = registration;
  const checks: Readonly<Record<string, Check | CheckWithoutReply | false>> = {
    'connect() opens nothing': opensNothing,
    'test() asks the vendor, and sends nothing': testsVendor,
    'test() says that the vendor is away': testsMissingVendor,
    'send() hands a message over once, unchanged, and returns the id that reports will name':
      sendsUnchanged(registration),
    'it takes as many messages at once as its capacity, on no more connections than allowed': keepsToCapacity,
    'send() throws refused when the vendor refuses': failsAs(registration, 'refuses'),
    'send() throws deferred when the vendor defers': failsAs(registration, 'defers'),
    'send() throws unavailable when the vendor is away': failsAs(registration, 'is away'),
    'send() throws unknown when the vendor never answers': { withoutReply: failsAs(registration, 'never answers') },
    'a message that may no longer be sent is not sent': asksBeforeSending,
    'a message that needs SMTPUTF8 is sent, or refused with 5.6.7': knowsSmtpUtf8,
    'prepareSender(), where there is one, sends nothing, and throws only what can be classified': preparesSenders,
    'close() finishes what was handed over, closes all connections, and ends sending': closes,
    'a message that is repeated with its idempotencyKey arrives once': idempotencyKeySeconds !== undefined && {
      withoutReply: arrivesOnce,
    },
    'useConnections() changes how many connections there are':
      configKeys.includes('max_connections') && changesConnections,
  };
  return Object.entries(checks).flatMap(([name, check]) =>
    check ? [{ name, check: () => inWorld(registration, conformance, check) }] : [],
  );
}

async function inWorld(
  registration: SendingDriverRegistration,
  { startVendor, connectSmtp }: SendingDriverConformance,
  given: Check | CheckWithoutReply,
): Promise<void> {
  const isAnswered = typeof given === 'function';
  await using vendor = disposable(await startVendor());
  const options: DriverOptions = {
    connectionsMax: CONNECTIONS_MAX,
    clientName: 'client.test',
    replyTimeoutMs: isAnswered ? REPLY_MS_MAX : NO_REPLY_MS_MAX,
    openHttp: openOutboundPool,
  };
  const driver = registration.connect(settingsOf(registration, vendor.settings), {
    ...options,
    connectSmtp: connectSmtp?.(options),
  });
  try {
    await (isAnswered ? given : given.withoutReply)({ vendor, driver });
  } finally {
    await endsWithin(driver.close(), END_MS_MAX, 'close() does not end.');
  }
}

async function opensNothing({ vendor }: World): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, EARLY_MS));
  requireThat(vendor.connections().ever === 0, 'connect() opens a connection: only send() and test() may.');
}

async function testsVendor({ vendor, driver }: World): Promise<void> {
  const tested = await endsWithin(driver.test(), END_MS_MAX, 'test() does not end.');
  requireThat(tested.ok, `test() fails although the vendor is well: ${tested.ok ? '' : tested.message}`);
  requireThat(vendor.connections().ever > 0, 'test() does not ask the vendor.');
  requireThat(vendor.taken().length === 0, 'test() sends a message.');
}

async function testsMissingVendor({ vendor, driver }: World): Promise<void> {
  vendor.behave('is away');
  const testing = driver.test().catch((error: unknown) => {
    throw new Error(`test() must answer { ok: false, message }, and throws: ${String(error)}`, { cause: error });
  });
  const tested = await endsWithin(testing, END_MS_MAX, 'test() does not end when the vendor is away.');
  requireThat(!tested.ok, 'test() says that all is well while the vendor is away.');
  requireThat(tested.message.length > 1, 'test() does not say what is wrong.');
}

async function asksBeforeSending({ vendor, driver }: World): Promise<void> {
  const error = await failureOf(driver, { ...messageTo('left'), mayStillLeave: () => Promise.resolve(false) });
  requireThat(
    error.kind === 'unavailable',
    `mayStillLeave() said no, and send() throws "${error.kind}"; it must be "unavailable".`,
  );
  requireThat(vendor.taken().length === 0, 'mayStillLeave() said no, and the message was sent.');
}

async function knowsSmtpUtf8({ driver }: World): Promise<void> {
  const envelope = { from: 'bounce@house.test', to: 'jürgen@there.test' };
  const ended = await driver.send({ ...messageTo('utf8'), needsSmtpUtf8: true, envelope }).then(
    () => undefined,
    (error: unknown) => error,
  );
  const isRefusal = ended instanceof SendingError && ended.kind === 'refused' && ended.enhancedStatus === '5.6.7';
  requireThat(
    ended === undefined || isRefusal,
    `It must be sent, or refused with the status 5.6.7; it ended with: ${String(ended)}`,
  );
}

async function preparesSenders({ vendor, driver }: World): Promise<void> {
  if (!driver.prepareSender) return;
  const prepare = async () => {
    const ending = driver.prepareSender?.('news@house.test').then(
      () => undefined,
      (error: unknown) => error,
    );
    const ended = await endsWithin(Promise.resolve(ending), END_MS_MAX, 'prepareSender() does not end.');
    const isClear = ended === undefined || (ended instanceof SendingError && ended.kind !== 'unknown');
    requireThat(
      isClear,
      `prepareSender() must throw a SendingError that is not "unknown"; it throws: ${String(ended)}`,
    );
  };
  await prepare();
  requireThat(vendor.taken().length === 0, 'prepareSender() sends a message.');
  vendor.behave('is away');
  await prepare();
}

const KIND_OF = {
  refuses: 'refused',
  defers: 'deferred',
  'is away': 'unavailable',
  'never answers': 'unknown',
} as const satisfies Partial<Record<VendorBehaviour, string>>;

function messageTo(name: string): OutgoingMessage {
  return {
    envelope: { from: 'bounce@house.test', to: `${name}@there.test` },
    content: Buffer.from(
      `Subject: ${name}\r\nMessage-ID: <${name}@house.test>\r\n\r\nHello ${name},\r\n.\r\n..two dots\r\nMAIL FROM:<x@y.test>\r\n`,
    ),
    messageId: `<${name}@house.test>`,
    idempotencyKey: `key.${name}`,
    needsSmtpUtf8: false,
  };
}

/** With which the message failed. Throws a sentence when it did not fail, or with something else than a SendingError. */
async function failureOf(driver: SendingDriver, message: OutgoingMessage): Promise<SendingError> {
  const failing = driver.send(message).then(
    (result) => new Error(`send() resolves although the message was not accepted: ${JSON.stringify(result)}`),
    (error: unknown) =>
      error instanceof SendingError ? error : new Error(`send() throws what is no SendingError: ${String(error)}`),
  );
  const error = await endsWithin(failing, END_MS_MAX, 'send() does not end.');
  if (!(error instanceof SendingError)) throw error;
  return error;
}

async function sendAll(driver: SendingDriver, names: readonly string[]) {
  return endsWithin(Promise.all(names.map((name) => driver.send(messageTo(name)))), END_MS_MAX, 'send() does not end.');
}

function sendsUnchanged({ releasesContent, sendsParts, addsHeaders, replacesReturnPath }: SendingDriverRegistration) {
  return async ({ vendor, driver }: World): Promise<void> => {
    const message = messageTo('one');
    const sent = Buffer.from(message.content).toString();
    const result = await endsWithin(driver.send(message), END_MS_MAX, 'send() does not end.');
    requireThat(Buffer.from(message.content).toString() === sent, 'send() changes the bytes of the content.');
    // The host uses these bytes again.
    if (releasesContent) message.content.fill(0);
    const [taken, ...more] = vendor.taken();
    requireThat(
      taken !== undefined && more.length === 0,
      `The vendor has taken ${vendor.taken().length} messages; it must be one.`,
    );
    requireThat(taken.to === message.envelope.to, `The vendor has taken it for "${taken.to}".`);
    requireThat(
      replacesReturnPath === true || taken.from === undefined || taken.from === message.envelope.from,
      `The sender of the envelope is "${taken.from}": bounces do not come back. If the vendor reports them, say replacesReturnPath.`,
    );
    const isWhole = sendsParts
      ? bodyLines(sent).every((line) => taken.content.includes(line))
      : taken.content === sent || (addsHeaders === true && taken.content.endsWith(`\r\n${sent}`));
    requireThat(isWhole, `The vendor has other content: ${JSON.stringify(taken.content)}`);
    requireThat(
      result.runtimeMessageId === taken.id,
      `runtimeMessageId is "${result.runtimeMessageId}"; the vendor's reports name "${taken.id}".`,
    );
    requireThat(
      typeof result.reply === 'string' && result.reply !== '',
      'reply must be the vendor’s answer: the ledger keeps it.',
    );
  };
}

async function keepsToCapacity({ vendor, driver }: World): Promise<void> {
  const { capacity } = driver;
  requireThat(
    Number.isInteger(capacity) && capacity >= 1,
    `capacity is ${capacity}; it must be a whole number from 1.`,
  );
  vendor.behave('slow');
  const names = Array.from({ length: capacity }, (_, index) => `many${index}`);
  await sendAll(driver, names);
  const { most } = vendor.connections();
  requireThat(most <= CONNECTIONS_MAX, `It opens ${most} connections; connectionsMax is ${CONNECTIONS_MAX}.`);
  const arrived = vendor
    .taken()
    .map(({ to }) => to)
    .toSorted();
  const expected = names.map((name) => `${name}@there.test`).toSorted();
  requireThat(
    JSON.stringify(arrived) === JSON.stringify(expected),
    `Of ${names.length} messages at once ${arrived.length} arrived.`,
  );
}

/** Of a message whose driver sends parts: the vendor has at least each line of the text. */
function bodyLines(message: string): readonly string[] {
  return message
    .slice(message.indexOf('\r\n\r\n'))
    .split('\r\n')
    .filter((line) => line !== '');
}

function failsAs({ secretKeys }: SendingDriverRegistration, how: keyof typeof KIND_OF): Check {
  return async ({ vendor, driver }) => {
    vendor.behave(how);
    const error = await failureOf(driver, messageTo('fails'));
    requireThat(
      error.kind === KIND_OF[how],
      `The vendor ${how}, and send() throws "${error.kind}"; it must be "${KIND_OF[how]}".`,
    );
    requireThat(error.message.length > 1, 'The error does not say what happened.');
    const secrets = secretKeys
      .map((key) => vendor.settings[key])
      .filter((value) => typeof value === 'string' && value !== '');
    for (const secret of secrets)
      requireThat(!error.message.includes(String(secret)), 'The error has a password of the settings in it.');
    const copies = vendor.taken().length;
    const isPossible = how === 'never answers' ? copies <= 1 : copies === 0;
    requireThat(isPossible, `send() throws "${error.kind}", and the vendor has taken ${copies}.`);
    await goesOn({ vendor, driver });
  };
}

/** When the vendor is well again, a message is sent at the second try at the latest. */
async function goesOn({ vendor, driver }: World): Promise<void> {
  vendor.behave('takes');
  const isBack = driver.send(messageTo('back')).then(
    () => true,
    () => false,
  );
  if (!(await endsWithin(isBack, END_MS_MAX, 'send() does not end.'))) await sendAll(driver, ['again']);
}

async function closes({ vendor, driver }: World): Promise<void> {
  vendor.behave('slow');
  const amount = Math.min(driver.capacity, CONNECTIONS_MAX);
  const names = Array.from({ length: amount }, (_, index) => `last${index}`);
  const sending = sendAll(driver, names).then(
    () => undefined,
    (error: unknown) => error,
  );
  await requireSoon(() => vendor.connections().ever > 0, 'send() opens no connection.', END_MS_MAX);
  await endsWithin(driver.close(), END_MS_MAX, 'close() does not end.');
  requireThat((await sending) === undefined, `close() does not finish messages in flight: ${String(await sending)}`);
  requireThat(
    vendor.taken().length === amount,
    `After close() the vendor has taken ${vendor.taken().length} of ${amount} messages.`,
  );
  await requireSoon(() => vendor.connections().now === 0, 'close() leaves a connection open.', END_MS_MAX);
  const error = await failureOf(driver, messageTo('late'));
  requireThat(error.kind === 'unavailable', `After close() send() throws "${error.kind}"; it must be "unavailable".`);
}

async function arrivesOnce({ vendor, driver }: World): Promise<void> {
  vendor.behave('never answers');
  const error = await failureOf(driver, messageTo('twice'));
  requireThat(error.kind === 'unknown', `send() throws "${error.kind}" when no answer comes; it must be "unknown".`);
  vendor.behave('takes');
  // The vendor may have ended the connection meanwhile.
  for (let tries = 0; tries < 3; tries++)
    if (
      await driver.send(messageTo('twice')).then(
        () => true,
        () => false,
      )
    )
      break;
  const copies = vendor.taken().length;
  requireThat(
    copies === 1,
    `A message with the same idempotencyKey was taken ${copies} times: does it reach the vendor?`,
  );
}

async function changesConnections({ vendor, driver }: World): Promise<void> {
  requireThat(driver.useConnections !== undefined, 'It has the setting max_connections, and no useConnections().');
  vendor.behave('slow');
  driver.useConnections(1);
  const one = driver.capacity;
  requireThat(one >= 1, `With one connection capacity is ${one}.`);
  await sendAll(
    driver,
    Array.from({ length: one }, (_, index) => `one${index}`),
  );
  requireThat(
    vendor.connections().most <= 1,
    `useConnections(1), and ${vendor.connections().most} connections are open.`,
  );
  driver.useConnections(CONNECTIONS_MAX);
  requireThat(driver.capacity >= one, 'capacity becomes smaller with more connections.');
}
