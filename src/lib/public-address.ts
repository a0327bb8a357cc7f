/**
 * Which network addresses may be reached for somebody who is not the operator (decision D44): public unicast only, so that nobody
 * reaches the private network through this machine. Names are judged by the addresses they resolve to at the moment of
 * connecting.
 */
import { lookup as resolve, type LookupAddress, type LookupOptions } from 'node:dns';
import { networkInterfaces } from 'node:os';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

// In a public range, but returns the secrets of the machine in one large cloud.
const CLOUD_PLATFORM_ADDRESS = '168.63.129.16';

// All public IPv6 addresses are in this range; others may mean an IPv4 address, or nothing.
const GLOBAL_IPV6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

export interface AddressGuard {
  /** Why this host (name or address) may not be reached now, as a sentence; undefined: it may. */
  refusal(host: string): Promise<string | undefined>;
  /**
   * For `net.connect` and what is built on it: resolves like the system and fails for addresses that may not be
   * reached. Node does not ask it about a host that is written as an address: check those with `refusal`.
   */
  readonly lookup: LookupFunction;
}

/** Finds the addresses of a host name. */
export type FindAddresses = (host: string, options: LookupOptions) => Promise<LookupAddress[]>;

/** A guard that allows public addresses, and what the operator allows: host names, addresses, networks (CIDR). */
export function addressGuard(allowed: readonly string[] = [], find: FindAddresses = resolveAll): AddressGuard {
  const names = new Set(allowed.map((entry) => entry.toLowerCase()));
  const networks = allowed.flatMap((entry) => networkOf(entry) ?? []);
  const permits = (host: string, address: string) =>
    names.has(host.toLowerCase()) || inNetworks(address, networks) || isPublicAddress(address);
  const lookup: LookupFunction = (hostname, options, callback) => {
    find(hostname, options).then(
      (addresses) => {
        const [first] = addresses;
        const bad = addresses.find(({ address }) => !permits(hostname, address));
        if (bad || !first) callback(notAllowed(hostname), '');
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
  return {
    lookup,
    async refusal(host) {
      const bare = host.replace(/^\[|\]$/g, '');
      const addresses = await find(bare, {}).catch(() => undefined);
      if (!addresses || addresses.length === 0) return `The host ${host} cannot be found.`;
      // A mix of private and public addresses is a sign of DNS rebinding.
      return addresses.every(({ address }) => permits(bare, address)) ? undefined : notAllowed(host).message;
    },
  };
}

/** Whether this is a public unicast address of some other machine. */
export function isPublicAddress(text: string): boolean {
  const address = parsed(text);
  if (!address || address.range() !== 'unicast') return false;
  if (address instanceof ipaddr.IPv6 && !address.match(GLOBAL_IPV6)) return false;
  const plain = address.toString();
  return plain !== CLOUD_PLATFORM_ADDRESS && !ownAddresses().has(plain);
}

function parsed(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // `process` unwraps ::ffff:a.b.c.d, which would else hide a private address.
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

interface Network {
  readonly base: ipaddr.IPv4 | ipaddr.IPv6;
  readonly bits: number;
}

function networkOf(entry: string): Network | undefined {
  if (ipaddr.isValidCIDR(entry)) {
    const [base, bits] = ipaddr.parseCIDR(entry);
    return { base, bits };
  }
  const base = parsed(entry);
  return base && { base, bits: base.kind() === 'ipv6' ? 128 : 32 };
}

function inNetworks(text: string, networks: readonly Network[]): boolean {
  const address = parsed(text);
  if (!address) return false;
  return networks.some(({ base, bits }) => {
    if (address instanceof ipaddr.IPv4 && base instanceof ipaddr.IPv4) return address.match(base, bits);
    return address instanceof ipaddr.IPv6 && base instanceof ipaddr.IPv6 && address.match(base, bits);
  });
}

function ownAddresses(): ReadonlySet<string> {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return new Set(own.map(({ address }) => parsed(address)?.toString() ?? address));
}

function resolveAll(host: string, options: LookupOptions): Promise<LookupAddress[]> {
  return new Promise((done, fail) => {
    resolve(host, { ...options, all: true }, (error, addresses) => (error ? fail(error) : done(addresses)));
  });
}

function notAllowed(host: string): NodeJS.ErrnoException {
  const message = `The host ${host} is not a public address, and this installation does not allow it.`;
  return Object.assign(new Error(message), { code: 'EADDRNOTALLOWED' });
}
