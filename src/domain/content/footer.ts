/**
 * What a marketing mail must show when its author forgot it: who writes, where from, and how to stop it (CAN-SPAM,
 * and the bulk sender rules of the big mailbox providers ask for a visible link).
 */
import { escapeHtml } from '../../lib/html.ts';
import type { MessageContact, MessageSource } from './message.ts';
import { addPiece, piecesIn, type MarkedText } from './template-marks.ts';

/** The text shows its reader a way to unsubscribe, as far as can be seen without running it. */
export function hasUnsubscribeLink(marked: MarkedText): boolean {
  return piecesIn(marked.text, marked.pieces).some(({ piece }) => {
    if (piece.kind === 'insert') return false;
    return (piece.kind === 'tag' ? piece.name : piece.source.toUpperCase()).includes('UNSUBSCRIBE_URL');
  });
}

/** The footer as marked html. */
export function htmlFooter(source: MessageSource, marked: MarkedText): string {
  const lines = contactLines(source.list.contact).map(escapeHtml).join('<br>');
  const before =
    '<div role="contentinfo" style="margin:24px 0 0;padding:16px;font:12px/1.5 sans-serif;color:#555555;text-align:center">' +
    `${escapeHtml(reason(source))}<br>\n<a href="`;
  const after = `" style="color:#555555;text-decoration:underline">Unsubscribe</a>${lines === '' ? '' : `<br>\n${lines}`}</div>\n`;
  return around(marked, { before, after, escape: 'urlStart' });
}

/** The footer as marked plain text. */
export function plainFooter(source: MessageSource, marked: MarkedText): string {
  const before = `\n\n--\n${reason(source)}\nUnsubscribe: `;
  const lines = contactLines(source.list.contact).join('\n');
  return around(marked, { before, after: lines === '' ? '\n' : `\n\n${lines}\n`, escape: 'plain' });
}

function around(marked: MarkedText, text: { before: string; after: string; escape: 'urlStart' | 'plain' }): string {
  const before = addPiece(marked.pieces, { kind: 'insert', segment: text.before });
  const link = addPiece(marked.pieces, { kind: 'tag', name: 'UNSUBSCRIBE_URL', escape: text.escape });
  return before + link + addPiece(marked.pieces, { kind: 'insert', segment: text.after });
}

function reason(source: MessageSource): string {
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
