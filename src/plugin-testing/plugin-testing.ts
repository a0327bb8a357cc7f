/** What the tests of a plugin import as `mailwright/plugin-testing`. */
import { connectInstallation, type TestInstallation } from './test-installation.ts';

export { until, type FiredHook, type ReceivedMail, type TestInstallation } from './test-installation.ts';
export type { CampaignToSend, StartedCampaign } from './send-campaign.ts';
export type { Rest, RestAnswer } from './rest-call.ts';
export type { ConformanceRule } from './conformance-rule.ts';
export { sendingDriverConformance } from './sending-driver-conformance.ts';
export { emailVerifierConformance } from './email-verifier-conformance.ts';
export type { EmailVerifierConformance, TestVerifierVendor, VerifierVendorBehaviour } from './test-verifier-vendor.ts';
export type {
  SendingDriverConformance,
  TakenMessage,
  TestVendor,
  VendorBehaviour,
  WebhookCase,
} from './test-vendor.ts';

let connected: TestInstallation | undefined;

/** The installation that `npm run plugin -- test` has started for these tests, with the plugin activated. */
export function installation(): TestInstallation {
  connected ??= connectInstallation();
  return connected;
}
