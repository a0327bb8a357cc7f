/** The network address block that one subscriber of an internet provider has: limits count by it. */
import ipaddr from 'ipaddr.js';

/** A home or a server gets a /64 (RFC 6177), and could otherwise use another address with every try. */
const IPV6_BITS = 64;

/** An IPv4 address as it is, an IPv6 address as its /64 network; what is no address stays as it is. */
export function addressBlock(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv4) return address;
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  const parts = parsed.parts.slice(0, IPV6_BITS / 16);
  return `${parts.map((part) => part.toString(16)).join(':')}::/${IPV6_BITS}`;
}
