/**
 * Takes a message apart: marks templates, reads the html, finds links, makes the plain text. All work that grows with the length
 * of an author's text is done here, without process or recipient, so it can run in a thread (plan-worker.ts).
 */
import type { PartName } from './message.ts';
import { ValidationError } from '../../lib/errors.ts';
import { checkMessage } from './check-message.ts';
import { placeImages } from './compile-files.ts';
import { hasUnsubscribeLink } from './footer.ts';
import { LinkBook } from './link-book.ts';
import { tagValues, type TagValues } from './merge-tags.ts';
import type { MessagePlan, PlanFault, PlanSource } from './message-plan.ts';
import { withHtmlFooter } from './plan-footer.ts';
import { planHtml } from './plan-html.ts';
import { planPlain } from './plan-plain.ts';
import { planText } from './plan-text.ts';
import { withPreheader } from './preheader.ts';
import { FAULT_CODE } from './template-fault.ts';
import {
  addressWarnings,
  BROKEN_LINKS_SHOWN_MAX,
  brokenLinkWarning,
  clippedWarnings,
  missingAddressWarning,
  missingImageWarnings,
  unknownTagWarnings,
} from './message-warnings.ts';
import { markTemplate, type MarkedText } from './template-marks.ts';

/**
 * The plan of a message. It collects faults of templates, so that the author sees all at once; any other fault is thrown as a
 * ValidationError.
 */
export function planMessage(source: PlanSource): MessagePlan {
  const addresses = checkMessage(source);
  const tags = tagValues(source);
  const book = new LinkBook();
  const faults: PlanFault[] = [];
  const marked = markParts(source, tags, faults);
  const missingImages = placeImages(marked.html, source.images, addresses.from.domain);
  const showsUnsubscribe = hasUnsubscribeLink(source.html?.trim() ? marked.html : marked.plain);
  const footer = source.kind === 'marketing' ? source.footer : undefined;
  if (footer) marked.html = withHtmlFooter(marked.html, footer, tags);
  const hasHtml = marked.html.text.trim() !== '';
  const html = hasHtml
    ? planHtml(withPreheader(ownCopy(marked.html), marked.preheader), { source, tags, book })
    : undefined;
  const plain = planPlain(source, { plain: marked.plain, html: marked.html, tags, book });
  return {
    addresses,
    parts: {
      subject: planText(marked.subject, tags),
      preheader: planText(marked.preheader, tags),
      fromName: planText(marked.fromName, tags),
      html: html?.text,
      plain: plain.text,
    },
    links: book.links,
    linkAddresses: book.addresses,
    showsUnsubscribe,
    warnings: [
      ...addressWarnings(addresses),
      ...clippedWarnings(Buffer.byteLength(source.html ?? '')),
      ...unknownTagWarnings(Object.values(marked)),
      ...missingImageWarnings(missingImages),
      ...(html?.addsAddress ? [missingAddressWarning('html')] : []),
      ...(plain.addsAddress ? [missingAddressWarning('plain')] : []),
      ...[...book.broken].slice(0, BROKEN_LINKS_SHOWN_MAX).map(brokenLinkWarning),
    ],
    faults,
  };
}

function markParts(source: PlanSource, tags: TagValues, faults: PlanFault[]) {
  const mark = (part: PartName, text: string | null, escape: 'header' | 'html' | 'plain'): MarkedText => {
    const template = { part, escape, tags };
    try {
      return markTemplate({ ...template, text: text ?? '' });
    } catch (error) {
      if (!(error instanceof ValidationError) || error.code !== FAULT_CODE) throw error;
      faults.push({ fields: error.fields, code: error.code, message: error.message });
      return markTemplate({ ...template, text: '' });
    }
  };
  return {
    subject: mark('subject', source.subject, 'header'),
    preheader: mark('preheader', source.preheader ?? '', 'header'),
    fromName: mark('fromName', source.from.name, 'header'),
    html: mark('html', source.html, 'html'),
    plain: mark('plain', source.plain, 'plain'),
  };
}

/** The plain text is made from the same marks later, so the html uses its own copy of the pieces. */
function ownCopy(marked: MarkedText): MarkedText {
  return { ...marked, pieces: marked.pieces.map((piece) => ({ ...piece })) };
}
