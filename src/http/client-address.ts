/** The caller's address: the connection's, or the one that a trusted reverse proxy reports. */
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** The parts of a request that say who calls. */
export interface Called {
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** Makes a reader of the caller's address. `X-Forwarded-For` counts only where trusted proxies wrote it. */
export function clientAddressReader(trustedProxies: readonly string[]): (req: Called) => string {
  const trusted = trustList(trustedProxies);
  const isDirect = trustedProxies.length === 0;
  return (req) => {
    const peer = plainAddress(req.socket.remoteAddress ?? '');
    if (isDirect) return peer;
    if (!isTrusted(trusted, peer)) return peer;
    const hops = [req.headers['x-forwarded-for'] ?? []]
      .flat()
      .join(',')
      .split(',')
      .map((hop) => plainAddress(hop.trim()));
    // From the nearest hop outwards: the first one that is not a trusted proxy is the caller.
    const caller = hops.reverse().find((hop) => !isTrusted(trusted, hop));
    return caller !== undefined && isIP(caller) ? caller : peer;
  };
}

/** Whether an address is one of these addresses and networks (CIDR). */
export function addressMatcher(entries: readonly string[]): (address: string) => boolean {
  const list = trustList(entries);
  return (address) => isTrusted(list, address);
}

function trustList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

function isTrusted(list: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

/** An IPv4 caller on a dual-stack socket shows as ::ffff:a.b.c.d; it is the same caller. */
function plainAddress(address: string): string {
  if (!address.startsWith('::')) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return mapped ?? address;
}
