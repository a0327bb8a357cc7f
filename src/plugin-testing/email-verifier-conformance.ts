/**
 * The contract of an email verifier (`src/plugin-api/email-verifier.ts`) as rules that are played against a vendor of the test: a server
 * on this machine that behaves as the rule needs it.
 */
import type { EmailVerifierRegistration } from '../plugin-api/index.ts';
import { requireThat, type ConformanceRule } from './conformance-rule.ts';
import { settingsRules } from './settings-rules.ts';
import type { EmailVerifierConformance } from './test-verifier-vendor.ts';
import { verifierFailureRules } from './verifier-failure-rules.ts';
import { verifierRules } from './verifier-rules.ts';

/** The limits that the host sets, by the keys of the registration. */
const LIMITS = {
  ...{ addressesMax: 500, callsMax: 25, replySecondsMax: 110 },
  ...{ callsPerMinuteMax: 1_000_000, perMinuteMax: 1_000_000 },
} as const;

/** The rules for this registration, to be run by any test runner. */
export function emailVerifierConformance(
  registration: EmailVerifierRegistration,
  conformance: EmailVerifierConformance,
): readonly ConformanceRule[] {
  return [
    { name: 'its limits are those that the host takes', check: async () => checkLimits(registration) },
    ...settingsRules(registration, conformance),
    ...verifierRules(registration, conformance),
    ...verifierFailureRules(registration, conformance),
  ];
}

function checkLimits(registration: EmailVerifierRegistration): void {
  for (const key of ['addressesMax', 'callsMax', 'replySecondsMax', 'callsPerMinuteMax', 'perMinuteMax'] as const) {
    const value = registration[key];
    if (value === undefined && key !== 'addressesMax') continue;
    requireThat(
      Number.isInteger(value) && value !== undefined && value >= 1 && value <= LIMITS[key],
      `${key} is ${value}; it must be a whole number from 1 to ${LIMITS[key]}.`,
    );
  }
}
