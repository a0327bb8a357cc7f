/**
 * What a marketing mail must show when its author forgot it: who writes, the postal address, and an unsubscribe link (CAN-SPAM,
 * and the bulk sender rules of the big mailbox providers ask for a visible link).
 */
import { escapeHtml } from '../../lib/html.ts';
import type { MessageContact } from './message.ts';
import type { PlanSource } from './message-plan.ts';
import { addPiece, piecesIn, type MarkedText, type Piece } from './template-marks.ts';

/** What is missing in a text and has to be added. */
export interface FooterNeeds {
  readonly link: boolean;
  /** The postal address of the list's contact. */
  readonly address: boolean;
}

/** `shownText` is the visible text. */
export function footerNeeds(source: PlanSource, marked: MarkedText, shownText: string): FooterNeeds {
  if (source.kind !== 'marketing') return { link: false, address: false };
  return {
    link: !hasUnsubscribeLink(marked),
    address: !hasPostalAddress(source.list.contact, marked, shownText),
  };
}

/** Whether the text shows an unsubscribe link, as far as can be seen without running it. */
export function hasUnsubscribeLink(marked: MarkedText): boolean {
  return piecesOf(marked).some((piece) => names(piece, ['UNSUBSCRIBE_URL']));
}

/**
 * Whether street and city are in the text, as words or as merge tags, as far as can be seen without running it. A contact without
 * both has no address that could be missing.
 */
function hasPostalAddress(contact: MessageContact, marked: MarkedText, shownText: string): boolean {
  const parts = [
    { value: contact.address1, tags: ['CONTACT_ADDRESS_1', 'CONTACT.ADDRESS_1'] },
    { value: contact.city, tags: ['CONTACT_CITY', 'CONTACT.CITY'] },
  ].filter(({ value }) => value.trim() !== '');
  if (parts.length === 0) return true;
  const pieces = piecesOf(marked);
  const shown = comparable(shownText);
  return parts.every(
    ({ value, tags }) => pieces.some((piece) => names(piece, tags)) || shown.includes(comparable(value).trim()),
  );
}

function piecesOf({ text, pieces }: MarkedText): Piece[] {
  return piecesIn(text, pieces).map(({ piece }) => piece);
}

/** A merge tag of one of these names, or Liquid that names one. */
function names(piece: Piece, tags: readonly string[]): boolean {
  if (piece.kind === 'insert') return false;
  const source = piece.kind === 'tag' ? piece.name : piece.source.toUpperCase();
  return tags.some((tag) => source.includes(tag));
}

function comparable(text: string): string {
  return text.normalize('NFC').toLowerCase().replace(/\s+/g, ' ');
}

const FOOTER_STYLE = 'margin:24px 0 0;padding:16px;font:12px/1.5 sans-serif;color:#555555;text-align:center';

/** What is missing as marked html; empty where nothing is. */
export function htmlFooter(source: PlanSource, marked: MarkedText, needs: FooterNeeds): string {
  const lines = needs.address ? contactLines(source.list.contact).map(escapeHtml).join('<br>') : '';
  const open = `<div role="contentinfo" style="${FOOTER_STYLE}">`;
  if (!needs.link) return lines === '' ? '' : insert(marked, `${open}${lines}</div>\n`);
  const before = `${open}${escapeHtml(reason(source))}<br>\n<a href="`;
  const after = `" style="color:#555555;text-decoration:underline">Unsubscribe</a>${lines === '' ? '' : `<br>\n${lines}`}</div>\n`;
  return insert(marked, before) + unsubscribeLink(marked, 'urlStart') + insert(marked, after);
}

/** What is missing as marked plain text; empty where nothing is. */
export function plainFooter(source: PlanSource, marked: MarkedText, needs: FooterNeeds): string {
  const lines = needs.address ? contactLines(source.list.contact).join('\n') : '';
  if (!needs.link) return lines === '' ? '' : insert(marked, `\n\n--\n${lines}\n`);
  const before = `\n\n--\n${reason(source)}\nUnsubscribe: `;
  return (
    insert(marked, before) + unsubscribeLink(marked, 'plain') + insert(marked, lines === '' ? '\n' : `\n\n${lines}\n`)
  );
}

function unsubscribeLink({ pieces }: MarkedText, escape: 'urlStart' | 'plain'): string {
  return addPiece(pieces, { kind: 'tag', name: 'UNSUBSCRIBE_URL', escape });
}

function insert({ pieces }: MarkedText, segment: string): string {
  return addPiece(pieces, { kind: 'insert', segment });
}

function reason(source: PlanSource): string {
  return `You receive this email because you are on the list "${source.list.name}".`;
}

function contactLines(contact: MessageContact): string[] {
  const place = joined([contact.zip, contact.city], ' ');
  const lines = [
    contact.company,
    joined([contact.address1, contact.address2], ', '),
    joined([place, contact.state, contact.country], ', '),
  ];
  return lines.filter((line) => line !== '');
}

function joined(parts: readonly string[], separator: string): string {
  return parts.filter((part) => part !== '').join(separator);
}
