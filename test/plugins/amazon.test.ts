/** What arrives at Amazon SES, what a test of the settings says, and which reports are believed. */
import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { signed } from '../../plugins/mailwright/amazon/signature-v4.ts';
import { pluginFetch } from '../../src/app/plugin-fetch.ts';
import { openOutboundPool } from '../../src/lib/outbound-pool.ts';
import { NO_RIGHTS, SendingError, WebhookBusyError, type OutgoingMessage } from '../../src/plugin-api/index.ts';
import { connectSmtpFor, driverOf, smtpSettingsOf } from '../support/drivers-of-plugin.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { published } from '../support/ses-events.ts';
import {
  SES_KEY,
  SES_REGION,
  SES_SET,
  SES_TOPIC,
  sesError,
  startSesVendor,
  type SesAccount,
} from '../support/ses-vendor.ts';
import { amazonWith, SNS_ORIGIN, startSns, type Sns, type SnsOptions } from '../support/sns.ts';
import { testCertificate } from '../support/test-certificate.ts';

const options = { connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: 60_000, openHttp: openOutboundPool };

async function open(account?: SesAccount, more: object = {}) {
  const vendor = await startSesVendor(account);
  const driver = driverOf(amazonWith(startSns()), 'amazon-api');
  const checked = driver.validate({ ...vendor.settings, ...more });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const connected = driver.connect(checked.settings, options);
  onTestFinished(async () => {
    await connected.close();
    await vendor.close();
  });
  return { vendor, driver: connected };
}

const content = [
  'From: House <news@house.test>',
  'To: Anna <anna@there.test>',
  'Subject: {{subject}} for {name}',
  'Message-ID: <mail.k1@house.test>',
  'List-Unsubscribe: <https://house.test/u>',
  'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
  'Feedback-ID: c1:house',
  'Content-Type: multipart/related; boundary=b',
  '',
  '--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>{{ name }} %recipient.name% ü <img src="cid:logo"></p>',
  '--b\r\nContent-Type: image/png\r\nContent-ID: <logo>\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n--b--\r\n',
].join('\r\n');

const message: OutgoingMessage = {
  envelope: { from: 'bounce@house.test', to: 'anna@there.test' },
  content: Buffer.from(content),
  messageId: '<mail.k1@house.test>',
  idempotencyKey: 'mail.k1',
  needsSmtpUtf8: false,
};

test('a message arrives byte by byte, with our id as a tag and the configuration set', async () => {
  const { vendor, driver } = await open();
  // A part of a larger piece of memory.
  const whole = Buffer.from(`before${content}after`);
  await driver.send({ ...message, content: whole.subarray(6, whole.length - 5) });
  expect(vendor.taken()).toMatchObject([{ to: 'anna@there.test', content }]);
  const [request] = vendor.requests();
  expect(JSON.parse(String(request?.body))).toEqual({
    Destination: { ToAddresses: ['anna@there.test'] },
    Content: { Raw: { Data: Buffer.from(content).toString('base64') } },
    EmailTags: [{ Name: 'mailwright_id', Value: 'mail-k1' }],
    ConfigurationSetName: SES_SET,
  });
});

test('the signature is that of the examples of AWS', () => {
  const key = {
    ...{ id: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' },
    ...{ region: 'us-east-1', service: 'service' },
  };
  const request = { path: '/', host: 'example.amazonaws.com', at: new Date('2015-08-30T12:36:00Z') };
  const of = (method: 'GET' | 'POST') => signed({ ...request, method }, key).headers?.['Authorization'];
  const scope = 'Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date';
  expect(of('GET')).toBe(
    `AWS4-HMAC-SHA256 ${scope}, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31`,
  );
  expect(of('POST')).toBe(
    `AWS4-HMAC-SHA256 ${scope}, Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b`,
  );
});

test('a message that is too large is refused before it leaves', async () => {
  const { vendor, driver } = await open();
  const large = driver.send({ ...message, content: Buffer.alloc(30 * 1_048_576, 'a') });
  await expect(large).rejects.toMatchObject({ kind: 'refused', about: 'message' });
  expect(vendor.requests()).toEqual([]);
});

test('an account in the sandbox is told from a sender that is not verified', async () => {
  const { vendor, driver } = await open();
  const unverified = (who: string) =>
    sesError(
      400,
      'MessageRejected',
      `Not verified. The following identities failed the check in region EU-WEST-1: ${who}`,
    );
  vendor.script([unverified('Anna <ANNA@there.test>'), unverified('news@house.test, anna@there.test')]);
  const failures = [await driver.send(message).catch((error: unknown) => error)];
  failures.push(await driver.send(message).catch((error: unknown) => error));
  expect(failures).toMatchObject([
    { kind: 'unavailable', about: 'blocked', message: expect.stringContaining('sandbox') },
    { kind: 'refused', about: 'sender' },
  ]);
  expect(failures.every((error) => error instanceof SendingError)).toBe(true);
});

const quota = { Max24HourSend: 200, SentLast24Hours: 200, MaxSendRate: 1 };
test.each<[string, SesAccount, object, string | undefined]>([
  ['all is well', {}, {}, undefined],
  ['in the sandbox', { account: { ProductionAccessEnabled: false } }, {}, undefined],
  ['without a limit', { account: { SendQuota: { ...quota, Max24HourSend: -1 } } }, {}, undefined],
  ['a wrong key', {}, { access_key_id: 'AKIAOTHEROTHEROTHERO' }, 'does not know the access key'],
  ['a wrong secret', {}, { secret_access_key: 'wrong' }, 'the secret access key is wrong, or the clock'],
  ['suspended', { account: { EnforcementStatus: 'SHUTDOWN' } }, {}, 'has suspended the account in eu-west-1'],
  ['paused', { account: { SendingEnabled: false } }, {}, 'Sending is paused for the account'],
  ['used up', { account: { SendQuota: quota } }, {}, 'limit of 200 messages in 24 hours is used up'],
  ['a wrong region', { identities: [] }, {}, 'no domain and no address in eu-west-1'],
  ['a wrong set', {}, { configuration_set: 'other' }, 'no configuration set other in eu-west-1'],
  [
    ...(['a paused set', { sets: { [SES_SET]: { SendingOptions: { SendingEnabled: false } } } }] as const),
    ...([{}, 'paused for the configuration set'] as const),
  ],
  ['something else', { account: { SendingEnabled: 'yes' } }, {}, 'is the endpoint right?'],
])('the test of the settings: %s', async (_name, account, more, said) => {
  const { vendor, driver } = await open(account, more);
  const expected = said === undefined ? { ok: true } : { ok: false, message: expect.stringContaining(said) };
  expect(await driver.test()).toEqual(expected);
  expect(vendor.taken()).toEqual([]);
});

test('the domains and addresses of the account are shown, added and looked at', async () => {
  const { vendor } = await open();
  const driver = driverOf(amazonWith(startSns()), 'amazon-api');
  const checked = driver.validate(vendor.settings);
  const identities = checked.ok ? driver.identities?.(checked.settings, options) : undefined;
  const house = { kind: 'domain', name: 'house.test', isVerified: true, status: 'SUCCESS', records: [] };
  expect(await identities?.list()).toEqual([house]);
  const records = (isFound: boolean | null) =>
    ['aaa', 'bbb', 'ccc'].map((token) => ({
      ...{
        type: 'CNAME',
        name: `${token}._domainkey.news.test`,
        value: `${token}.dkim.eu-west-1.amazonses.com`,
        isFound,
      },
    }));
  const domain = { kind: 'domain', name: 'news.test' } as const;
  const pending = { ...domain, isVerified: false, status: 'PENDING', records: records(null) };
  expect(await identities?.add(domain)).toEqual(pending);
  expect(await identities?.check(domain)).toEqual(pending);
  expect(await identities?.check(domain)).toEqual({
    ...domain,
    isVerified: true,
    status: 'SUCCESS',
    records: records(true),
  });
  // Encoded twice for the signature.
  const email = { kind: 'email', name: "o'neil+a%b@news.test" } as const;
  expect(await identities?.add(email)).toEqual({ ...email, isVerified: false, status: 'PENDING', records: [] });
  expect(await identities?.check(email)).toMatchObject({ ...email, isVerified: false });
  expect(await identities?.list()).toHaveLength(3);
  await expect(identities?.add(domain)).rejects.toThrow(
    '400 AlreadyExistsException: Email identity news.test already exist.',
  );
  await expect(identities?.check({ kind: 'domain', name: 'other.test' })).rejects.toThrow('does not exist');
});

test('SMTP: headers of SES carry our id and the set, and the id of the reply is that of events', async () => {
  const id = '0102018f3a5b7c9d-bbbbbbbb-1111-2222-3333-444444444444-000000';
  await using server = await scriptedSmtpServer({
    extensions: ['AUTH PLAIN'],
    answer: ({ verb }) => (verb === 'AUTH' ? '235 in' : verb === 'CONTENT' ? `250 Ok ${id}` : undefined),
  });
  const driver = driverOf(amazonWith(startSns()), 'amazon-smtp');
  const checked = driver.validate({
    ...{ host: '127.0.0.1', port: server.port, encryption: 'none', username: 'AKIA', password: 'p' },
    configuration_set: SES_SET,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const connected = driver.connect(checked.settings, { ...options, connectSmtp: connectSmtpFor(options) });
  expect(await connected.send(message)).toMatchObject({ runtimeMessageId: id });
  await connected.close();
  const [taken] = server.accepted;
  const lines = `X-SES-MESSAGE-TAGS: mailwright_id=mail-k1\r\nX-SES-CONFIGURATION-SET: ${SES_SET}\r\n`;
  expect(Buffer.from(taken?.content ?? '', 'latin1').toString()).toBe(`${lines}${content}`);
  expect(smtpSettingsOf(driver, { region: 'eu-west-1', username: 'a', password: 'b' })).toMatchObject({
    ...{ host: 'email-smtp.eu-west-1.amazonaws.com', port: 587, encryption: 'starttls' },
  });
});

function receiver(sns: Sns) {
  const { webhook } = driverOf(amazonWith(sns), 'amazon-api');
  if (!webhook) throw new Error('There is no webhook.');
  return webhook;
}

const settings = { region: SES_REGION, ...SES_KEY, sns_topic_arn: SES_TOPIC };
const delivery = published('Delivery');
const isTaken = (sns: Sns, how: SnsOptions, given: Readonly<Record<string, string>> = settings) =>
  receiver(sns).verify(sns.notification(delivery, how), given);

test('genuine messages of both versions are taken; the certificate is fetched once', async () => {
  const sns = startSns();
  const webhook = receiver(sns);
  for (const version of ['1', '2', '2'] as const)
    expect(await webhook.verify(sns.notification(delivery, { version }), settings)).toBe(true);
  expect(sns.fetched).toHaveLength(1);
});

const FOREIGN = SES_TOPIC.replace('123456789012', '210987654321');
const certificate = (url: string): SnsOptions => ({ altered: { SigningCertURL: url } });
test.each<[string, SnsOptions]>([
  ['a foreign topic, rightly signed', { fields: { TopicArn: FOREIGN } }],
  [
    'a foreign topic whose name was changed after signing',
    { fields: { TopicArn: FOREIGN }, altered: { TopicArn: SES_TOPIC } },
  ],
  ['the key of somebody else', { by: testCertificate() }],
  ['a changed text', { altered: { Message: JSON.stringify(published('Bounce')) } }],
  ['a subject that was added', { altered: { Subject: 'x' } }],
  ['another version than it was signed with', { version: '1', altered: { SignatureVersion: '2' } }],
  ['a version that does not exist', { altered: { SignatureVersion: '3' } }],
  ['a signature that is no text', { altered: { Signature: 5 } }],
  ['headers of another message', { headers: { 'x-amz-sns-message-id': 'other' } }],
  ['headers of another kind', { headers: { 'x-amz-sns-message-type': 'SubscriptionConfirmation' } }],
  ['a time that is no time', { fields: { Timestamp: 'yesterday' } }],
  ['a time in the past', { fields: { Timestamp: new Date(Date.now() - 7 * 3_600_000).toISOString() } }],
  ['a time in the future', { fields: { Timestamp: new Date(Date.now() + 3_600_000).toISOString() } }],
  ...[
    'https://evil.test/SimpleNotificationService-1.pem',
    'https://sns.eu-west-1.amazonaws.com.evil.test/SimpleNotificationService-1.pem',
    'https://bucket.s3.amazonaws.com/SimpleNotificationService-1.pem',
    'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-1.pem',
    'http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem',
    'https://sns.eu-west-1.amazonaws.com:8443/SimpleNotificationService-1.pem',
    'https://user@evil.test#sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem',
    'https://sns.eu-west-1.amazonaws.com/other.pem',
    'https://sns.eu-west-1.amazonaws.com/?Action=GetTopicAttributes',
    'no address',
  ].map((url): [string, SnsOptions] => [`a certificate at ${url}`, certificate(url)]),
])('is refused: %s', async (_name, how) => {
  const sns = startSns();
  expect(await isTaken(sns, how)).toBe(false);
  expect(sns.fetched.filter((url) => !url.startsWith(`${SNS_ORIGIN}/SimpleNotificationService-0`))).toEqual([]);
});

test('without a topic in the settings nothing is taken, and nothing fetched', async () => {
  const sns = startSns();
  expect(await isTaken(sns, {}, {})).toBe(false);
  expect(await isTaken(sns, {}, { sns_topic_arn: FOREIGN })).toBe(false);
  expect(sns.fetched).toEqual([]);
});

test('a certificate that is over, or not yet valid, proves nothing', async () => {
  const over = startSns({ certificate: testCertificate({ to: '250101' }) });
  const early = startSns({ certificate: testCertificate({ from: '400101' }) });
  expect([await isTaken(over, {}), await isTaken(early, {})]).toEqual([false, false]);
});

test('while the certificate cannot be had SNS is asked to come again; then it is taken', async () => {
  const sns = startSns();
  const webhook = receiver(sns);
  const request = sns.notification(delivery);
  sns.answer(new Error('There was no answer.'), 503, 404, 'no certificate');
  await expect(webhook.verify(request, settings)).rejects.toThrow(WebhookBusyError);
  await expect(webhook.verify(request, settings)).rejects.toThrow(WebhookBusyError);
  expect(await webhook.verify(request, settings)).toBe(false);
  expect(await webhook.verify(request, settings)).toBe(false);
  expect(await webhook.verify(request, settings)).toBe(true);
});

test('somebody who names many certificates causes few requests', async () => {
  const sns = startSns();
  const webhook = receiver(sns);
  sns.answer(...Array.from({ length: 30 }, () => 404));
  const asked = Array.from({ length: 40 }, (_, index) =>
    Promise.resolve(
      webhook.verify(
        sns.notification(delivery, certificate(`${SNS_ORIGIN}/SimpleNotificationService-${index}.pem`)),
        settings,
      ),
    ).catch((error: unknown) => error),
  );
  const ended = await Promise.all(asked);
  expect(sns.fetched).toHaveLength(30);
  expect(ended.filter((one) => one === false)).toHaveLength(30);
  expect(ended.filter((one) => one instanceof WebhookBusyError)).toHaveLength(10);
});

test('a subscription of the topic is confirmed; any other is not', async () => {
  const sns = startSns();
  const webhook = receiver(sns);
  const confirmed = async (how: SnsOptions) => {
    const request = sns.confirmation(how);
    if (!(await webhook.verify(request, settings))) return 'refused';
    await webhook.parse(request, settings);
    return 'confirmed';
  };
  expect(await confirmed({})).toBe('confirmed');
  const url = `${SNS_ORIGIN}/?Action=ConfirmSubscription&TopicArn=${SES_TOPIC}&Token=${'a'.repeat(60)}`;
  expect(sns.fetched.slice(1)).toEqual([url]);
  expect(await confirmed({ fields: { TopicArn: FOREIGN, SubscribeURL: url.replace(SES_TOPIC, FOREIGN) } })).toBe(
    'refused',
  );
  const wrong = [
    url.replace(SNS_ORIGIN, 'https://evil.test'),
    url.replace('https:', 'http:'),
    url.replace(SES_TOPIC, FOREIGN),
    url.replace('ConfirmSubscription', 'DeleteTopic'),
    'no address',
  ];
  for (const SubscribeURL of wrong)
    await expect(confirmed({ fields: { SubscribeURL } })).rejects.toThrow('not one of the topic');
  expect(sns.fetched.slice(2)).toEqual([]);
  sns.answer(500, 403, new Error('away'));
  await expect(confirmed({})).rejects.toThrow(WebhookBusyError);
  await expect(confirmed({})).rejects.toThrow('ask for another confirmation');
  await expect(confirmed({})).rejects.toThrow(WebhookBusyError);
});

test.each(['{}', '[]', 'null', '"x"', '{"Type":"Notification"}', '', '\0', '{"Type":', '\ufeff{}'])(
  'is no message of SNS: %j',
  async (text) => {
    const request = { ...startSns().notification(delivery), body: Buffer.from(text) };
    const webhook = receiver(startSns());
    expect(await webhook.verify(request, settings)).toBe(false);
    await expect(webhook.parse(request, settings)).rejects.toThrow('no message of SNS');
  },
);

test('an event of another form than documented is refused, not dropped', async () => {
  const sns = startSns();
  const webhook = receiver(sns);
  for (const event of [{ ...published('Bounce'), mail: 'x' }, { ...published('Bounce'), bounce: [] }, [1], 5])
    await expect(webhook.parse(sns.notification(event as object), settings)).rejects.toThrow();
});

test('the manifest lets the plugin call SNS, and nobody else', async () => {
  const file = new URL('../../plugins/mailwright/amazon/package.json', import.meta.url);
  const { hosts } = JSON.parse(readFileSync(file, 'utf8')).mailwright;
  const call = pluginFetch({
    ...{ plugin: 'mailwright/amazon', key: 'mailwright/amazon' as never, rights: { ...NO_RIGHTS, hosts } },
    ...{ use: () => ({ installation: {} }) as never, onEnd: () => {} },
  });
  await expect(call('https://evil.test/')).rejects.toThrow('may not call');
  // There is no such region: the name is not found, or nobody answers.
  const ended = await call('https://sns.xx-nowhere-9.amazonaws.com/', { timeoutMs: 3_000 }).catch(
    (error: Error) => error.message,
  );
  expect(ended).toContain('The call to sns.xx-nowhere-9.amazonaws.com failed');
});
