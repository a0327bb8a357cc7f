/** Archives, byte by byte: also those that no tool would write. */
import zlib from 'node:zlib';

export interface Packed {
  readonly name: string;
  readonly content?: string | Buffer;
  /** The kind of a tar entry; a file unless given. */
  readonly type?: string;
  readonly link?: string;
  /** Type and rights as Unix has them, in the directory of a zip. */
  readonly mode?: number;
  /** Lies: what the headers of a zip say instead. */
  readonly localName?: string;
  readonly size?: number;
  readonly localSize?: number;
  readonly crc?: number;
  readonly flags?: number;
  readonly method?: number;
  readonly extra?: Buffer;
  /** Of the entry with this index, instead of an own one. */
  readonly offsetOf?: number;
}

const FILE_MODE = 0o100644;

export function zipOf(entries: readonly Packed[], { comment = '', count = entries.length, before = '' } = {}): Buffer {
  const parts: Buffer[] = [Buffer.from(before)];
  const offsets: number[] = [];
  const directory: Buffer[] = [];
  for (const entry of entries) {
    const at = parts.reduce((sum, part) => sum + part.length, 0);
    const { local, central } = zipEntry(entry, offsets[entry.offsetOf ?? -1] ?? at);
    offsets.push(at);
    parts.push(local);
    directory.push(central);
  }
  const start = parts.reduce((sum, part) => sum + part.length, 0);
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(start, 16);
  end.writeUInt16LE(Buffer.byteLength(comment), 20);
  return Buffer.concat([...parts, central, end, Buffer.from(comment)]);
}

function zipEntry(entry: Packed, offset: number) {
  const { name, content = '', mode = FILE_MODE, flags = 0x0800, method = 8, extra = Buffer.alloc(0) } = entry;
  const bytes = Buffer.from(content);
  const packed = method === 8 ? zlib.deflateRawSync(bytes) : bytes;
  const size = entry.size ?? bytes.length;
  const crc = entry.crc ?? zlib.crc32(bytes);
  const localName = Buffer.from(entry.localName ?? name);
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  local.writeUInt16LE(20, 4);
  local.writeUInt16LE(flags, 6);
  local.writeUInt16LE(method, 8);
  local.writeUInt32LE(crc, 14);
  local.writeUInt32LE(packed.length, 18);
  local.writeUInt32LE(entry.localSize ?? size, 22);
  local.writeUInt16LE(localName.length, 26);
  const central = Buffer.alloc(46);
  central.writeUInt32LE(0x02014b50, 0);
  central.writeUInt16LE(0x0314, 4);
  central.writeUInt16LE(flags, 8);
  central.writeUInt16LE(method, 10);
  central.writeUInt32LE(crc, 16);
  central.writeUInt32LE(packed.length, 20);
  central.writeUInt32LE(size, 24);
  central.writeUInt16LE(Buffer.byteLength(name), 28);
  central.writeUInt16LE(extra.length, 30);
  central.writeUInt32LE((mode << 16) >>> 0, 38);
  central.writeUInt32LE(offset, 42);
  return {
    local: Buffer.concat([local, localName, packed]),
    central: Buffer.concat([central, Buffer.from(name), extra]),
  };
}

/** A tar, not packed. */
export function tarOf(entries: readonly Packed[], { end = Buffer.alloc(1_024) } = {}): Buffer {
  return Buffer.concat([...entries.flatMap(tarEntry), end]);
}

export function tgzOf(entries: readonly Packed[]): Buffer {
  return zlib.gzipSync(tarOf(entries));
}

/** An entry whose name does not fit gets a record of pax before it. */
function tarEntry({ name, content = '', type = '0', link = '', size }: Packed): Buffer[] {
  const bytes = Buffer.from(content);
  const field = Buffer.from(name);
  const before = field.length > 100 ? tarEntry({ name: 'pax', type: 'x', content: paxOf('path', name) }) : [];
  const header = Buffer.alloc(512);
  field.copy(header, 0, 0, 100);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${(size ?? bytes.length).toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        ', 148);
  header.write(type, 156);
  header.write(link, 157);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return [...before, header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)];
}

/** A line of pax; its length counts itself. */
export function paxOf(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest) + 1;
  while (`${length}`.length + Buffer.byteLength(rest) !== length) length += 1;
  return `${length}${rest}`;
}
