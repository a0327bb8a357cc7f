/** What a conformance suite for drivers needs of a test: a vendor that behaves as each rule needs it. */
import type { DriverOptions, SettingsInput, WebhookEvent, WebhookRequest } from '../plugin-api/index.ts';

/**
 * What the vendor does with all that comes from now on:
 * - `takes`: accepts every message at once;
 * - `slow`: accepts every message after 200 ms;
 * - `refuses`, `defers`: answers every message with a final, or a passing, no;
 * - `is away`: takes no connection, or ends each at once;
 * - `never answers`: takes every message and answers nothing to it.
 */
export type VendorBehaviour = 'takes' | 'slow' | 'refuses' | 'defers' | 'is away' | 'never answers';

/** A message that the vendor has taken. */
export interface TakenMessage {
  readonly to: string;
  /** The sender of the envelope, where the vendor takes one. */
  readonly from?: string;
  /** By which the vendor's reports of bounces and complaints name it. */
  readonly id: string;
  readonly content: string;
}

/** A server on this machine that plays the vendor. It begins with `takes`. */
export interface TestVendor {
  /** Settings of a sending server, as a person enters them, that lead to it. */
  readonly settings: SettingsInput;
  behave(how: VendorBehaviour): void;
  taken(): readonly TakenMessage[];
  /** Connections: all that were ever opened, those of now, and the most at the same time. */
  connections(): { readonly ever: number; readonly now: number; readonly most: number };
  close(): Promise<void>;
}

export interface WebhookCase {
  /** As the vendor posts it, signed for `settings`. */
  readonly request: WebhookRequest;
  /** What it reports; one case must report an event of a kind that the driver does not know. */
  readonly events: readonly WebhookEvent[];
}

export interface SendingDriverConformance {
  /** Starts a vendor; each rule has its own. */
  readonly startVendor: () => Promise<TestVendor>;
  /** For each key that can be wrong: a wrong value, in place of that of the vendor's `settings`. */
  readonly wrongSettings: Readonly<Record<string, unknown>>;
  /** Needed for a preset of SMTP: how it gets that driver, as `DriverOptions` say. */
  readonly connectSmtp?: (options: DriverOptions) => NonNullable<DriverOptions['connectSmtp']>;
  /** Needed where the registration has a webhook. */
  readonly webhook?: { readonly settings: SettingsInput; readonly cases: readonly WebhookCase[] };
}
