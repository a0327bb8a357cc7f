/**
 * Tells programs from people by what a single request says: the method, the purpose, the program's name, the network.
 * What shows only over several requests or against the time of delivery is judged where events are written
 * (record-activity.ts). It marks; what is counted is decided there.
 */
import { BlockList, isIP } from 'node:net';
import { MACHINE_AGENTS, MACHINE_AGENTS_WHOLE } from './machine-agents.ts';
import { GATEWAY_NETWORKS } from './machine-networks.ts';

const AGENTS = new RegExp(MACHINE_AGENTS.join('|'), 'i');
const WHOLE_AGENTS = new Set(MACHINE_AGENTS_WHOLE);
const NETWORKS = networksOf(GATEWAY_NETWORKS.flatMap(({ cidrs }) => cidrs));

export interface VisitFacts {
  readonly method: string;
  readonly userAgent: string | null;
  /** `Sec-Purpose` or the older `Purpose`, `X-Purpose` and `X-Moz`. */
  readonly purpose: string | null;
  readonly ip?: string | null;
}

/** Whether this looks ahead for somebody (HEAD, prefetch), and whether a program rather than a person asks. */
export function judgeVisit({ method, userAgent, purpose, ip }: VisitFacts): {
  looksAhead: boolean;
  isMachine: boolean;
} {
  const looksAhead = method === 'HEAD' || /prefetch|prerender|preview/i.test(purpose ?? '');
  return { looksAhead, isMachine: looksAhead || isProgram(userAgent?.trim() ?? '') || isGateway(ip ?? '') };
}

function isProgram(userAgent: string): boolean {
  return WHOLE_AGENTS.has(userAgent) || AGENTS.test(userAgent);
}

function isGateway(ip: string): boolean {
  const version = isIP(ip);
  return version !== 0 && NETWORKS.check(ip, version === 4 ? 'ipv4' : 'ipv6');
}

function networksOf(cidrs: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits = ''] = cidr.split('/');
    networks.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return networks;
}
