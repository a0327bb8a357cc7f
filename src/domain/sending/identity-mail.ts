/** A mail of the customer's own that a vendor sends to an address which is to be verified. This file only checks it. */
import { z } from 'zod';
import { ValidationError } from '../../lib/errors.ts';
import { httpAddress } from '../../lib/http-address.ts';
import { emailAddress, parseInput, singleLine } from '../../lib/text.ts';
import type { IdentityMail } from '../../plugin-api/index.ts';

/** Such a mail is a few sentences and a link. */
const HTML_LENGTH_MAX = 100_000;
const SUBJECT_LENGTH_MAX = 250;
const URL_LENGTH_MAX = 2_000;

const page = singleLine(URL_LENGTH_MAX).refine(
  (url) => httpAddress(url) !== '',
  'must be a web address with https:// or http://',
);
const parts = {
  mailSubject: singleLine(SUBJECT_LENGTH_MAX),
  mailHtml: z.string().min(1).max(HTML_LENGTH_MAX),
  mailFromEmail: emailAddress(),
  mailSuccessUrl: page,
  mailFailureUrl: page,
};

export const identityMailInput = {
  mailSubject: parts.mailSubject.nullish(),
  mailHtml: parts.mailHtml.nullish(),
  mailFromEmail: parts.mailFromEmail.nullish(),
  mailSuccessUrl: parts.mailSuccessUrl.nullish(),
  mailFailureUrl: parts.mailFailureUrl.nullish(),
};

export type IdentityMailInput = { readonly [Name in keyof typeof parts]?: string | null | undefined };

/** Undefined: nothing of it was given, and the vendor's own mail is sent. Throws ValidationError on what is missing. */
export function identityMailOf(input: IdentityMailInput, defaultFromEmail: string): IdentityMail | undefined {
  if (Object.keys(parts).every((name) => (Reflect.get(input, name) ?? undefined) === undefined)) return undefined;
  const fromEmail = input.mailFromEmail ?? (defaultFromEmail === '' ? undefined : defaultFromEmail);
  if (fromEmail === undefined)
    throw new ValidationError({ mailFromEmail: ['The server has no default sender: say who the mail is from.'] });
  const mail = parseInput(z.object(parts), { ...input, mailFromEmail: fromEmail });
  return {
    ...{ fromEmail: mail.mailFromEmail, subject: mail.mailSubject, html: mail.mailHtml },
    ...{ successUrl: mail.mailSuccessUrl, failureUrl: mail.mailFailureUrl },
  };
}
