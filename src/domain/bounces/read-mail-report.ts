/**
 * Reads a returned mail: complaint (ARF, RFC 5965), bounce (DSN, RFC 3464 and 6533), or the older texts of programs. Other mails
 * are reported as neither. No database, and no decisions.
 */
import { REPORT_WORD_LENGTH_MAX } from '../tracking/delivery-report.ts';
import { AWAY_SUBJECT, BOUNCE_SENDER, BOUNCE_SUBJECT, DELAYED } from './bounce-wordings.ts';
import { classifyBounce } from './classify-bounce.ts';
import { fieldsOf, readMailParts, type MailParts } from './mail-parts.ts';
import type { MailReport, MailVerdict } from './mail-report.ts';
import { oneLine } from './one-line.ts';

type Finding = Pick<MailReport, 'verdict' | 'statusCode' | 'message'>;

const ORIGINALS = new Set([
  'message/rfc822',
  'text/rfc822-headers',
  'message/global',
  'message/global-headers',
  'message/partial',
]);
/** The beginning of the quoted message, whose text is its author's. */
const QUOTE_BEGINS =
  /\n[-_=*> ]{0,40}(?:(?:this is a copy of the (?:message|body)|below this line is a copy|original (?:message|e-?mail) (?:headers?|follows|text)?|message header|included is a copy|the header of the original|message contents follow|ursprüngliche nachricht|message d'origine|mensaje original|unsent message (?:below|follows)|received:|-{1,40} ?original message|return-path:)|content-type: message\/rfc822)/i;
const TEXT_LOOKED_AT = 6_000;
/** What the sender wrote, and what systems on the way add to it. */
const RECIPIENT_FIELDS = [
  'to',
  'cc',
  'delivered-to',
  'x-original-to',
  'envelope-to',
  'x-envelope-to',
  'x-delivered-to',
];
/** A `From` header is cut here: a name and an address are shorter. */
const SENDER_LENGTH_MAX = 1_000;
/**
 * Groups of fields that are read. A report has one about the message and one for each recipient: one, or several if the address is
 * a mailing list's.
 */
const GROUPS_MAX = 50;

/** Never throws: "cannot be understood" is a verdict, too. */
export async function readMailReport(raw: Buffer): Promise<MailReport> {
  const mail = await readMailParts(raw);
  const report = complaintIn(mail) ?? receiptIn(mail) ?? statusIn(mail) ?? oldBounceIn(mail);
  const finding = report ?? otherIn(mail);
  const isWritten = !report && (finding.verdict === 'none' || isGenerated(mail));
  const addressedTo = RECIPIENT_FIELDS.map((name) => mail.header(name)).filter((value) => value !== '');
  return { ...finding, isWritten, addressedTo, marks: marksOf(mail) };
}

/** For `MailReport.marks`: the headers, the report's own parts, the quoted message, the text. */
function marksOf(mail: MailParts): readonly string[] {
  const parts = [...mail.parts].sort((a, b) => Number(ORIGINALS.has(b.type)) - Number(ORIGINALS.has(a.type)));
  return [mail.headerText, ...parts.map(({ text }) => text), mail.text];
}

/** A complaint in ARF, or in Outlook's own form. */
function complaintIn(mail: MailParts): Finding | undefined {
  const part = mail.parts.find(({ type }) => type === 'message/feedback-report');
  if (part) return complaint(fieldsOf(part.text).get('feedback-type') ?? 'abuse');
  const isArf = /report-type="?feedback-report/i.test(mail.header('content-type'));
  if (isArf) return complaint(/^feedback-type: *(\S+)/im.exec(mail.text)?.[1] ?? 'abuse');
  const isJunkReport =
    /^complaint about message from /i.test(mail.header('subject')) &&
    mail.parts.some(({ type, text }) => ORIGINALS.has(type) && /^x-hmxmroriginalrecipient:/im.test(text));
  return isJunkReport ? complaint('abuse') : undefined;
}

/** Reports of failed authentication (RFC 6591) are about forgers, `not-spam` is the opposite: neither is a complaint. */
function complaint(type: string): Finding {
  const word = oneLine(type).toLowerCase().slice(0, REPORT_WORD_LENGTH_MAX);
  const isNone = word === 'not-spam' || word === 'auth-failure';
  return { verdict: isNone ? 'none' : 'complaint', statusCode: null, message: word || 'abuse' };
}

/** The mail was read or deleted (RFC 8098). */
function receiptIn(mail: MailParts): Finding | undefined {
  const isReceipt =
    mail.parts.some(({ type }) => type === 'message/disposition-notification') ||
    /report-type="?disposition-notification/i.test(mail.header('content-type'));
  return isReceipt ? none() : undefined;
}

function statusIn(mail: MailParts): Finding | undefined {
  const part = mail.parts.find(
    ({ type }) => type === 'message/delivery-status' || type === 'message/global-delivery-status',
  );
  // Gateways that flatten mails leave the same lines in the text.
  const inText = /(?:^|\n)(?:original|final)-recipient: *\S/i.test(mail.text) && /(?:^|\n)action: *\w/i.test(mail.text);
  const text = part?.text ?? (inText ? mail.text : undefined);
  if (text === undefined) return undefined;
  const groups = text.split(/\r?\n[ \t]*\r?\n/, GROUPS_MAX).map(fieldsOf);
  const recipients = groups.filter(
    (group) => group.has('action') || group.has('status') || group.has('final-recipient'),
  );
  const failed = recipients.find((group) => actionOf(group, mail) === 'failed');
  if (failed) return bounceOf(failed, mail);
  if (recipients.some((group) => actionOf(group, mail) === 'delayed'))
    return { verdict: 'delayed', statusCode: null, message: null };
  return recipients.length > 0 ? none() : undefined;
}

type Group = ReadonlyMap<string, string>;

function actionOf(group: Group, mail: MailParts): string {
  const action = /^[a-z]+/.exec((group.get('action') ?? '').toLowerCase())?.[0];
  if (action === 'failed' || action === 'delayed') return action;
  if (action !== undefined) return 'done';
  const status = group.get('status') ?? '';
  if (status.startsWith('4') && DELAYED.test(`${mail.header('subject')} ${firstText(mail)}`.toLowerCase()))
    return 'delayed';
  return status.startsWith('2') ? 'done' : 'failed';
}

function bounceOf(group: Group, mail: MailParts): Finding {
  const status = /[245]\.\d{1,3}\.\d{1,3}/.exec(group.get('status') ?? '')?.[0] ?? null;
  // "smtp; 550 5.1.1 ..." (RFC 3464 2.3.6): the type is not needed.
  const said = oneLine((group.get('diagnostic-code') ?? '').replace(/^[\w.-]{1,40}; ?/, ''));
  const isUseful = /[a-z]{3}/i.test(said);
  const text = isUseful ? said : `${said} ${firstText(mail)}`;
  return {
    verdict: classifyBounce({ status, text }),
    statusCode: status ?? codeIn(said),
    message: oneLine(text) || null,
  };
}

/** Bounces without RFC 3464: recognised by sender and text. */
function oldBounceIn(mail: MailParts): Finding | undefined {
  const subject = mail.header('subject').toLowerCase();
  if (!looksReturned(mail, subject)) return undefined;
  if (AWAY_SUBJECT.test(subject)) return undefined;
  const text = firstText(mail);
  const words = `${subject} ${text}`.toLowerCase().replace(/\s+/g, ' ');
  // "Permanent" and "giving up" also occur in texts that explain a delay.
  if (
    DELAYED.test(words) &&
    !/permanent|giving up|giv(?:e|en) up|could not be delivered to one|has failed|undeliverable/.test(words)
  )
    return { verdict: 'delayed', statusCode: null, message: null };
  const diagnostic = diagnosticIn(text);
  return {
    verdict: classifyBounce({ status: null, text: diagnostic }),
    statusCode: codeIn(diagnostic),
    message: oneLine(diagnostic) || null,
  };
}

function looksReturned(mail: MailParts, subject: string): boolean {
  const sender = mail.header('from').slice(0, SENDER_LENGTH_MAX).toLowerCase();
  const address = sender.split(/[\s<"]/).find((word) => word.lastIndexOf('@') > 0);
  const from = address?.slice(0, address.lastIndexOf('@')) ?? sender;
  const isProgram = BOUNCE_SENDER.test(from) || /^<? *>?$/.test(mail.header('return-path') || 'x');
  if (mail.header('x-failed-recipients') !== '') return true;
  return (
    (isProgram && (BOUNCE_SUBJECT.test(subject) || DELAYED.test(subject) || saysReturned(mail))) ||
    /this is the qmail-send program/i.test(mail.text.slice(0, 1_000))
  );
}

function saysReturned(mail: MailParts): boolean {
  return BOUNCE_SUBJECT.test(firstText(mail).slice(0, 1_000).toLowerCase());
}

/** From the line with a code or an address on, if there is one: the text before it is only polite. */
function diagnosticIn(text: string): string {
  const start =
    /(?:^|\n)[^\n]{0,200}(?:(?<![\d.])[45]\d\d[ -]|[45]\.\d{1,3}\.\d{1,3}|<[^\s<>@]{1,64}@[^\s<>]{1,255}>:?)/.exec(
      text,
    )?.index;
  return start === undefined ? text : text.slice(start);
}

function otherIn(mail: MailParts): Finding {
  const isAuto =
    /^auto-(?:replied|generated|notified)/i.test(mail.header('auto-submitted')) ||
    ['x-autoreply', 'x-autorespond', 'x-auto-reply', 'x-vacation'].some((name) => mail.header(name) !== '') ||
    /auto[_-]?reply/i.test(mail.header('precedence')) ||
    AWAY_SUBJECT.test(mail.header('subject').toLowerCase());
  return isAuto ? { ...none(), verdict: 'autoReply' } : none();
}

/** A program wrote it without having got a mail (RFC 3834): mail programs unsubscribe their users so. */
function isGenerated(mail: MailParts): boolean {
  return (
    /^auto-generated/i.test(mail.header('auto-submitted')) && !AWAY_SUBJECT.test(mail.header('subject').toLowerCase())
  );
}

function none(): Finding & { verdict: MailVerdict } {
  return { verdict: 'none', statusCode: null, message: null };
}

/** The program's own text, without the returned message. */
function firstText({ text }: MailParts): string {
  const end = QUOTE_BEGINS.exec(text)?.index ?? text.length;
  return text.slice(0, Math.min(end, TEXT_LOOKED_AT));
}

function codeIn(text: string): string | null {
  return /(?<![\d.])[45]\.\d{1,3}\.\d{1,3}(?![\d.])/.exec(text)?.[0] ?? null;
}
