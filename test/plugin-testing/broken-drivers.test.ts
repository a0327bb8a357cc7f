/** The conformance suite for drivers finds what is wrong: a driver that breaks one rule fails that rule. */
import { expect, test } from 'vitest';
import { SendingError, type SendingDriver, type SendingDriverRegistration } from '../../src/plugin-api/index.ts';
import { sendingDriverConformance } from '../../src/plugin-testing/sending-driver-conformance.ts';
import { brokenRules } from '../support/broken-rules.ts';
import { HttpDriver, httpDriver } from '../support/http-driver.ts';
import { API_KEY, startHttpVendor, vendorReports } from '../support/http-vendor.ts';

const conformance = {
  startVendor: startHttpVendor,
  wrongSettings: { url: 'no url', api_key: '' },
  webhook: { settings: { url: 'http://127.0.0.1:1/', api_key: API_KEY }, cases: vendorReports() },
};

const broken = (registration: SendingDriverRegistration) =>
  brokenRules(sendingDriverConformance(registration, conformance));

/** The right driver with some members of its connections replaced. */
function withDriver(change: (driver: HttpDriver) => Partial<SendingDriver>): SendingDriverRegistration {
  return {
    ...httpDriver,
    connect({ url, api_key: key }, options) {
      const driver = new HttpDriver(String(url), String(key), options);
      const right: SendingDriver = {
        capacity: driver.capacity,
        send: (message) => driver.send(message),
        test: () => driver.test(),
        close: () => driver.close(),
      };
      return { ...right, ...change(driver) };
    },
  };
}

/** As the right driver, but errors are turned into others. */
function withError(turn: (error: SendingError) => unknown): SendingDriverRegistration {
  return withDriver((driver) => ({
    send: (message) =>
      driver.send(message).catch((error: unknown) => {
        throw error instanceof SendingError ? turn(error) : error;
      }),
  }));
}

test('a right driver keeps all rules', async () => {
  expect(await broken(httpDriver)).toEqual({});
});

const { validate, webhook } = httpDriver;
if (!webhook) throw new Error('The right driver has a webhook.');
const RULE_OF: Readonly<Record<string, readonly [rule: string, SendingDriverRegistration]>> = {
  'a secret that is no setting': ['the registration fits together', { ...httpDriver, secretKeys: ['password'] }],
  'reports that need what is no setting': [
    'the registration fits together',
    { ...httpDriver, reportKeys: ['signing_key'] },
  ],
  'a setting of its own': [
    'validate() takes the settings, and its result once more',
    {
      ...httpDriver,
      validate(input) {
        const checked = validate(input);
        return checked.ok ? { ok: true, settings: { ...checked.settings, more: 1 } } : checked;
      },
    },
  ],
  'a fault under another name': [
    'validate() names each wrong setting by its key',
    {
      ...httpDriver,
      validate(input) {
        const checked = validate(input);
        return checked.ok ? checked : { ok: false, errors: { url: ['Something is wrong.'] } };
      },
    },
  ],
  'a validate() that throws': [
    'validate() never throws',
    { ...httpDriver, validate: (input) => validate({ ...input, url: new URL(String(input['url'])).href }) },
  ],
  'a connection before it is needed': ['connect() opens nothing', withDriver((driver) => (void driver.test(), {}))],
  'a test() without a question': [
    'test() asks the vendor, and sends nothing',
    withDriver(() => ({ test: async () => ({ ok: true }) })),
  ],
  'a test() that throws': [
    'test() says that the vendor is away',
    withDriver((driver) => ({
      async test() {
        const tested = await driver.test();
        if (!tested.ok) throw new Error(tested.message);
        return tested;
      },
    })),
  ],
  'a prepareSender() that sends': [
    'prepareSender(), where there is one, sends nothing, and throws only what can be classified',
    withDriver((driver) => ({
      async prepareSender(from) {
        const envelope = { from, to: 'test@there.test' };
        const content = Buffer.from('Subject: x\r\n\r\nx\r\n');
        await driver.send({ envelope, content, messageId: '<x@y>', idempotencyKey: 'x', needsSmtpUtf8: false });
      },
    })),
  ],
  'a prepareSender() that throws anything': [
    'prepareSender(), where there is one, sends nothing, and throws only what can be classified',
    withDriver(() => ({ prepareSender: () => Promise.reject(new Error('no')) })),
  ],
  'an id of its own': [
    'send() hands a message over once, unchanged, and returns the id that reports will name',
    withDriver((driver) => ({
      send: async (message) => ({ ...(await driver.send(message)), runtimeMessageId: message.messageId }),
    })),
  ],
  'changed content': [
    'send() hands a message over once, unchanged, and returns the id that reports will name',
    withDriver((driver) => ({ send: (message) => driver.send({ ...message, content: Buffer.from('changed') }) })),
  ],
  'more connections than allowed': [
    'it takes as many messages at once as its capacity, on no more connections than allowed',
    {
      ...httpDriver,
      connect: ({ url, api_key: key }, options) =>
        new HttpDriver(String(url), String(key), { ...options, connectionsMax: options.connectionsMax + 3 }),
    },
  ],
  'a failure that resolves': [
    'send() throws refused when the vendor refuses',
    withDriver((driver) => ({
      send: (message) => driver.send(message).catch(() => ({ runtimeMessageId: '', reply: 'failed' })),
    })),
  ],
  'an error of its own kind': [
    'send() throws deferred when the vendor defers',
    withError(({ message }) => new Error(message)),
  ],
  'a vendor that is away taken for a refusal': [
    'send() throws unavailable when the vendor is away',
    withError((error) => (error.kind === 'unavailable' ? new SendingError('refused', error.message) : error)),
  ],
  'no answer taken for "not sent"': [
    'send() throws unknown when the vendor never answers',
    withError((error) => (error.kind === 'unknown' ? new SendingError('unavailable', error.message) : error)),
  ],
  'a secret in an error': [
    'send() throws refused when the vendor refuses',
    withError(({ kind, message }) => new SendingError(kind, `${message} (${API_KEY})`)),
  ],
  'a message that should not have left': [
    'a message that may no longer be sent is not sent',
    withDriver((driver) => ({ send: ({ mayStillLeave: _, ...message }) => driver.send(message) })),
  ],
  'another status for SMTPUTF8': [
    'a message that needs SMTPUTF8 is sent, or refused with 5.6.7',
    withDriver((driver) => ({
      send: (message) =>
        message.needsSmtpUtf8 ? Promise.reject(new SendingError('deferred', 'Not now.')) : driver.send(message),
    })),
  ],
  'a close() that waits for nothing': [
    'close() finishes what was handed over, closes all connections, and ends sending',
    withDriver((driver) => ({ close: async () => driver.agent.destroy() })),
  ],
  'an idempotencyKey that does not reach the vendor': [
    'a message that is repeated with its idempotencyKey arrives once',
    withDriver((driver) => {
      let count = 0;
      return { send: (message) => driver.send({ ...message, idempotencyKey: `${count++}` }) };
    }),
  ],
  'no useConnections()': [
    'useConnections() changes how many connections there are',
    { ...httpDriver, configKeys: [...httpDriver.configKeys, 'max_connections'] },
  ],
  'a vendor that is not believed': [
    'webhook: what the vendor has signed is genuine',
    { ...httpDriver, webhook: { ...webhook, verify: () => false } },
  ],
  'everybody is believed': [
    'webhook: what others post is not',
    { ...httpDriver, webhook: { ...webhook, verify: () => true } },
  ],
  'an event that is dropped': [
    'webhook: its events are told, each with its id and message',
    {
      ...httpDriver,
      webhook: {
        ...webhook,
        parse: async (...given) => (await webhook.parse(...given)).filter(({ kind }) => kind !== 'ignored'),
      },
    },
  ],
};

test.each(Object.entries(RULE_OF))('%s is found', async (_what, [rule, registration]) => {
  expect(Object.keys(await broken(registration))).toContain(rule);
});

test('each rule is broken by one of these drivers', async () => {
  const { webhook: _, ...others } = httpDriver;
  const rules = sendingDriverConformance({ ...others, ...httpDriver, configKeys: ['max_connections'] }, conformance);
  const found = new Set(Object.values(RULE_OF).map(([rule]) => rule));
  const untested = rules.map(({ name }) => name).filter((name) => !found.has(name));
  // It is about the cases that the test gives.
  expect(untested).toEqual(['webhook: an event of an unknown kind is told as ignored']);
});

test('a webhook without an unknown event in its cases is not enough', async () => {
  const cases = vendorReports().map((one) => ({ ...one, events: one.events.slice(0, 1) }));
  const rules = sendingDriverConformance(httpDriver, { ...conformance, webhook: { ...conformance.webhook, cases } });
  const rule = rules.find(({ name }) => name.includes('unknown kind'));
  await expect(rule?.check()).rejects.toThrow('add one');
});
