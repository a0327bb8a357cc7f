/** The senders of an account at Amazon SES, by GraphQL and REST on a running program. */
import { expect, test } from 'vitest';
import { afterFile } from '../support/after-file.ts';
import { startBrevoVendor } from '../support/brevo-vendor.ts';
import { startMailgunVendor } from '../support/mailgun-vendor.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir } from '../support/plugin-folder.ts';
import { programRest } from '../support/program-rest.ts';
import { startProgram } from '../support/program.ts';
import { startSesVendor } from '../support/ses-vendor.ts';
import { createTestDatabase } from '../support/test-database.ts';

const ses = await startSesVendor();
const mailgun = await startMailgunVendor();
const brevo = await startBrevoVendor();
afterFile(async () => {
  await ses.close();
  await mailgun.close();
  await brevo.close();
});
const { url } = await createTestDatabase();
const program = await startProgram({ DATABASE_URL: url, DATA_DIR: newDataDir(), ROLES: 'web' });
const { graphql } = pluginClient(program);

const call = programRest(program);

async function serverOf(type: string, settings: object): Promise<string> {
  const made = await call('POST', '/sending_servers', {
    ...{ name: type, type, default_from_email: 'news@house.test', settings },
  });
  return made.json.sending_server_uid;
}

const uid = await serverOf('amazon-api', ses.settings);
const of = (server: string) => `/sending_servers/${server}/identities`;
const pages = { mail_success_url: 'https://house.test/yes', mail_failure_url: 'https://house.test/no' };
const mail = { mail_subject: 'Is this you?', mail_html: '<p>Please <b>confirm</b>.</p>', ...pages };
const posted = (path: string) =>
  ses
    .requests()
    .filter(({ method, path: asked }) => method === 'POST' && asked === path)
    .map(({ body }) => JSON.parse(body.toString()));

test('REST lists, adds and checks', async () => {
  expect(await call('GET', of(uid))).toMatchObject({
    json: { identities: [{ kind: 'domain', name: 'house.test', verified: true, status: 'SUCCESS', records: [] }] },
  });
  const added = await call('POST', of(uid), { name: 'News.test' });
  expect(added).toMatchObject({ status: 200, json: { identity: { kind: 'domain', verified: false } } });
  expect(added.json.identity.records[0]).toMatchObject({
    type: 'CNAME',
    name: 'aaa._domainkey.news.test',
    found: null,
  });
  await call('POST', `${of(uid)}/check`, { name: 'news.test' });
  expect((await call('POST', `${of(uid)}/check`, { name: 'news.test' })).json.identity).toMatchObject({
    ...{ name: 'news.test', verified: true },
  });
  expect(await call('POST', of(uid), { name: 'no domain' })).toMatchObject({
    ...{ status: 422, json: { errors: { name: [expect.any(String)] } } },
  });
});

test('an address is added with a mail of our own text, by GraphQL and REST', async () => {
  const added = await call('POST', of(uid), { name: 'ann@else.test', ...mail });
  expect(added).toMatchObject({ status: 200, json: { identity: { kind: 'email', name: 'ann@else.test' } } });
  expect(
    await graphql(
      `mutation { it: addSendingServerIdentity(input: { uid: "${uid}", kind: EMAIL, name: "bob@else.test", mailSubject: "${mail.mail_subject}",
        mailHtml: "${mail.mail_html}", mailSuccessUrl: "${pages.mail_success_url}", mailFailureUrl: "${pages.mail_failure_url}" }) {
        ... on SendingServerIdentity { name isVerified } } }`,
    ),
  ).toEqual({ it: { name: 'bob@else.test', isVerified: false } });
  // The same text is one template.
  const [template, again] = posted('/v2/email/custom-verification-email-templates');
  expect(template).toEqual({
    TemplateName: expect.stringMatching(/^mailwright-[0-9a-f]{24}$/),
    ...{ FromEmailAddress: 'news@house.test', TemplateSubject: mail.mail_subject, TemplateContent: mail.mail_html },
    ...{ SuccessRedirectionURL: pages.mail_success_url, FailureRedirectionURL: pages.mail_failure_url },
  });
  expect(again).toEqual(template);
  expect(posted('/v2/email/outbound-custom-verification-emails')).toEqual([
    { EmailAddress: 'ann@else.test', TemplateName: template.TemplateName },
    { EmailAddress: 'bob@else.test', TemplateName: template.TemplateName },
  ]);
});

test('half a mail, one for a domain, one from a stranger and one at a vendor without such mails are refused', async () => {
  const refused = async (server: string, body: object) => (await call('POST', of(server), body)).json;
  const { mail_html: _html, ...half } = mail;
  expect(await refused(uid, { name: 'cid@else.test', ...half })).toMatchObject({
    errors: { mail_html: [expect.any(String)] },
  });
  expect(await refused(uid, { name: 'cid@else.test', ...mail, mail_success_url: 'javascript:x' })).toMatchObject({
    errors: { mail_success_url: [expect.stringContaining('web address')] },
  });
  expect(await refused(uid, { name: 'else.test', ...mail })).toMatchObject({
    errors: { mail_subject: [expect.stringContaining('Only an address gets a mail')] },
  });
  expect(await refused(uid, { name: 'cid@else.test', ...mail, mail_from_email: 'x@stranger.test' })).toMatchObject({
    errors: { connection: [expect.stringContaining('not verified: x@stranger.test')] },
  });
  const other = await serverOf('mailgun-api', mailgun.settings);
  expect(await refused(other, { name: 'cid@else.test', ...mail })).toMatchObject({
    errors: { name: [expect.any(String)] },
  });
  // Brevo adds addresses, with a mail of its own.
  const writing = await serverOf('brevo-api', brevo.settings);
  expect(await refused(writing, { name: 'cid@else.test', ...mail })).toMatchObject({
    errors: { mail_subject: [expect.stringContaining('This vendor writes the mail itself')] },
  });
  expect(brevo.requests().filter(({ method }) => method === 'POST')).toEqual([]);
  expect(await refused(writing, { name: 'cid@else.test' })).toMatchObject({
    identity: { kind: 'email', name: 'cid@else.test', verified: false },
  });
});
