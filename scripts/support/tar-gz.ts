/** A tar archive (POSIX.1-1988, "ustar"), compressed, whose bytes depend on names and contents only. */
import { constants, gzipSync } from 'node:zlib';
import { ToolError } from './tool-error.ts';

export interface TarFile {
  /** With slashes. */
  readonly name: string;
  readonly content: Uint8Array;
}

const BLOCK = 512;
const NAME_BYTES_MAX = 100;
const PREFIX_BYTES_MAX = 155;
/** 1985-10-26T08:15:00Z, as archives of npm have it: some programs take no time before 1980. */
const MODIFIED_AT = 499_162_500;
/** Where a gzip header says on which system it was made (RFC 1952); 255 is "unknown". */
const GZIP_SYSTEM = 9;
const UNKNOWN_SYSTEM = 255;

/** The archive of these files, in their order. Throws ToolError for a path that is too long. */
export function tarGz(files: readonly TarFile[], { level = constants.Z_BEST_COMPRESSION } = {}): Buffer {
  const blocks = files.flatMap(({ name, content }) => [
    headerOf(name, content.length),
    content,
    Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK),
  ]);
  const archive = gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level });
  archive[GZIP_SYSTEM] = UNKNOWN_SYSTEM;
  return archive;
}

function headerOf(path: string, size: number): Buffer {
  const { prefix, name } = split(path);
  const header = Buffer.alloc(BLOCK);
  const put = (at: number, text: string): void => void header.write(text, at);
  const octal = (number: number, digits: number): string => `${number.toString(8).padStart(digits, '0')}\0`;
  put(0, name);
  put(100, octal(0o644, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(size, 11));
  put(136, octal(MODIFIED_AT, 11));
  // The checksum is that of the header with spaces in its own place.
  put(148, '        ');
  put(156, '0');
  put(257, 'ustar\0');
  put(263, '00');
  put(345, prefix);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(148, `${octal(sum, 6)} `);
  return header;
}

/** A path over 100 bytes is divided at a slash. */
function split(path: string): { readonly prefix: string; readonly name: string } {
  if (Buffer.byteLength(path) <= NAME_BYTES_MAX) return { prefix: '', name: path };
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(name) <= NAME_BYTES_MAX && Buffer.byteLength(prefix) <= PREFIX_BYTES_MAX)
      return { prefix, name };
  }
  throw new ToolError(`The path ${path} is too long for an archive.`);
}
