/**
 * Writes a tiny database file in MaxMind's format (version 2 of the public description): a binary tree over IPv4
 * addresses, a data section of self-describing values, and the file's own description behind a marker.
 */
import { writeFileSync } from 'node:fs';

type Value = string | number | boolean | readonly Value[] | { readonly [key: string]: Value };

export interface GeoipNetwork {
  readonly cidr: string;
  readonly country: string;
  readonly region?: string;
  readonly city?: string;
}

const MARKER = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
/** Bytes between the tree and the data. */
const GAP = 16;

/** Writes the file; networks must not overlap. */
export function writeGeoipFile(file: string, networks: readonly GeoipNetwork[], databaseType = 'Test-City'): void {
  const tree = treeOf(networks);
  const data = networks.map((network) => encode(recordOf(network)));
  const offsets = data.map((_, index) => data.slice(0, index).reduce((sum, part) => sum + part.length, 0));
  const about: Value = {
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_760_000_000,
    database_type: databaseType,
    description: { en: 'For tests' },
    ip_version: 4,
    languages: ['en'],
    node_count: tree.length,
    record_size: 32,
  };
  const nodes = Buffer.alloc(tree.length * 8);
  tree.forEach((node, at) =>
    node.forEach((entry, side) => nodes.writeUInt32BE(pointerOf(entry, tree.length, offsets), at * 8 + side * 4)),
  );
  writeFileSync(file, Buffer.concat([nodes, Buffer.alloc(GAP), ...data, MARKER, encode(about)]));
}

/** Another node by its number, a network's data, or nothing. */
type Entry = { node: number } | { network: number } | undefined;

function treeOf(networks: readonly GeoipNetwork[]): [Entry, Entry][] {
  const nodes: [Entry, Entry][] = [[undefined, undefined]];
  networks.forEach(({ cidr }, network) => {
    const [address = '', length = '32'] = cidr.split('/');
    const bits = address
      .split('.')
      .map((part) => Number(part).toString(2).padStart(8, '0'))
      .join('')
      .slice(0, Number(length));
    let at = 0;
    [...bits].forEach((bit, depth) => {
      const node = nodes[at];
      if (!node) throw new Error('The tree has no such node.');
      const side = bit === '1' ? 1 : 0;
      if (depth === bits.length - 1) node[side] = { network };
      else {
        const next = node[side];
        at = next && 'node' in next ? next.node : nodes.push([undefined, undefined]) - 1;
        node[side] = { node: at };
      }
    });
  });
  return nodes;
}

function pointerOf(entry: Entry, nodeCount: number, offsets: readonly number[]): number {
  if (entry === undefined) return nodeCount;
  return 'node' in entry ? entry.node : nodeCount + GAP + (offsets[entry.network] ?? 0);
}

function recordOf({ country, region, city }: GeoipNetwork): Value {
  return {
    country: { iso_code: country.slice(0, 2).toUpperCase(), names: { en: country } },
    ...(region === undefined ? {} : { subdivisions: [{ names: { en: region } }] }),
    ...(city === undefined ? {} : { city: { names: { en: city } } }),
  };
}

/** Types 2 text, 6 number of 32 bits, 7 map, 11 array, 14 truth; those above 7 have a byte of their own. */
function encode(value: Value): Buffer {
  if (typeof value === 'string') return Buffer.concat([control(2, Buffer.byteLength(value)), Buffer.from(value)]);
  if (typeof value === 'boolean') return control(14, value ? 1 : 0);
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([control(6, 4), bytes]);
  }
  if (isList(value)) return Buffer.concat([control(11, value.length), ...value.map(encode)]);
  const entries = Object.entries(value);
  return Buffer.concat([
    control(7, entries.length),
    ...entries.flatMap(([key, inner]) => [encode(key), encode(inner)]),
  ]);
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

function control(type: number, size: number): Buffer {
  if (size > 284) throw new Error('Too large for this little writer.');
  const length = size < 29 ? [] : [size - 29];
  const small = Math.min(size, 29);
  return Buffer.from(type <= 7 ? [(type << 5) | small, ...length] : [small, type - 7, ...length]);
}
