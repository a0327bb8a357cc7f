/** What the conformance suite for email verifiers needs of a test: a vendor that behaves as each rule needs it. */
import type { SettingsInput, VerificationResult, VerifierOptions } from '../plugin-api/index.ts';
import type { SettingsConformance } from './settings-rules.ts';

/**
 * What the vendor does with all that comes from now on:
 * - `answers`: says at once what it knows of each address;
 * - `slow`: the same after 200 ms;
 * - `refuses`: takes no question: wrong credentials, or nothing is left of what was paid for;
 * - `fails`: answers that it has failed;
 * - `is busy`: asks to come again after `waitSeconds`;
 * - `is away`: takes no connection, or ends each at once;
 * - `never answers`: takes every question and answers nothing.
 */
export type VerifierVendorBehaviour =
  | 'answers'
  | 'slow'
  | 'refuses'
  | 'fails'
  | 'is busy'
  | 'is away'
  | 'never answers';

/** A server on this machine that plays the vendor. It begins with `answers`. */
export interface TestVerifierVendor {
  /** Settings of a verification server, as a person enters them, that lead to it. */
  readonly settings: SettingsInput;
  /** For a verifier that asks name servers. */
  readonly dnsServers?: VerifierOptions['dnsServers'];
  behave(how: VerifierVendorBehaviour): void;
  /** Addresses that it was asked about; of a vendor that sees only domains, those. */
  asked(): readonly string[];
  /** Everything that it was asked, tests among it. */
  requests(): number;
  /** Absent: there are none, as with name servers. */
  connections?(): { readonly ever: number; readonly now: number };
  close(): Promise<void>;
}

export interface EmailVerifierConformance extends SettingsConformance {
  /** Starts a vendor; each rule has its own. */
  readonly startVendor: () => Promise<TestVerifierVendor>;
  /** Another address for each number, of which the verifier must say this. Leave out a result that it cannot have. */
  readonly addresses: Readonly<
    { [Result in VerificationResult]?: (no: number) => string } & { deliverable: (no: number) => string }
  >;
  /** If the vendor can be `is busy`: for how long it asks to wait then. */
  readonly waitSeconds?: number;
}
