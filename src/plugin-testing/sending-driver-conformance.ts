/**
 * The contract of a sending driver (`src/plugin-api/sending-driver.ts`) as rules that are played against a vendor of the test: a server
 * on this machine that behaves as the rule needs it.
 */
import type { SendingDriverRegistration } from '../plugin-api/index.ts';
import type { ConformanceRule } from './conformance-rule.ts';
import { identityRules } from './identity-rules.ts';
import { sendingRules } from './sending-rules.ts';
import { settingsRules } from './settings-rules.ts';
import type { SendingDriverConformance } from './test-vendor.ts';
import { webhookRules } from './webhook-rules.ts';

/** The rules for this registration, to be run by any test runner. */
export function sendingDriverConformance(
  registration: SendingDriverRegistration,
  conformance: SendingDriverConformance,
): readonly ConformanceRule[] {
  return [
    ...settingsRules(registration, conformance),
    ...sendingRules(registration, conformance),
    ...webhookRules(registration, conformance),
    ...identityRules(registration, conformance),
  ];
}
