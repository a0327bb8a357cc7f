/**
 * The noun of this folder: a template, the texts of a message under a name. A campaign copies them; transactional mails and
 * automations refer to it. Whether a mail of it may be sent to somebody is decided where mails are sent, by its kind.
 */

/**
 * `transactional`: the reader caused it and needs it, such as a receipt. `optional`: a notice that the reader can switch off.
 * `marketing`: everything else. Only the last two have a way to unsubscribe (decision D94).
 */
export const TEMPLATE_KINDS = ['transactional', 'optional', 'marketing'] as const;
export type TemplateKind = (typeof TEMPLATE_KINDS)[number];

/** More than a customer looks through; each may have megabytes. */
export const TEMPLATES_PER_CUSTOMER_MAX = 1_000;
export const TEMPLATE_NAME_LENGTH_MAX = 255;
