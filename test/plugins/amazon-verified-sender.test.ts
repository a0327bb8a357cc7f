/** What Amazon SES must have said before a sender stops a campaign, and what it must not. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/amazon/index.ts';
import { openOutboundPool } from '../../src/lib/outbound-pool.ts';
import type { DriverSettings, SettingsInput } from '../../src/plugin-api/index.ts';
import { afterFile } from '../support/after-file.ts';
import type { ApiAnswer, ApiRequest } from '../support/api-vendor.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';
import { sesError, startSesVendor } from '../support/ses-vendor.ts';
import { driverFor } from '../support/whole-message.ts';

const api = driverOf(plugin, 'amazon-api');
const vendor = await startSesVendor({ identities: ['user@else.test', 'a.b.c.d.house.test'] });
const driver = driverFor(api, vendor);
afterFile(async () => {
  await driver.close();
  await vendor.close();
});

test('a verified address is so with labels, and another is not', async () => {
  await driver.prepareSender?.('user+news+more@else.test');
  await expect(driver.prepareSender?.('other+user@else.test')).rejects.toMatchObject({
    ...{ kind: 'refused', about: 'sender' },
  });
  await expect(driver.prepareSender?.('+user@else.test')).rejects.toMatchObject({ kind: 'refused' });
});

test('the domain itself is asked about when it has many parts, or nobody is', async () => {
  await driver.prepareSender?.('news@a.b.c.d.house.test');
  const before = vendor.requests().length;
  await driver.prepareSender?.('news@a.b.c.d.stranger.test');
  expect(vendor.requests()).toHaveLength(before);
  await expect(driver.prepareSender?.('news@c.d.stranger.test')).rejects.toMatchObject({ kind: 'refused' });
});

test('a page of a proxy that says 404 is not SES', async () => {
  const headers = { 'content-type': 'text/html' };
  vendor.answerOthersBy(() => ({ status: 404, headers, body: '<html>nginx: not found</html>' }));
  await driver.prepareSender?.('news@stranger.test');
  vendor.answerOthersBy(() => sesError(404, 'NotFoundException', 'Email identity does not exist.'));
  await expect(driver.prepareSender?.('news@stranger.test')).rejects.toMatchObject({ kind: 'refused' });
  vendor.answerOthersBy(undefined);
});

test('no answer says nothing, whether the question was sent or not', async () => {
  // It takes the question and says nothing.
  const silent = createServer();
  afterFile(() => void silent.close());
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const address = silent.address();
  for (const port of [1, typeof address === 'object' ? address?.port : 0]) {
    const settings = { ...vendor.settings, endpoint: `http://127.0.0.1:${port}` };
    const hasty = api.connect(valid(settings), { ...OPTIONS, replyTimeoutMs: 100 });
    await hasty.prepareSender?.('news@stranger.test');
    await hasty.close();
  }
});

const OPTIONS = { connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: 60_000, openHttp: openOutboundPool };

function valid(settings: SettingsInput): DriverSettings {
  const checked = api.validate(settings);
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  return checked.settings;
}

function listed(answer: (request: ApiRequest) => ApiAnswer) {
  vendor.answerOthersBy(answer);
  return api.identities?.(valid(vendor.settings), OPTIONS).list();
}
const identity = (IdentityName: string, more: object) => ({ IdentityType: 'DOMAIN', IdentityName, ...more });
const page = (EmailIdentities: readonly object[], NextToken?: string): ApiAnswer => ({
  status: 200,
  body: { EmailIdentities, NextToken },
});

test('the list has all pages, each signed, or none', async () => {
  const two = await listed(({ query }) =>
    query.get('NextToken') === 'a+b/c=='
      ? page([identity('two.test', { SendingEnabled: true })])
      : page([identity('one.test', { SendingEnabled: true })], 'a+b/c=='),
  );
  expect(two?.map(({ name }) => name)).toEqual(['one.test', 'two.test']);
  const many = Array.from({ length: 600 }, (_, no) => identity(`d${no}.test`, { SendingEnabled: true }));
  expect(await listed(() => page(many, 'more'))).toHaveLength(1_000);
  await expect(listed(() => page([], 'more'))).rejects.toThrow('has not shown all identities');
});

test.each([
  [{ SendingEnabled: true, VerificationStatus: 'TEMPORARY_FAILURE' }, true],
  [{ SendingEnabled: false, VerificationStatus: 'SUCCESS' }, false],
  [{ VerificationStatus: 'SUCCESS' }, true],
  [{ VerificationStatus: 'PENDING' }, false],
  [{}, false],
])('%j may send: %s', async (more, isVerified) => {
  expect(await listed(() => page([identity('house.test', more)]))).toMatchObject([{ isVerified }]);
});

test('one template too many says what to do', async () => {
  vendor.answerOthersBy(() => sesError(400, 'LimitExceededException', 'You have reached the limit of templates.'));
  const identities = api.identities?.(valid(vendor.settings), OPTIONS);
  const mail = { fromEmail: 'news@house.test', subject: 'Is this you?', html: '<p>Please confirm.</p>' };
  const pages = { successUrl: 'https://house.test/yes', failureUrl: 'https://house.test/no' };
  await expect(identities?.addWithMail?.('ann@else.test', { ...mail, ...pages })).rejects.toThrow(
    /at most 50.*delete-custom-verification-email-template/s,
  );
});
