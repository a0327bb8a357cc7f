/** The options of a plan as clients read them: every option, and every type of sending server by name. */
import { parsePlanOptions, type PlanOptions } from './plan-options.ts';

const PROVIDERS = ['amazon', 'sendgrid', 'mailgun', 'sparkpost', 'elasticemail', 'brevo'];

/** Types of sending servers that plans and clients may name (decision D31), with or without an installed driver. */
const KNOWN_TYPES = ['smtp', 'sendmail', 'php-mail', ...PROVIDERS.flatMap((name) => [`${name}-api`, `${name}-smtp`])];

/** A stored plan's options; later additions get their default. */
export function shownPlanOptions(stored: Readonly<Record<string, unknown>>): PlanOptions {
  const options = parsePlanOptions(stored);
  const byDefault = options.all_sending_server_types;
  const types = Object.fromEntries(KNOWN_TYPES.map((type) => [type, byDefault] as const));
  return { ...options, sending_server_types: { ...types, ...options.sending_server_types } };
}
