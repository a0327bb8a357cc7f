/** The domain in a mail address, and which domain lies below which. */
import { domainToASCII } from 'node:url';

/** The part after the last @, unchanged. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1);
}

/** The domain in the form in which domains are compared and sent: lower case, IDNA in ASCII; empty when it is no domain. */
export function asciiDomainOf(email: string): string {
  return domainToASCII(domainOf(email));
}

/** Whether a domain is the other one, or one below it. Both as `asciiDomainOf` gives them. */
export function isAtOrBelow(domain: string, other: string): boolean {
  return domain === other || domain.endsWith(`.${other}`);
}
