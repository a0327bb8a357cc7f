/** Whether one can send with an access key in a region, asked without sending. */
import { z } from 'zod';
import {
  failureByStatus,
  jsonOf,
  type AskVendor,
  type ConnectionTest,
  type VendorAnswer,
} from '../../../src/plugin-api/index.ts';
import { errorOf } from './failures.ts';
import { SES } from './settings.ts';

const accountShape = z.object({
  SendingEnabled: z.boolean(),
  EnforcementStatus: z.string().optional(),
  SendQuota: z.object({ Max24HourSend: z.number(), SentLast24Hours: z.number() }).optional(),
});
const identitiesShape = z.object({ EmailIdentities: z.array(z.unknown()) });
const setShape = z.object({ SendingOptions: z.object({ SendingEnabled: z.boolean() }).optional() });

type Get = (path: string) => ReturnType<AskVendor>;

/** Asks for the account, and for what belongs to the region where the key may. */
export async function testAccount(
  get: Get,
  { region, set }: { region: string; set: string | undefined },
): Promise<ConnectionTest> {
  const answer = await get('/v2/email/account');
  const fault =
    answer.status === 200
      ? faultOfAccount(answer, region)
      : (faultOfKey(answer) ?? failureByStatus(SES, answer).message);
  const message = fault ?? (await faultOfRegion(get, region)) ?? (set && (await faultOfSet(get, { region, set })));
  return message === undefined ? { ok: true } : { ok: false, message };
}

function faultOfKey(answer: VendorAnswer): string | undefined {
  const { type, words } = errorOf(answer);
  if (/^(?:UnrecognizedClient|InvalidClientTokenId)/.test(type))
    return `${SES} does not know the access key in this region. Is the key active, and the region switched on for the account?`;
  if (/^(?:InvalidSignature|SignatureDoesNotMatch|RequestExpired)/.test(type))
    return `${SES} refused the signature: the secret access key is wrong, or the clock of this machine. It says: ${words}`;
  if (/^(?:AccessDenied|NotAuthorized)/.test(type))
    return `The access key may not read the account: allow it ses:GetAccount besides ses:SendRawEmail and ses:SendEmail. ${SES} says: ${words}`;
  return undefined;
}

function faultOfAccount(answer: VendorAnswer, region: string): string | undefined {
  const account = accountShape.safeParse(jsonOf(answer)).data;
  if (!account) return `${SES} answered something else than its account: is the endpoint right?`;
  const { SendingEnabled: isEnabled, EnforcementStatus: standing, SendQuota: quota } = account;
  if (standing === 'SHUTDOWN') return `${SES} has suspended the account in ${region}.`;
  if (!isEnabled) return `Sending is paused for the account in ${region}.`;
  // -1: there is no limit.
  if (quota && quota.Max24HourSend >= 0 && quota.SentLast24Hours >= quota.Max24HourSend)
    return `The limit of ${quota.Max24HourSend} messages in 24 hours is used up in ${region}.`;
  return undefined;
}

/** Keys work in all regions, domains are verified in one. A key that may not list them is as good. */
async function faultOfRegion(get: Get, region: string): Promise<string | undefined> {
  const answer = await get('/v2/email/identities?PageSize=1');
  const found = answer.status === 200 ? identitiesShape.safeParse(jsonOf(answer)).data : undefined;
  return found?.EmailIdentities.length === 0
    ? `The account has no domain and no address in ${region}. Is this the right region?`
    : undefined;
}

async function faultOfSet(get: Get, { region, set }: { region: string; set: string }): Promise<string | undefined> {
  const answer = await get(`/v2/email/configuration-sets/${set}`);
  if (answer.status === 404) return `There is no configuration set ${set} in ${region}.`;
  const found = answer.status === 200 ? setShape.safeParse(jsonOf(answer)).data : undefined;
  return found?.SendingOptions?.SendingEnabled === false
    ? `Sending is paused for the configuration set ${set}.`
    : undefined;
}
