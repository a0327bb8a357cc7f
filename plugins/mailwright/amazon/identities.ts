/** The domains and addresses that an account at Amazon SES has in a region, with the records that it asks for. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  askVendor,
  jsonOf,
  type DriverOptions,
  type DriverSettings,
  type IdentityMail,
  type VendorAnswer,
  type VendorIdentities,
  type VendorIdentity,
  type VendorRequest,
} from '../../../src/plugin-api/index.ts';
import { accountOf } from './amazon-api.ts';
import { errorOf } from './failures.ts';
import { encodedName, IDENTITIES_PATH } from './identity-path.ts';
import { SES } from './settings.ts';

/** Its largest page, and as many as the contract has identities. A page may have fewer, and others follow. */
const IDENTITIES_MAX = 1_000;
/** SES takes about one request a second, and somebody waits. */
const PAGES_MAX = 10;

/** `MANAGED_DOMAIN` is a domain that another account has verified for this one. */
const typeShape = z.enum(['EMAIL_ADDRESS', 'DOMAIN', 'MANAGED_DOMAIN']);
const listShape = z.object({
  NextToken: z.string().nullish(),
  EmailIdentities: z.array(
    z.object({
      IdentityType: typeShape,
      IdentityName: z.string(),
      SendingEnabled: z.boolean().optional(),
      VerificationStatus: z.string().optional(),
    }),
  ),
});
const oneShape = z.object({
  IdentityType: typeShape,
  VerifiedForSendingStatus: z.boolean(),
  VerificationStatus: z.string().optional(),
  DkimAttributes: z
    .object({
      Status: z.string().optional(),
      Tokens: z.array(z.string()).nullish(),
      SigningHostedZone: z.string().nullish(),
    })
    .nullish(),
});

export function amazonIdentities(given: DriverSettings, options: DriverOptions): VendorIdentities {
  const { origin, sign } = accountOf(given);
  const ask = askVendor(options, { origin, name: SES });
  const read = async <T>(request: VendorRequest, shape: z.ZodType<T>): Promise<T> => {
    const answer = await ask(sign(request));
    if (answer.status !== 200) throw refusal(answer);
    const { data } = shape.safeParse(jsonOf(answer));
    if (data === undefined) throw new Error(`${SES} answered something else than its documents say.`);
    return data;
  };
  return {
    adds: ['domain', 'email'],
    async list() {
      const found: VendorIdentity[] = [];
      let token = '';
      for (let page = 0; page < PAGES_MAX; page++) {
        // In the order of the alphabet, for the signature.
        const query = `${token && `NextToken=${encodedName(token)}&`}PageSize=${IDENTITIES_MAX}`;
        const some = await read({ method: 'GET', path: `${IDENTITIES_PATH}?${query}` }, listShape);
        found.push(...some.EmailIdentities.map((one) => listedOf(one)));
        if (!some.NextToken || found.length >= IDENTITIES_MAX) return found.slice(0, IDENTITIES_MAX);
        token = some.NextToken;
      }
      throw new Error(`${SES} has not shown all identities in ${PAGES_MAX} pages. Look into its console.`);
    },
    async add({ name }) {
      const headers = { 'Content-Type': 'application/json' };
      const body = JSON.stringify({ EmailIdentity: name });
      return identityOf(name, await read({ method: 'POST', path: IDENTITIES_PATH, headers, body }, oneShape));
    },
    async addWithMail(email, mail) {
      const headers = { 'Content-Type': 'application/json' };
      const TemplateName = templateNameOf(mail);
      const template = { TemplateName, FromEmailAddress: mail.fromEmail, TemplateSubject: mail.subject };
      const pages = { SuccessRedirectionURL: mail.successUrl, FailureRedirectionURL: mail.failureUrl };
      const made = await ask(
        sign({
          ...{ method: 'POST', path: TEMPLATES_PATH, headers },
          body: JSON.stringify({ ...template, TemplateContent: mail.html, ...pages }),
        }),
      );
      // One of this name has this very text.
      if (made.status !== 200 && !errorOf(made).type.startsWith('AlreadyExists')) throw refusal(made);
      const body = JSON.stringify({ EmailAddress: email, TemplateName });
      await read({ method: 'POST', path: '/v2/email/outbound-custom-verification-emails', headers, body }, sentShape);
      return identityOf(
        email,
        await read({ method: 'GET', path: `${IDENTITIES_PATH}/${encodedName(email)}` }, oneShape),
      );
    },
    // SES looks again by itself, for three days.
    check: async ({ name }) =>
      identityOf(name, await read({ method: 'GET', path: `${IDENTITIES_PATH}/${encodedName(name)}` }, oneShape)),
  };
}

const TEMPLATES_PATH = '/v2/email/custom-verification-email-templates';
const ADVICE: readonly (readonly [string, string])[] = [
  [
    'AccessDenied',
    ' (The key needs ses:ListEmailIdentities, ses:GetEmailIdentity and ses:CreateEmailIdentity; for a mail of your own ses:CreateCustomVerificationEmailTemplate and ses:SendCustomVerificationEmail.)',
  ],
  [
    'LimitExceeded',
    ' (Each text of a verification mail is a template there, and an account has at most 50. Use a text that was used before, or delete templates named mailwright-... whose mails were answered: aws sesv2 delete-custom-verification-email-template.)',
  ],
];

const sentShape = z.object({ MessageId: z.string() });

function refusal(answer: VendorAnswer): Error {
  const { type, words } = errorOf(answer);
  const [, advice = ''] = ADVICE.find(([start]) => type.startsWith(start)) ?? [];
  return new Error(`${SES} answered ${answer.status} ${type}: ${words}${advice}`);
}

/** A name for each text: an account has at most 50 templates, and the link of a mail needs its template for as long as it may be opened. */
function templateNameOf(mail: IdentityMail): string {
  return `mailwright-${createHash('sha256').update(JSON.stringify(mail)).digest('hex').slice(0, 24)}`;
}

function kindOf(type: z.output<typeof typeShape>): VendorIdentity['kind'] {
  return type === 'EMAIL_ADDRESS' ? 'email' : 'domain';
}

/** A verified one of which SES could not find the record again for a while has another status, and may send. */
function listedOf(one: z.output<typeof listShape>['EmailIdentities'][number]): VendorIdentity {
  const { IdentityType: type, IdentityName: name, SendingEnabled, VerificationStatus: status } = one;
  const isVerified = SendingEnabled ?? status === 'SUCCESS';
  return { kind: kindOf(type), name, records: [], isVerified, status: status ?? 'UNKNOWN' };
}

function identityOf(name: string, one: z.output<typeof oneShape>): VendorIdentity {
  const { Status: dkim, Tokens: tokens, SigningHostedZone: zone } = one.DkimAttributes ?? {};
  const kind = kindOf(one.IdentityType);
  return {
    ...{ kind, name, isVerified: one.VerifiedForSendingStatus },
    status: one.VerificationStatus ?? dkim ?? 'PENDING',
    records: (kind === 'domain' ? (tokens ?? []) : []).map((token) => ({
      ...{ type: 'CNAME', name: `${token}._domainkey.${name}`, value: `${token}.${zone || 'dkim.amazonses.com'}` },
      isFound: dkim === 'SUCCESS' ? true : dkim === 'FAILED' ? false : null,
    })),
  };
}
