/** Names and their records for tests: answered at once, or by a real DNS server on a UDP port of this machine. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { decode, encode, type Answer, type Packet } from 'dns-packet';
import type { DnsQuery } from '../../src/lib/dns-records.ts';

/** `'TXT name'` to its values; a name with any record exists. `fail` in the place of values: SERVFAIL. */
export type Zone = Map<string, readonly string[] | 'fail'>;

/** A zone from an object whose keys are `TXT name`, or only `name` for TXT. */
export function zoneOf(records: Readonly<Record<string, readonly string[] | string>>): Zone {
  return new Map(
    Object.entries(records).map(([key, value]) => [
      key.includes(' ') ? key : `TXT ${key}`,
      value === 'fail' || typeof value !== 'string' ? value : [value],
    ]),
  );
}

/** Answers from the zone without a network. */
export function zoneQuery(zone: Zone, queried: string[] = []): DnsQuery {
  return async (type, name) => {
    queried.push(`${type} ${name}`);
    const values = zone.get(`${type} ${name}`);
    if (values === 'fail') return { status: 'failed', reason: 'the name server could not answer (SERVFAIL)' };
    if (values) return { status: 'found', values };
    return { status: 'none', exists: existsIn(zone, name) };
  };
}

/** RFC 8020: a name exists when it or anything below it has a record. */
function existsIn(zone: Zone, name: string): boolean {
  return [...zone.keys()].some((key) => key.endsWith(` ${name}`) || key.endsWith(`.${name}`));
}

export interface DnsServer {
  /** `127.0.0.1:port`, for DNS_SERVERS. */
  readonly address: string;
  readonly zone: Zone;
  /** `TYPE name` of every question. */
  readonly queried: string[];
  /** How it answers from now on: by its zone and as one that knows the internet, by its zone alone, after some time, only questions for MX records, with a fault to everything, or not at all. */
  behave(how: 'zone' | 'alone' | 'slow' | 'only MX' | 'SERVFAIL' | 'REFUSED' | 'silent'): void;
  close(): void;
}

/** A DNS server of this process; what is put into its zone is answered from then on. */
export async function startDnsServer(zone: Zone = new Map()): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const queried: string[] = [];
  let isClosed = false;
  let how: Parameters<DnsServer['behave']>[0] = 'zone';
  socket.on('message', async (message, { port, address }) => {
    const query = decode(message);
    const [question] = query.questions ?? [];
    if (!question) return;
    const name = question.name.toLowerCase();
    queried.push(`${question.type} ${name}`);
    if (how === 'silent' || (how === 'only MX' && question.type !== 'MX')) return;
    if (how === 'slow') await sleep(SLOW_MS);
    const asked = { id: query.id ?? 0, type: question.type, name, question };
    const all = how === 'alone' ? zone : new Map([['NS com', ['a.gtld-servers.net']], ...zone]);
    const answer = how === 'SERVFAIL' || how === 'REFUSED' ? faultOf(asked, how) : answerTo(all, asked);
    if (!isClosed) socket.send(encode(answer), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    ...{ address: `127.0.0.1:${socket.address().port}`, zone, queried },
    behave: (next) => void (how = next),
    close() {
      isClosed = true;
      socket.close();
    },
  };
}

interface Question {
  readonly id: number;
  readonly type: string;
  readonly name: string;
  readonly question: NonNullable<Packet['questions']>[number];
}

const NXDOMAIN = 3;
const SERVFAIL = 2;
const REFUSED = 5;
const SLOW_MS = 200;

function faultOf({ id, question }: Question, how: 'SERVFAIL' | 'REFUSED'): Packet {
  const code = how === 'SERVFAIL' ? SERVFAIL : REFUSED;
  return { type: 'response', id, flags: 0x0180 | code, questions: [question], answers: [] };
}

function answerTo(zone: Zone, { id, type, name, question }: Question): Packet {
  const values = zone.get(`${type} ${name}`);
  const answers = values && values !== 'fail' ? values.map((value) => recordOf(type, name, value)) : [];
  const code = values === 'fail' ? SERVFAIL : answers.length === 0 && !existsIn(zone, name) ? NXDOMAIN : 0;
  return { type: 'response', id, flags: 0x0180 | code, questions: [question], answers };
}

function recordOf(type: string, name: string, value: string): Answer {
  const common = { name, ttl: 1 };
  if (type === 'TXT') return { ...common, type, data: value.match(/[^]{1,255}/g) ?? [''] };
  if (type === 'MX') return { ...common, type, data: { preference: 10, exchange: value } };
  if (type === 'CNAME' || type === 'NS' || type === 'A' || type === 'AAAA') return { ...common, type, data: value };
  throw new Error(`The zone holds no ${type}.`);
}
