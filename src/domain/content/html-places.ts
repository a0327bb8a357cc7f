/**
 * Reads html with a real tokenizer to find merge tags and links. Only these places are replaced: every other byte of the author's
 * html stays as it is.
 */
import { QuoteType, Tokenizer, type TokenizerCallbacks } from 'htmlparser2';
import { placesInAddress } from './address-places.ts';
import type { Escape } from './escape.ts';
import { MARK_CLOSE, piecesIn, stripNoncharacters, type MarkedText, type Piece } from './template-marks.ts';

/** One attribute of the html: the position of its raw value, and the decoded value. */
export interface HtmlAttribute {
  readonly element: string;
  readonly name: string;
  /** The raw value, without quotes. */
  readonly start: number;
  readonly end: number;
  readonly isQuoted: boolean;
  /** The value with entities decoded. */
  readonly value: string;
}

interface HtmlPlaces {
  readonly attributes: readonly HtmlAttribute[];
  /** Ranges that are names of elements or attributes. */
  readonly names: readonly { readonly start: number; readonly end: number }[];
  /** Where text can be added at the end of the page: before the last `</body>`, or at the end. */
  readonly bodyEnd: number;
  /** The text between the tags, entities decoded. */
  readonly shownText: string;
  /** What must be written before the added text so that it is visible: the end of an open comment, for example. */
  readonly closing: string;
}

/** The name of an element that no html has: if it is read as an element, text there is visible. */
const PROBE = 'mw-probe';
/** Ends of constructs that could hide the rest of a page, in the order in which they are tried. */
const CLOSINGS = [
  '-->',
  '>',
  '">',
  "'>",
  ']]>',
  ...['style', 'title', 'textarea', 'script', 'xmp', 'iframe', 'noembed', 'noframes'].map((name) => `</${name}>`),
  '--></script>',
];

const ADDRESS_ATTRIBUTES = new Set([
  'href',
  'src',
  'action',
  'formaction',
  'background',
  'poster',
  'cite',
  'data',
  'srcset',
  'xlink:href',
]);

/** `<!--[if mso]>` to `<![endif]-->`: a comment to all but Outlook for Windows, which reads what is in it as html. */
const OUTLOOK_ONLY = /^(\[if [^\]]{1,100}\]>)(.*)<!\[endif\]$/s;

/** Finds the places of a marked html text, those that Outlook alone sees included. */
export function findHtmlPlaces(html: string): HtmlPlaces {
  const hidden: Pick<HtmlPlaces, 'attributes' | 'names'>[] = [];
  const { attributes, names, bodyEnd, shownText } = readHtml(html, (start, end) => {
    const [, opening = '', content] = OUTLOOK_ONLY.exec(html.slice(start, end)) ?? [];
    if (content !== undefined) hidden.push(movedBy(start + opening.length, readHtml(content)));
  });
  return {
    attributes: [...attributes, ...hidden.flatMap((places) => places.attributes)],
    names: [...names, ...hidden.flatMap((places) => places.names)],
    bodyEnd,
    shownText,
    closing: bodyEnd < html.length ? '' : closingOf(html),
  };
}

function movedBy(by: number, { attributes, names }: Pick<HtmlPlaces, 'attributes' | 'names'>) {
  const move = <Range extends { start: number; end: number }>(range: Range) => ({
    ...range,
    start: range.start + by,
    end: range.end + by,
  });
  return { attributes: attributes.map(move), names: names.map(move) };
}

/** `onComment` is called for each comment, with the position of its text. */
function readHtml(html: string, onComment?: (start: number, end: number) => void) {
  const attributes: HtmlAttribute[] = [];
  const names: { start: number; end: number }[] = [];
  const open = { element: '', name: '', nameEnd: 0, value: '' };
  let bodyEnd = html.length;
  let shownText = '';
  tokenize(html, {
    onopentagname: (start, end) => {
      open.element = nameAt(html, start, end);
      names.push({ start, end });
    },
    onattribname: (start, end) => {
      Object.assign(open, { name: nameAt(html, start, end), nameEnd: end, value: '' });
      names.push({ start, end });
    },
    onattribdata: (start, end) => {
      open.value += html.slice(start, end);
    },
    onattribentity: (codePoint) => {
      open.value += stripNoncharacters(String.fromCodePoint(codePoint));
    },
    onattribend: (quote, end) => {
      if (quote === QuoteType.NoValue) return;
      const isQuoted = quote !== QuoteType.Unquoted;
      // The tokenizer includes the closing quote in the attribute.
      const range = { start: valueStart(html, open.nameEnd), end: isQuoted ? end - 1 : end };
      attributes.push({ element: open.element, name: open.name, value: open.value, isQuoted, ...range });
    },
    ontext: (start, end) => {
      shownText += html.slice(start, end);
    },
    ontextentity: (codePoint) => {
      shownText += String.fromCodePoint(codePoint);
    },
    oncomment: (start, end, dashes) => onComment?.(start, end - dashes),
    onclosetag: (start, end) => {
      if (nameAt(html, start, end) === 'body') bodyEnd = html.lastIndexOf('<', start);
    },
  });
  return { attributes, names, bodyEnd, shownText };
}

/** What makes text after this html visible; empty if it is visible, or if nothing helps. */
function closingOf(html: string): string {
  return ['', ...CLOSINGS].find((closing) => showsWhatFollows(html + closing)) ?? '';
}

function showsWhatFollows(html: string): boolean {
  let shows = false;
  const onopentagname = (start: number): void => {
    if (start === html.length + 1) shows = true;
  };
  tokenize(`${html}<${PROBE}>`, { onopentagname });
  return shows;
}

function tokenize(html: string, callbacks: Partial<TokenizerCallbacks>): void {
  const ignore = (): void => {};
  const tokenizer = new Tokenizer(
    { xmlMode: false, decodeEntities: true },
    {
      onattribdata: ignore,
      onattribend: ignore,
      onattribentity: ignore,
      onattribname: ignore,
      oncdata: ignore,
      onclosetag: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onopentagend: ignore,
      onopentagname: ignore,
      onprocessinginstruction: ignore,
      onselfclosingtag: ignore,
      ontext: ignore,
      ontextentity: ignore,
      ...callbacks,
    },
  );
  tokenizer.write(html);
  tokenizer.end();
}

/** Sets the place of each piece, so that its value is escaped for that place. */
export function placePieces(marked: MarkedText, places: HtmlPlaces): void {
  const place = (piece: Piece, escape: Escape): void => {
    if (piece.kind !== 'insert') piece.escape = escape;
  };
  for (const { start, end } of places.names)
    for (const { piece } of piecesIn(marked.text.slice(start, end), marked.pieces)) place(piece, 'name');
  for (const { name, start, end } of places.attributes) {
    if (!ADDRESS_ATTRIBUTES.has(name)) continue;
    for (const { piece, isFirst } of placesInAddress(marked.text.slice(start, end), marked.pieces))
      place(piece, isFirst ? 'urlStart' : 'urlPart');
  }
}

/** A Liquid construct may stand directly before a name without a space: the name begins after its mark. */
function nameAt(html: string, start: number, end: number): string {
  const name = html.slice(start, end);
  return name.slice(name.lastIndexOf(MARK_CLOSE) + 1).toLowerCase();
}

function valueStart(html: string, nameEnd: number): number {
  const opening = /\s*=\s*["']?/y;
  opening.lastIndex = nameEnd;
  return nameEnd + (opening.exec(html)?.[0].length ?? 0);
}
