/**
 * The contract of an email verifier: whether mail to an address can arrive, asked before anything is sent. The host reads people,
 * calls in batches, keeps to limits, and stores results; a verifier answers. It sends no mail.
 */
import type { LookupFunction } from 'node:net';
import type { ConnectionTest, DriverSettings, SettingsCheck, SettingsInput } from './sending-driver.ts';
import type { OpenVendorHttp } from './vendor-http.ts';

/**
 * - `deliverable`: nothing speaks against the address.
 * - `undeliverable`: mail to it cannot arrive.
 * - `risky`: it may arrive and should perhaps not be sent; `reasons` say why.
 * - `unknown`: there was no answer; ask again later. Never guess from a look-up that failed.
 */
export const VERIFICATION_RESULTS = ['deliverable', 'undeliverable', 'risky', 'unknown'] as const;
export type VerificationResult = (typeof VERIFICATION_RESULTS)[number];

/** At most so many reasons of an address. */
export const VERIFICATION_REASONS_MAX = 5;

/** The answer about one address. */
export interface VerifiedAddress {
  readonly result: VerificationResult;
  /**
   * Small letters, digits and `_`, at most 40 of them. Those with a fixed meaning: `syntax`, `no_domain`, `no_mail_server`,
   * `mailbox_missing`, `mailbox_full`, `disposable`, `role`, `catch_all`, `no_mx`, `dns_failed`, `timeout`.
   */
  readonly reasons: readonly string[];
}

/**
 * The verifier cannot be used now: it is away, the credentials are wrong, or nothing is left of what was paid for. The run pauses with this
 * sentence, and tries again by itself after a while. The host removes secret settings from the sentence.
 */
export class VerifierError extends Error {
  /** How long to wait at least, if the service says so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, { retryAfterSeconds }: { readonly retryAfterSeconds?: number | undefined } = {}) {
    super(message);
    this.name = 'VerifierError';
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** What is used while addresses are verified; it may keep connections and answers. */
export interface EmailVerifier {
  /**
   * One answer for each address, in the order of the addresses; each address is given once. Throws `VerifierError` when there are no
   * answers: then nothing of the call is kept, and the same addresses come again. `signal` fires when nobody waits any more.
   */
  verify(
    addresses: readonly string[],
    options: { readonly signal: AbortSignal },
  ): Promise<readonly VerifiedAddress[]> | readonly VerifiedAddress[];
  /** Whether it can be used with these settings. Costs nothing, and verifies no address. */
  test(): Promise<ConnectionTest>;
  /** Ends what is open, calls that are under way among it: nobody waits for them. */
  close(): Promise<void>;
}

/** What the host gives a verifier besides the server's own settings. */
export interface VerifierOptions {
  /** How long one answer of a server may take, in milliseconds: `replySecondsMax` of the registration. */
  readonly replyTimeoutMs: number;
  /** The DNS servers of the installation, `192.0.2.1` or `192.0.2.1:53`; none: those of the system. */
  readonly dnsServers: readonly string[];
  /** Resolves every host name that is connected to; fails for those that a customer's server may not be at. Absent: any may. */
  readonly lookup?: LookupFunction | undefined;
  /** Opens kept-open connections to a vendor's web interface, guarded as `lookup` is. `httpVerifier` uses it. */
  readonly openHttp?: OpenVendorHttp | undefined;
}

/** The entry that a plugin adds under the registry hook `register_email_verifier`. */
export interface EmailVerifierRegistration {
  /** Slug of the verifier: `address-check`. */
  readonly type: string;
  readonly name: string;
  readonly description: string;
  /** Keys of the server's settings, in the order of the form; the host refuses others. */
  readonly configKeys: readonly string[];
  /** Those that are credentials: stored encrypted, never returned. */
  readonly secretKeys: readonly string[];
  readonly iconUrl?: string | undefined;
  readonly createUrl?: string | undefined;
  /** Addresses of one call, 1 to 500. */
  readonly addressesMax: number;
  /** Calls at once in a run, 1 to 25; 1 if absent. What one call answers is kept when another one fails. */
  readonly callsMax?: number | undefined;
  /** Calls a minute that the service takes from one account; absent: any number. The host keeps to it over all processes. */
  readonly callsPerMinuteMax?: number | undefined;
  /** How long one answer of the service may take, 1 to 110; 30 if absent. The host ends a call after 120 seconds. */
  readonly replySecondsMax?: number | undefined;
  /** Addresses a minute that the service takes from one account; absent: any number. The host keeps to it over all processes. */
  readonly perMinuteMax?: number | undefined;
  /** Checks and normalises the settings; errors are named by key. */
  validate(settings: SettingsInput): SettingsCheck;
  /** Makes a verifier from settings that passed `validate`. Opens nothing yet. */
  connect(settings: DriverSettings, options: VerifierOptions): EmailVerifier;
}
