/**
 * What a marketing mail must show when its author forgot it: who writes, the postal address, and an unsubscribe link (CAN-SPAM,
 * and the bulk sender rules of the big mailbox providers ask for a visible link).
 */
import { escapeHtml } from '../../lib/html.ts';
import type { MessageContact } from './message.ts';
import type { TagValues } from './merge-tags.ts';
import type { PlanSource } from './message-plan.ts';
import { markFooter } from './plan-footer.ts';
import { addPiece, piecesIn, type MarkedText, type Piece } from './template-marks.ts';

/** What is missing in a text and has to be added. */
export interface FooterNeeds {
  readonly link: boolean;
  /** The postal address of the list's contact. */
  readonly address: boolean;
  /** The list's reminder (decision D62). */
  readonly reminder: boolean;
}

/** `shownText` is the visible text. */
export function footerNeeds(source: PlanSource, marked: MarkedText, shownText: string): FooterNeeds {
  if (source.kind !== 'marketing') return { link: false, address: false, reminder: false };
  return {
    link: !hasUnsubscribeLink(marked),
    address: !hasPostalAddress(source.list.contact, marked, shownText),
    reminder: !showsReminder(source.list.remindMessage ?? '', shownText),
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

/** Whether the reminder is in the text already, whatever its merge tags are filled with. */
function showsReminder(reminder: string, shownText: string): boolean {
  const shown = comparable(shownText);
  return reminder
    .split(/\{[A-Z][A-Z0-9_]*\}/)
    .map((part) => comparable(part).trim())
    .every((part) => shown.includes(part));
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

interface FooterTexts {
  readonly needs: FooterNeeds;
  readonly tags: TagValues;
}

/** What is missing as marked html; empty where nothing is. */
export function htmlFooter(source: PlanSource, marked: MarkedText, { needs, tags }: FooterTexts): string {
  const parts: string[] = [];
  const text = escapeHtml(reminderText(source, needs)).replaceAll(/\r?\n/g, '<br>');
  if (text !== '') parts.push(markFooter(marked, { text, escape: 'html', tags }));
  if (needs.link) {
    const after = insert(marked, '" style="color:#555555;text-decoration:underline">Unsubscribe</a>');
    parts.push(insert(marked, '<a href="') + unsubscribeLink(marked, 'urlStart') + after);
  }
  const lines = needs.address ? contactLines(source.list.contact).map(escapeHtml).join('<br>') : '';
  if (lines !== '') parts.push(insert(marked, lines));
  if (parts.length === 0) return '';
  const open = insert(marked, `<div role="contentinfo" style="${FOOTER_STYLE}">`);
  return open + parts.join(insert(marked, '<br>\n')) + insert(marked, '</div>\n');
}

/** What is missing as marked plain text; empty where nothing is. */
export function plainFooter(source: PlanSource, marked: MarkedText, { needs, tags }: FooterTexts): string {
  const text = reminderText(source, needs);
  const reminder = text === '' ? '' : markFooter(marked, { text, escape: 'plain', tags });
  const link = needs.link ? insert(marked, 'Unsubscribe: ') + unsubscribeLink(marked, 'plain') : '';
  const above = [reminder, link].filter((part) => part !== '').join(insert(marked, '\n'));
  const lines = needs.address ? contactLines(source.list.contact).join('\n') : '';
  const parts = [above, lines === '' ? '' : insert(marked, lines)].filter((part) => part !== '');
  if (parts.length === 0) return '';
  return insert(marked, '\n\n--\n') + parts.join(insert(marked, '\n\n')) + insert(marked, '\n');
}

/** The owner's reminder, or ours where a link has to be explained and the owner wrote none. */
function reminderText(source: PlanSource, needs: FooterNeeds): string {
  if (needs.reminder) return source.list.remindMessage?.trim() ?? '';
  return needs.link && !source.list.remindMessage?.trim() ? reason(source) : '';
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
