/**
 * The noun of this module: a message that is compiled once per campaign and filled once per recipient. This module knows
 * templates, merge tags and MIME; it never reads a database, opens a socket or signs a link.
 */
import type { MailData } from './mail-data.ts';
import type { MessageFiles } from './message-files.ts';

/** In UTF-8. Far more than any mailbox shows; this limits compile time and memory (decision record 0406). */
export const HTML_MEGABYTES_MAX = 4;
export const HTML_BYTES_MAX = HTML_MEGABYTES_MAX * 1_048_576;
/** Half of the limit of html. */
export const PLAIN_LENGTH_MAX = 524_288;
/** The specification's limit (section 7), and that of a header line (RFC 5322 2.1.1). */
export const SUBJECT_LENGTH_MAX = 998;
/** The length limit of a display name after filling. */
export const DISPLAY_NAME_LENGTH_MAX = 250;
/** More links than any newsletter has; each needs a row of statistics. */
export const LINKS_MAX = 1_000;
/** Places of tracked links in a message: each takes time for each recipient. */
export const LINK_PLACES_MAX = 10_000;

/** The part of a message that a template is, named like the API's fields. */
export type PartName = 'subject' | 'preheader' | 'fromName' | 'html' | 'plain';

/** The postal address and contact of the list's owner (specification 2.1); the law demands it in every mail. */
export interface MessageContact {
  readonly company: string;
  readonly address1: string;
  readonly address2: string;
  readonly city: string;
  readonly state: string;
  readonly zip: string;
  /** The country's name. */
  readonly country: string;
  readonly phone: string;
  readonly email: string;
  readonly url: string;
}

/** For mails without a list. */
export const NO_CONTACT: MessageContact = {
  company: '',
  address1: '',
  address2: '',
  city: '',
  state: '',
  zip: '',
  country: '',
  phone: '',
  email: '',
  url: '',
};

/** The footer that the customer's plan adds to its marketing mails; an empty text adds nothing. */
export interface MessageFooter {
  readonly html: string;
  readonly plain: string;
}

/** Everything of a message that is the same for all its recipients. */
export interface MessageSource {
  /**
   * `marketing` carries List-Unsubscribe, List-Id, Precedence and a visible unsubscribe link; `transactional`
   * (a confirmation, a notice) carries none of them.
   */
  readonly kind: 'marketing' | 'transactional';
  /** Transactional only: its recipient is on the list (a welcome), so it has List-Unsubscribe and List-Id nevertheless. */
  readonly isToMember?: boolean;
  readonly customerUid: string;
  readonly campaign: { readonly uid: string; readonly name: string };
  readonly list: {
    readonly uid: string;
    readonly name: string;
    readonly contact: MessageContact;
    /** Why the reader gets the mail, in the owner's words; merge tags are filled in. Marketing only. */
    readonly remindMessage?: string | null;
  };
  readonly from: { readonly name: string; readonly email: string };
  readonly replyTo: string | null;
  readonly subject: string;
  /** What lists of mails show behind the subject: hidden at the beginning of the html. */
  readonly preheader?: string;
  /** At least one of `html` and `plain` has content; a missing plain text is made from the html. */
  readonly html: string | null;
  readonly plain: string | null;
  /** Marketing only. */
  readonly footer?: MessageFooter | null;
  /** Files that are sent with every copy, and pictures that the html shows. */
  readonly files?: MessageFiles;
  readonly trackOpens: boolean;
  readonly trackClicks: boolean;
  /** Every custom field of the list by its upper-case tag, with the default for people who have no value. */
  readonly fieldDefaults: Readonly<Record<string, string>>;
  /** Merge tags of plugins that the texts name, with the texts for people without a value. */
  readonly pluginTags?: Readonly<Record<string, string>>;
}

/** The personal addresses in one recipient's message; from the module that signs links (tracking). */
export interface RecipientLinks {
  /** The tracked address of link `no`, leading to `url` (merge tags already filled in). */
  click(no: number, url: string): string;
  /** Address of the tracking pixel. */
  open(): string;
  /** Address of the page that offers to unsubscribe on GET and does it on POST (RFC 8058). */
  unsubscribe(): string;
  /** The mail address to which any mail unsubscribes; undefined or absent: there is none. */
  unsubscribeMail?(): string | undefined;
  webView(): string;
  updateProfile(): string;
  /** Address of the page that confirms a subscription; only in the mail that asks for it. */
  confirm?(): string;
  /**
   * The parts of addresses that all recipients of a message share: everything except a code, which is this recipient's from now
   * on. `targets` are the links that lead everybody to the same place; `last` is the answer for the message before, and is
   * returned again if possible. Without it, addresses are made one by one.
   */
  share?(targets: readonly TrackedLink[], last: SharedLinks | undefined): SharedLinks;
}

/** The addresses of a message, for one recipient after the other. */
export interface SharedLinks {
  /** The parts before and after the code; undefined: the address must be made for each recipient. */
  around(link: SharedLink): CodedAddress | undefined;
}

/** The kinds of links in a message. */
export type SharedLink =
  | { readonly kind: 'open' | 'unsubscribe' | 'unsubscribeMail' | 'webView' | 'updateProfile' }
  | { readonly kind: 'click'; readonly no: number; readonly url: string };

export interface CodedAddress {
  readonly before: string;
  readonly code: RecipientCode;
  readonly after: string;
}

/** Letters, digits, `-` and `_`, and at most one dot, at the end. */
export interface RecipientCode {
  /** Writes at most CODE_LENGTH_MAX bytes at `start`, and returns where they end. */
  write(memory: Buffer, start: number): number;
}

/** So that a code fits into a line of quoted-printable. */
export const CODE_LENGTH_MAX = 75;

/** Values of plugins' merge tags, by tag. */
export type PluginValues = Readonly<Record<string, string>>;

export type FieldValue = string | number | boolean | null;

/** The data that differs between recipients. */
export interface MessageRecipient {
  readonly email: string;
  readonly uid: string;
  /** Values of custom fields by upper-case tag. */
  readonly fields: Readonly<Record<string, FieldValue>>;
  readonly pluginValues?: PluginValues | undefined;
  /** `data.*` of Liquid; what is missing is empty. */
  readonly data?: MailData | undefined;
  /** `payload.*` of Liquid. */
  readonly payload?: MailData | undefined;
  /** The Message-ID header with its angle brackets, the same for all attempts at this recipient. */
  readonly messageId: string;
  readonly links: RecipientLinks;
}

export interface FilledMessage {
  /** RFC 5322 bytes: CRLF, no line over 998 bytes, body lines at most 76, not dot-stuffed; memory of this copy alone. */
  readonly content: Buffer;
  readonly messageId: string;
  /** The part before the @ of the Message-ID: shorter, and as stable. */
  readonly idempotencyKey: string;
  /** The bare addresses for the envelope, with ASCII domains. */
  readonly envelope: { readonly from: string; readonly to: string };
  /** An address has non-ASCII letters before the @: only a server with SMTPUTF8 can take it (RFC 6531). */
  readonly needsSmtpUtf8: boolean;
}

export interface TrackedLink {
  /** Position in the message, from 0; equal addresses share one. */
  readonly no: number;
  /** The address as the author wrote it, with merge tags. */
  readonly url: string;
}

export interface CompiledMessage {
  readonly links: readonly TrackedLink[];
  /** Warnings for the author, one sentence each; none of them stops sending. */
  readonly warnings: readonly string[];
  /** The author's own html (or plain text, without html) has an unsubscribe link; the added footer does not count. */
  readonly showsUnsubscribe: boolean;
  /** The merge tags of plugins for which a recipient needs values. */
  readonly pluginTags: {
    readonly names: readonly string[];
    readonly campaignUid: string;
    readonly listUid: string;
    readonly customerUid: string;
  };
  /** Bytes of the parts that are the same for everybody. */
  readonly staticBytes: number;
  /**
   * Composes the message of one recipient: at once, or asynchronously when Liquid has to be run. Throws ValidationError when the
   * address is invalid or a Liquid template fails for this recipient.
   */
  fill(recipient: MessageRecipient): FilledMessage | Promise<FilledMessage>;
  /** The visible message, without MIME and without pixel: for previews, checks and the web view. Its html is hostile: show it in a sandbox. */
  texts(recipient: MessageRecipient): MessageTexts | Promise<MessageTexts>;
}

export interface MessageTexts {
  readonly subject: string;
  /** Undefined: the message has only plain text. */
  readonly html: string | undefined;
  readonly plain: string;
}
