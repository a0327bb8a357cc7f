/** Puts a message's bytes into the form in which DATA (dot-stuffed, final dot) or BDAT (counted) sends them. */

/** Commands, and the bytes of a message after them, which are given to the socket together. */
export interface Transfer {
  /** ASCII, or UTF-8 where an address needs it. */
  readonly commands: string;
  readonly content?: Uint8Array | undefined;
  /** The end of the content. */
  readonly tail?: string | undefined;
}

const CR = 13;
const LF = 10;
const DOT = 46;
const LF_DOT = Buffer.from('\n.');

/** Line ends are searched in pieces of so many bytes. */
const SCANNED_BYTES = 65_536;

/** The content of a DATA transfer, and its final dot. Content without a dot at a line's start is not copied. */
export function dataTransfer(given: Uint8Array): Transfer {
  const content = withLineEnds(given);
  return { commands: '', content: dotStuffed(content), tail: endsWithLineEnd(content) ? '.\r\n' : '\r\n.\r\n' };
}

/** A message as one last chunk (RFC 3030), after the commands that open it. */
export function chunkTransfer(commands: string, given: Uint8Array): Transfer {
  const content = withLineEnds(given);
  if (endsWithLineEnd(content)) return { commands: `${commands}BDAT ${content.byteLength} LAST\r\n`, content };
  return { commands: `${commands}BDAT ${content.byteLength + 2} LAST\r\n`, content, tail: '\r\n' };
}

/**
 * The content with CRLF for every lone CR or LF (RFC 5321 2.3.8 forbids these): a server that takes one for a line end would take
 * a dot after it for the end of the message, and the rest for a second one. Usually the content is unchanged.
 */
function withLineEnds(content: Uint8Array): Buffer {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  if (!hasBareLineEnds(bytes)) return bytes;
  return Buffer.from(bytes.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n'), 'latin1');
}

/** Searched as text: a call into a buffer for each line costs four times as much. */
function hasBareLineEnds(bytes: Buffer): boolean {
  for (let start = 0; start < bytes.length;) {
    const text = bytes.toString('latin1', start, start + SCANNED_BYTES);
    const isLast = start + text.length === bytes.length;
    let from = 0;
    for (;;) {
      const [cr, lf] = [text.indexOf('\r', from), text.indexOf('\n', from)];
      if (cr < 0 && lf < 0) {
        from = text.length;
        break;
      }
      // Its LF may be the first of the next bytes.
      if (cr === text.length - 1 && lf < 0 && !isLast) {
        from = cr;
        break;
      }
      if (cr < 0 || lf !== cr + 1) return true;
      from = lf + 1;
    }
    start += from;
  }
  return false;
}

/** Doubles every dot at the start of a line (RFC 5321 4.5.2). */
function dotStuffed(bytes: Buffer): Uint8Array {
  const pieces: Uint8Array[] = [];
  let from = 0;
  // a piece ends with the dot that the next one begins with
  if (bytes[0] === DOT) pieces.push(bytes.subarray(0, 1));
  for (let at = bytes.indexOf(LF_DOT); at >= 0; at = bytes.indexOf(LF_DOT, at + 1)) {
    pieces.push(bytes.subarray(from, at + 2));
    from = at + 1;
  }
  return pieces.length === 0 ? bytes : Buffer.concat([...pieces, bytes.subarray(from)]);
}

function endsWithLineEnd(bytes: Uint8Array): boolean {
  const { length } = bytes;
  return length >= 2 && bytes[length - 1] === LF && bytes[length - 2] === CR;
}
