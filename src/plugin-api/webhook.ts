/**
 * How a driver lets its vendor report on messages (specification 4.13): the vendor posts to `/webhook/{type}/{uid}`, the host
 * finds the server and its settings, the driver says whether the request is genuine and what it means. The host recognises
 * repeats, finds the messages and acts by its own policy.
 */

/** The server's settings, credentials among them. */
type ServerSettings = Readonly<Record<string, string | number | boolean>>;

export interface WebhookRequest {
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
}

export interface DeliveredEvent extends MessageEvent {
  readonly kind: 'delivered';
}

export interface BouncedEvent extends MessageEvent {
  readonly kind: 'bounced';
  /**
   * `hard`: the mailbox does not exist. `soft`: the mailbox did not accept it this time. `blocked`: sender or message were
   * refused. What is only delayed is `ignored`.
   */
  readonly bounceType: 'hard' | 'soft' | 'blocked';
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

/** An event that the host does not need or this driver does not know: it is logged, never dropped in silence. */
export interface IgnoredEvent {
  readonly kind: 'ignored';
  /** The vendor's name for it. */
  readonly name: string;
}

export type WebhookEvent = DeliveredEvent | BouncedEvent | ComplainedEvent | IgnoredEvent;

export interface WebhookReceiver {
  /** Whether the vendor sent this. Compare digests in constant time. Called before `parse`. */
  verify(request: WebhookRequest, settings: ServerSettings): boolean | Promise<boolean>;
  /** The events in the request. Throws when it cannot be read. */
  parse(request: WebhookRequest, settings: ServerSettings): readonly WebhookEvent[] | Promise<readonly WebhookEvent[]>;
}
