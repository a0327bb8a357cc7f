/**
 * Distinguishes programs from people by a single request: the method, the purpose, the program's name, the network. What shows
 * only over several requests or by the time of delivery is judged when events are written (move-tracking-events.ts). Here
 * requests are only marked; what counts is decided there.
 */
import { BlockList, isIP } from 'node:net';
import { remember } from '../../lib/remember.ts';
import { MACHINE_AGENTS, MACHINE_AGENTS_WHOLE } from './machine-agents.ts';
import { GATEWAY_NETWORKS } from './machine-networks.ts';

const AGENTS = new RegExp(MACHINE_AGENTS.join('|'), 'i');
const WHOLE_AGENTS = new Set(MACHINE_AGENTS_WHOLE);
const NETWORKS = networksOf(GATEWAY_NETWORKS.flatMap(({ cidrs }) => cidrs));

/** Readers use few different programs; some hundred bytes each. */
const AGENTS_KEPT_MAX = 5_000;
const ADDRESSES_KEPT_MAX = 20_000;

const isProgram = remember(AGENTS_KEPT_MAX, (userAgent) => WHOLE_AGENTS.has(userAgent) || AGENTS.test(userAgent));

const isGateway = remember(ADDRESSES_KEPT_MAX, (ip) => {
  const version = isIP(ip);
  return version !== 0 && NETWORKS.check(ip, version === 4 ? 'ipv4' : 'ipv6');
});

export interface TrackingEventFacts {
  readonly method: string;
  readonly userAgent: string | null;
  /** `Sec-Purpose` or the older `Purpose`, `X-Purpose` and `X-Moz`. */
  readonly purpose: string | null;
  readonly ip?: string | null;
}

/** Whether the request is a prefetch (HEAD, prefetch), and whether a program and not a person made it. */
export function judgeTrackingEvent({ method, userAgent, purpose, ip }: TrackingEventFacts): {
  looksAhead: boolean;
  isMachine: boolean;
} {
  const looksAhead = method === 'HEAD' || (purpose !== null && /prefetch|prerender|preview/i.test(purpose));
  return { looksAhead, isMachine: looksAhead || isProgram(userAgent?.trim() ?? '') || isGateway(ip ?? '') };
}

function networksOf(cidrs: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits = ''] = cidr.split('/');
    networks.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return networks;
}
