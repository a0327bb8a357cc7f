/** Puts a message's bytes into the form in which DATA (dot-stuffed, final dot) or BDAT (counted) sends them. */

/** Commands, and the bytes of a message behind them: what is handed to the socket together. */
export interface Transfer {
  /** ASCII, or UTF-8 where an address needs it. */
  readonly commands: string;
  readonly content?: Uint8Array | undefined;
  /** What ends the content. */
  readonly tail?: string | undefined;
}

const CR = 13;
const LF = 10;
const DOT = 46;
const LF_DOT = Buffer.from('\n.');

/** The content of a DATA transfer, and its final dot. Content without a dot at a line's start is not copied. */
export function dataTransfer(content: Uint8Array): Transfer {
  return { commands: '', content: dotStuffed(content), tail: endsWithLineEnd(content) ? '.\r\n' : '\r\n.\r\n' };
}

/** A message as one last chunk (RFC 3030), behind the commands that open it. */
export function chunkTransfer(commands: string, content: Uint8Array): Transfer {
  if (endsWithLineEnd(content)) return { commands: `${commands}BDAT ${content.byteLength} LAST\r\n`, content };
  return { commands: `${commands}BDAT ${content.byteLength + 2} LAST\r\n`, content, tail: '\r\n' };
}

/** Every dot at a line's start twice (RFC 5321 4.5.2). */
function dotStuffed(content: Uint8Array): Uint8Array {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
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
