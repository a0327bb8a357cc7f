/**
 * How a driver lets its vendor report on messages (specification 4.13): the vendor posts to `/webhook/{type}/{uid}`, the host
 * finds the server and its settings, the driver says whether the request is genuine and what it means. The host recognises
 * repeats, finds the messages and acts by its own policy.
 */

/** The server's settings, credentials among them. */
type ServerSettings = Readonly<Record<string, string | number | boolean>>;

export interface WebhookRequest {
  /** `GET` only where the receiver names it in `methods`. */
  readonly method: 'GET' | 'POST';
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** The unchanged bytes, because signatures are made of bytes. At most 1 MB. */
  readonly body: Uint8Array;
  /** By the host's clock, for signatures that expire. */
  readonly receivedAt: Date;
}

interface MessageEvent {
  /** The vendor's id of the event: a repeated id is ignored. */
  readonly id: string;
  /** The `runtimeMessageId` that `send` returned. */
  readonly messageId: string;
  /**
   * The `idempotencyKey` of the message, where the driver has attached it and the vendor returns it; its dot may be a hyphen or an
   * underscore. Looked up first: it is known also when the vendor's id was lost with a process.
   */
  readonly ownId?: string | undefined;
}

export interface DeliveredEvent extends MessageEvent {
  readonly kind: 'delivered';
}

export interface BouncedEvent extends MessageEvent {
  readonly kind: 'bounced';
  /**
   * `hard`: the mailbox does not exist. `soft`: the mailbox did not accept it this time. `blocked`: sender or message were
   * refused. `unclear`: the vendor says only that it has failed for good, and Mailwright decides by `statusCode` and `description`. What is only
   * delayed is `ignored`.
   */
  readonly bounceType: 'hard' | 'soft' | 'blocked' | 'unclear';
  /** RFC 3463, where the vendor gives one. */
  readonly statusCode?: string | undefined;
  readonly description?: string | undefined;
}

export interface ComplainedEvent extends MessageEvent {
  readonly kind: 'complained';
  /** `abuse` where the vendor does not say. */
  readonly feedbackType?: string | undefined;
  readonly description?: string | undefined;
}

/**
 * The recipient wants no more mail: by a link or a header of the vendor's own, not by Mailwright's. Only where it is about this person; a change of
 * the vendor's lists without a message is `ignored`.
 */
export interface UnsubscribedEvent extends MessageEvent {
  readonly kind: 'unsubscribed';
}

/** An event that the host does not need or this driver does not know: it is logged, never dropped in silence. */
export interface IgnoredEvent {
  readonly kind: 'ignored';
  /** The vendor's name for it. */
  readonly name: string;
}

export type WebhookEvent = DeliveredEvent | BouncedEvent | ComplainedEvent | UnsubscribedEvent | IgnoredEvent;

export interface WebhookReceiver {
  /** Absent: `POST` only. */
  readonly methods?: readonly ('GET' | 'POST')[];
  /**
   * The vendor signs nothing (not the whole body): whoever knows the secret address is believed. Say so in the description of the settings.
   */
  readonly isUnsigned?: true;
  /** The answer while the events cannot be taken (also after WebhookBusyError), so that this vendor repeats them: 503 if absent. */
  readonly busyStatus?: 429 | 503;
  /** The address to enter at the vendor, from that of the server. Absent: the same. */
  address?(url: string, settings: ServerSettings): string;
  /** Whether the vendor sent this. Compare digests in constant time. Called before `parse`. Has five seconds, as `parse` has. */
  verify(request: WebhookRequest, settings: ServerSettings): boolean | Promise<boolean>;
  /** The events in the request. Throws when it cannot be read. */
  parse(request: WebhookRequest, settings: ServerSettings): readonly WebhookEvent[] | Promise<readonly WebhookEvent[]>;
}
