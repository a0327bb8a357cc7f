/**
 * The contract of a sending driver: how a message leaves the installation (specification 4.13). The host composes, signs, counts
 * and retries; a driver hands bytes over and reports the result. `send` throws on failure; it never returns a failed result.
 */
import type { LookupFunction } from 'node:net';
import type { FieldErrors } from '../lib/errors.ts';
import type { OpenVendorHttp } from './vendor-http.ts';
import type { VendorIdentities } from './vendor-identities.ts';
import type { WebhookReceiver } from './webhook.ts';

/** One composed message for one recipient. */
export interface OutgoingMessage {
  /** Bare addresses, checked by the host: no display name, no CR, LF or NUL, domain in ASCII unless SMTPUTF8 is needed. */
  readonly envelope: { readonly from: string; readonly to: string };
  /**
   * RFC 5322 bytes: CRLF line ends, no line over 998 bytes, not dot-stuffed. The driver may keep them: they are
   * its own copy, unless its registration says `releasesContent`.
   */
  readonly content: Uint8Array;
  /** The Message-ID header's value, the same for every attempt at this recipient. */
  readonly messageId: string;
  /**
   * The same for every attempt at this recipient and unique to this message: digits, letters and dots, at most 64. For vendors
   * that recognise a repeated request by such a key.
   */
  readonly idempotencyKey: string;
  /**
   * An address in envelope or header has letters outside ASCII before the @: only a server with SMTPUTF8 (RFC 6531)
   * may get it. A driver that cannot hand it over like that refuses it with the status 5.6.7.
   */
  readonly needsSmtpUtf8: boolean;
  /**
   * Whether the message may still be sent: while it waits in the driver, its recipient may unsubscribe or change the address.
   * Asked before the driver starts a message, and again before it sends the content; mostly `true`. When the answer is false,
   * nothing is sent and `send` throws `unavailable`. Absent: it may be sent.
   */
  readonly mayStillLeave?: (() => boolean | Promise<boolean>) | undefined;
}

/** The server has taken responsibility for the message. */
export interface SendResult {
  /** The id that bounces and complaints will name: the vendor's, or the Message-ID where there is none. */
  readonly runtimeMessageId: string;
  /** The server's last reply, for the ledger. */
  readonly reply: string;
}

/**
 * What a failed hand-over means:
 * - `refused`: the server refused finally (SMTP 5xx); trying again is useless.
 * - `deferred`: the server refused for now (SMTP 4xx) for this message.
 * - `unavailable`: the server could not be used (connection, TLS, login, 421); the message was certainly not taken,
 *   and this says nothing about the recipient.
 * - `unknown`: the message was sent completely and no answer came; it may have been accepted.
 */
export type SendingErrorKind = 'refused' | 'deferred' | 'unavailable' | 'unknown';

/**
 * How the message of a `SendingError` begins when the server refused before a recipient was named (SMTP's MAIL): such a reply is
 * about the sender or the server, never about a mailbox.
 */
export const SENDER_REFUSED = 'Sender refused:';

/**
 * Whom a failure concerns, for drivers whose vendor says so in its own way. Without it Mailwright reads code, status and text of the error as
 * a reply of an SMTP server.
 * - `recipient`: this address. `mailbox`: there is no such mailbox, which is a hard bounce.
 * - `message`: every copy of this message (content, size). `sender`: the From address or its domain.
 * - `login`: credentials or rights of the account. `blocked`: the account is suspended; a person has to act.
 * - `rate`: too fast. `quota`: the limit of an hour, a day or a month is reached, or nothing is left to pay with.
 * - `server`: the vendor itself is in trouble, or its address is wrong.
 */
export type FailureMatter =
  | 'recipient'
  | 'mailbox'
  | 'message'
  | 'sender'
  | 'login'
  | 'blocked'
  | 'rate'
  | 'quota'
  | 'server';

/** The server's reply, if there is one. */
export interface SendingErrorDetails {
  /** SMTP reply code or HTTP status. */
  readonly code?: number | undefined;
  /** RFC 3463 status such as `4.7.28`. */
  readonly enhancedStatus?: string | undefined;
  readonly about?: FailureMatter | undefined;
  /** How long the vendor asks to wait, as by `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;
}

export class SendingError extends Error {
  readonly kind: SendingErrorKind;
  readonly code: number | undefined;
  readonly enhancedStatus: string | undefined;
  readonly about: FailureMatter | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(kind: SendingErrorKind, message: string, details: SendingErrorDetails = {}) {
    // A vendor's text may have what no database stores.
    super(message.replaceAll('\0', ' ').toWellFormed());
    this.name = 'SendingError';
    this.kind = kind;
    this.code = details.code;
    this.enhancedStatus = details.enhancedStatus;
    this.about = details.about;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

export type ConnectionTest = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** A live connection (or pool of them) to one sending server. */
export interface SendingDriver {
  /** Messages it keeps in flight at once; the host never hands over more. Changes only with `useConnections`. */
  readonly capacity: number;
  /** Hands one message over. Resolves when the server has accepted it; throws `SendingError` otherwise. */
  send(message: OutgoingMessage): Promise<SendResult>;
  /**
   * Called before the first message of a From address over this connection, with the bare address; not once per message. For what
   * the vendor needs first, or to learn that it does not send for this address. Sends nothing. Throws `SendingError`: `refused` about
   * `sender` stops the campaign at once; any other failure counts as `unavailable`: the messages wait, and the address is asked about again.
   */
  prepareSender?(fromEmail: string): Promise<void>;
  /** How many connections this process may have open from now on; those beyond it end when their messages are done. */
  useConnections?(count: number): void;
  /** Connects and logs in to the server, and sends nothing. */
  test(): Promise<ConnectionTest>;
  /** Finishes messages in flight, then closes every connection. */
  close(): Promise<void>;
}

/** What the host gives a driver besides the server's own settings. */
export interface DriverOptions {
  /**
   * Upper bound of open connections to this server. Where several processes share a fixed number, the host gives each of them only
   * its part of the messages at once.
   */
  readonly connectionsMax: number;
  /** To be called when a connection could not be opened, so that there are fewer; when that began, by `performance.now()`. */
  readonly onConnectionRefused?: ((beganAt: number) => void) | undefined;
  /** The name given in EHLO, a host name or address literal. */
  readonly clientName: string;
  /** How long one reply may take, in milliseconds (RFC 5321 4.5.3.2 asks for minutes). */
  readonly replyTimeoutMs: number;
  /** Resolves every host name that is connected to; fails for those that a customer's server may not be at. Absent: any may. */
  readonly lookup?: LookupFunction | undefined;
  /**
   * Posts a form to a web address from the settings, and returns the body of a 200 (at most 64 KB); throws an Error with a
   * sentence otherwise. Only public addresses and those that the operator allows.
   */
  readonly postForm?: ((url: string, fields: Readonly<Record<string, string>>) => Promise<string>) | undefined;
  /** Opens connections to the vendor's web interface. Only to public addresses and those that the operator allows, where `lookup` is given. */
  readonly openHttp?: OpenVendorHttp | undefined;
  /**
   * Makes a driver of type `smtp` from its settings, for vendors that take SMTP as well. Throws when no active plugin provides it, or a setting
   * is wrong.
   */
  readonly connectSmtp?: ((settings: SettingsInput) => SendingDriver) | undefined;
}

export type SettingsInput = Readonly<Record<string, unknown>>;
export type DriverSettings = Readonly<Record<string, string | number | boolean>>;
export type SettingsCheck =
  | { readonly ok: true; readonly settings: DriverSettings }
  | { readonly ok: false; readonly errors: FieldErrors };

/** Where a sender must be verified before a type of servers sends for it. */
export interface SenderRule {
  /** `vendor`: in the vendor's account. `here`: Mailwright's own check of the domain's DNS is enough. */
  readonly domains: 'here' | 'vendor';
  /** Single addresses, which Mailwright verifies by a mail. `none`: only whole domains count. */
  readonly addresses: 'here' | 'vendor' | 'none';
  /** What one of a customer's servers of this type has verified counts for the others. */
  readonly areShared: boolean;
}

/** The entry a plugin adds under the registry hook `register_sending_server_driver`. */
export interface SendingDriverRegistration {
  /** Slug of the driver: `smtp`, `mailgun-api`. */
  readonly type: string;
  readonly name: string;
  readonly description: string;
  /**
   * Keys of the server's settings, in the order of the form; the host refuses others. With `max_connections` the number of connections
   * grows up to it (20 unless set), and `useConnections` is needed. Else the number is fixed: the setting `connections`, or 5.
   */
  readonly configKeys: readonly string[];
  /** Former names that `validate` still understands, with the present ones; no form shows them. */
  readonly formerKeys?: Readonly<Record<string, string>>;
  /** Those that are credentials: stored encrypted, never returned. */
  readonly secretKeys: readonly string[];
  /**
   * Those that name a program of this machine, which the driver starts. Then only an administrator's servers may have this type, and
   * the host takes only programs of the operator's list (`SENDING_PROGRAMS`), on saving and again before sending.
   */
  readonly programKeys?: readonly string[];
  /** For the card of the type: a picture that the plugin serves, and a colour such as `#3366ff`. */
  readonly iconUrl?: string;
  readonly color?: string;
  /** The page that makes such a server. Absent: `/sending_servers/create/` and the type. */
  readonly createUrl?: string;
  /**
   * For how long at least after `send` threw `unknown` the vendor recognises a message by its `idempotencyKey`. The host then
   * repeats a message with an unknown outcome only within that time; later, or through another server, it could arrive twice.
   * Absent: the vendor knows no such keys.
   */
  readonly idempotencyKeySeconds?: number;
  /** It does not read a message's `content` after `send` has resolved: it gets the host's own bytes. Absent: a copy to keep. */
  readonly releasesContent?: true;
  /** The vendor composes the message from its parts: what arrives is not `content` byte by byte. */
  readonly sendsParts?: true;
  /** The driver puts header lines of the vendor before `content`. */
  readonly addsHeaders?: true;
  /** Checks and normalises the settings; errors are named by key. */
  validate(settings: SettingsInput): SettingsCheck;
  /** Makes a driver from settings that passed `validate`. Opens nothing yet. */
  connect(settings: DriverSettings, options: DriverOptions): SendingDriver;
  /** The vendor signs with DKIM by itself, and a signature of ours would be lost: Mailwright does not sign. */
  readonly signsDkim?: true;
  /**
   * The vendor sets the sender of the envelope itself and takes bounces: they come by its webhook alone. Absent: bounces come by mail to
   * `envelope.from`.
   */
  readonly replacesReturnPath?: true;
  /** Settings without which the vendor's reports are not believed, such as the key that proves them. */
  readonly reportKeys?: readonly string[];
  /**
   * Absent: what is verified here counts, for all servers. With `domains: 'vendor'` and `identities`, a campaign from a sender that the
   * vendor does not list as verified does not start.
   */
  readonly senders?: SenderRule;
  /** The senders of the account. Absent: they cannot be seen from here. */
  identities?(settings: DriverSettings, options: DriverOptions): VendorIdentities;
  /** For what the vendor posts to `/webhook/{type}/{uid}`. Absent: it posts nothing. */
  readonly webhook?: WebhookReceiver;
}
