/** The header block of a message: each header once, the static ones written at compile time. */
import { assert } from '../../lib/errors.ts';
import { fillText, type FillScope, type Segment } from './fill-scope.ts';
import { dateHeader, mailboxHeader, textHeader, tokenHeader } from './mail-headers.ts';
import type { BareAddress } from './mail-address.ts';
import {
  CODE_LENGTH_MAX,
  DISPLAY_NAME_LENGTH_MAX,
  SUBJECT_LENGTH_MAX,
  type CodedAddress,
  type MessageSource,
  type RecipientLinks,
  type SharedLinks,
} from './message.ts';
import { codeInHeader, type Chunk } from './quoted-printable.ts';
import { headerTooLong } from './template-fault.ts';

/** The name of this product for the feedback loops of mailbox providers (their rule: 5 to 15 characters). */
const FEEDBACK_SENDER = 'mailwright';
/** The length limit of an address of ours in a header; RFC 5322 allows a line of 998. */
const HEADER_URL_LENGTH_MAX = 900;

const MESSAGE_ID = /^<[!-;=?-~]{1,120}@[!-;=?-~]{1,120}>$/;
const HEADER_URL = /^https?:\/\/[!-;=?-~]+$/;
const HEADER_ADDRESS = /^[!-;=?A-~]+@[!-;=?A-~]+$/;
/** Some mail programs do not send a mail without a subject. */
const UNSUBSCRIBE_SUBJECT = '?subject=unsubscribe';

interface HeaderParts {
  readonly source: MessageSource;
  readonly from: BareAddress;
  readonly replyTo: BareAddress | undefined;
  readonly fromName: readonly Segment[];
  readonly subject: readonly Segment[];
}

/** The headers down to MIME-Version; the content headers follow. */
export interface CompiledHeaders {
  /** The headers of one recipient; all of them when `rest` is empty. */
  readonly write: (scope: FillScope, to: string) => string;
  /** The rest when links are shared: the same for all except for a code. */
  readonly rest: readonly Chunk[];
}

/** RFC 3834: automatic replies are not sent to it. Campaigns have `Precedence` for that. */
const AUTO_SUBMITTED = 'Auto-Submitted: auto-generated\r\n';
const LAST_HEADER = 'MIME-Version: 1.0\r\n';

export function compileHeaders(parts: HeaderParts, shared: SharedLinks | undefined): CompiledHeaders {
  const { source, from } = parts;
  const nameWithin = within(source, 'fromName', DISPLAY_NAME_LENGTH_MAX);
  const fromHeader = compileHeader(parts.fromName, (name, isFilled) => {
    return mailboxHeader('From', nameWithin(name, isFilled), from.address);
  });
  const subjectWithin = within(source, 'subject', SUBJECT_LENGTH_MAX);
  const subjectHeader = compileHeader(parts.subject, (text, isFilled) =>
    textHeader('Subject', subjectWithin(text, isFilled)),
  );
  const replyTo = parts.replyTo ? tokenHeader('Reply-To', parts.replyTo.address) : '';
  const ownHeaders = (scope: FillScope, to: string): string => {
    const { messageId } = scope.recipient;
    assert(MESSAGE_ID.test(messageId), 'Message-ID is <left@right> in ASCII');
    const start = `${fromHeader(scope)}${tokenHeader('To', to)}${subjectHeader(scope)}`;
    return `${start}${dateHeader(scope.now)}${tokenHeader('Message-ID', messageId)}`;
  };
  if (source.kind === 'transactional') {
    const end = AUTO_SUBMITTED + LAST_HEADER;
    if (!source.isToMember) return { write: (scope, to) => ownHeaders(scope, to) + replyTo + end, rest: [] };
    const listEnd = listIdHeader(source, from.domain) + end;
    return {
      write: (scope, to) => ownHeaders(scope, to) + replyTo + unsubscribeHeadersOf(scope.recipient.links) + listEnd,
      rest: [],
    };
  }
  const end = marketingHeaders(source, from.domain) + LAST_HEADER;
  const unsubscribe = shared?.around({ kind: 'unsubscribe' });
  const mail = shared?.around({ kind: 'unsubscribeMail' });
  if (unsubscribe) return { write: ownHeaders, rest: sharedHeaders({ unsubscribe, mail }, { replyTo, end }) };
  return {
    write: (scope, to) => ownHeaders(scope, to) + replyTo + unsubscribeHeadersOf(scope.recipient.links) + end,
    rest: [],
  };
}

interface UnsubscribeAddresses {
  readonly unsubscribe: CodedAddress;
  readonly mail: CodedAddress | undefined;
}

/** The same for everybody except for the codes in the unsubscribe addresses. */
function sharedHeaders(
  { unsubscribe, mail }: UnsubscribeAddresses,
  { replyTo, end }: { replyTo: string; end: string },
): Chunk[] {
  const [mark, mailMark] = ['x'.repeat(CODE_LENGTH_MAX), 'y'.repeat(CODE_LENGTH_MAX)];
  const address = mail && `${mail.before}${mailMark}${mail.after}`;
  const headers = unsubscribeHeaders(`${unsubscribe.before}${mark}${unsubscribe.after}`, address);
  const [head = '', rest = ''] = headers.split(mark);
  const [middle = '', tail = ''] = rest.split(mailMark);
  if (!mail) return codeInHeader({ before: replyTo + head, code: unsubscribe.code, after: rest + end });
  return [
    ...codeInHeader({ before: replyTo + head, code: unsubscribe.code, after: middle }),
    ...codeInHeader({ before: '', code: mail.code, after: tail + end }),
  ];
}

/** A header without slots is written once. */
function compileHeader(
  segments: readonly Segment[],
  write: (text: string, isFilled: boolean) => string,
): (scope: FillScope) => string {
  if (segments.every((segment) => typeof segment === 'string')) {
    const header = write(segments.join(''), false);
    return () => header;
  }
  return (scope) => write(fillText(segments, scope), true);
}

/**
 * If a recipient's values make a header too long, in a campaign that is this recipient's fault and is recorded in the ledger. A
 * mail of a list has no ledger, and somebody waits for it: there the header is cut, as are texts without values, which were
 * checked when they were saved.
 */
function within({ kind }: MessageSource, part: string, lengthMax: number): (text: string, isFilled: boolean) => string {
  return (text, isFilled) => {
    const { length } = text.trim();
    if (isFilled && kind === 'marketing' && length > lengthMax) throw headerTooLong(part, length, lengthMax);
    return cut(text, lengthMax);
  };
}

function unsubscribeHeadersOf(links: RecipientLinks): string {
  return unsubscribeHeaders(links.unsubscribe(), links.unsubscribeMail?.());
}

/** RFC 2369 and RFC 8058: a web address, which acts on POST only, and for older mail programs a mail address, if there is one. */
function unsubscribeHeaders(url: string, mail: string | undefined): string {
  assert(HEADER_URL.test(url) && url.length <= HEADER_URL_LENGTH_MAX, 'the unsubscribe address fits a header');
  assert(mail === undefined || HEADER_ADDRESS.test(mail), 'the mail address fits a header');
  const byMail = mail === undefined ? '' : `,\r\n <mailto:${mail}${UNSUBSCRIBE_SUBJECT}>`;
  return `${tokenHeader('List-Unsubscribe', `<${url}>${byMail}`)}List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n`;
}

/**
 * List-Id, Gmail's Feedback-ID (three identifiers by which complaints are grouped, then the sender), and Precedence, which
 * prevents out-of-office replies.
 */
function marketingHeaders(source: MessageSource, domain: string): string {
  const feedbackId = [source.campaign.uid, source.customerUid, source.list.uid, FEEDBACK_SENDER].join(':');
  return `${listIdHeader(source, domain)}${tokenHeader('Feedback-ID', feedbackId)}Precedence: bulk\r\n`;
}

/** RFC 2919. */
function listIdHeader(source: MessageSource, domain: string): string {
  const id = `${source.list.uid}.${domain}`;
  const named = mailboxHeader('List-Id', cut(source.list.name, DISPLAY_NAME_LENGTH_MAX), id);
  // Also without a name, the identifier stands in angle brackets.
  return named.endsWith('>\r\n') ? named : tokenHeader('List-Id', `<${id}>`);
}

function cut(value: string, lengthMax: number): string {
  const text = value.trim();
  return text.length <= lengthMax ? text : text.slice(0, lengthMax).replace(/[\ud800-\udbff]$/, '');
}
