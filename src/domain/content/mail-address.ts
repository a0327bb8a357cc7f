/**
 * Bare mail addresses for headers and envelopes. Only the plain `local@domain` form passes, so that no part of it can end a
 * header, add a recipient or open a comment.
 */
import { domainToASCII } from 'node:url';

/** RFC 5321 4.5.3.1: 64 octets before the @, 254 in all. */
const LOCAL_BYTES_MAX = 64;
const ADDRESS_BYTES_MAX = 254;

// RFC 5322 dot-atom, with the letters of RFC 6531 (anything above U+00A0 that is no space, control or noncharacter).
const LOCAL =
  /^[\w!#$%&'*+/=?^`{|}~.\-\u{a1}-\u{1fff}\u{2070}-\u{2fff}\u{3001}-\u{d7ff}\u{f900}-\u{fdcf}\u{fdf0}-\u{fffd}\u{10000}-\u{1fffd}\u{20000}-\u{3fffd}]+$/u;
const ASCII_DOMAIN = /^(?!-)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*$/;
/** The usual form of addresses; only their length must be checked. */
const ASCII_ADDRESS = /^[\w!#$%&'*+/=?^`{|}~.-]{1,64}@((?!-)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)$/;
// What a name may contain before IDNA; Node's function would read a host like a URL, and drop the rest.
const UNICODE_DOMAIN = /^[\p{L}\p{M}\p{N}.-]+$/u;
// oxlint-disable-next-line no-control-regex -- ASCII is a range that begins with controls
const ASCII = /^[\0-\x7f]*$/;

export interface BareAddress {
  /** `local@domain`, the domain in ASCII (IDNA). */
  readonly address: string;
  readonly domain: string;
  /** The local part has letters beyond ASCII. */
  readonly needsSmtpUtf8: boolean;
}

/** The address in the form for headers and envelopes, or undefined when it is not a plain one. */
export function bareAddress(text: string): BareAddress | undefined {
  if (text.length > ADDRESS_BYTES_MAX) return undefined;
  const [, plainDomain] = ASCII_ADDRESS.exec(text) ?? [];
  if (plainDomain !== undefined) return { address: text, domain: plainDomain, needsSmtpUtf8: false };
  const at = text.lastIndexOf('@');
  const local = text.slice(0, Math.max(at, 0));
  if (!LOCAL.test(local)) return undefined;
  const domain = asciiDomain(text.slice(at + 1));
  const address = `${local}@${domain}`;
  if (domain === undefined || Buffer.byteLength(local) > LOCAL_BYTES_MAX) return undefined;
  if (Buffer.byteLength(address) > ADDRESS_BYTES_MAX) return undefined;
  return { address, domain, needsSmtpUtf8: !ASCII.test(local) };
}

function asciiDomain(domain: string): string | undefined {
  if (ASCII_DOMAIN.test(domain)) return domain;
  if (!UNICODE_DOMAIN.test(domain)) return undefined;
  const ascii = domainToASCII(domain);
  return ASCII_DOMAIN.test(ascii) ? ascii : undefined;
}
