/** Where SES has an address or a domain. */
export const IDENTITIES_PATH = '/v2/email/identities';

/** As RFC 3986 has it, and with it the signature. */
export function encodedName(name: string): string {
  return encodeURIComponent(name).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}
