/** An entry of the REGISTRY `mail_template`: texts from which people begin a campaign. */
export interface MailTemplate {
  /** Small letters, digits and hyphens; one of a plugin. People name it `vendor/name:key`. */
  readonly key: string;
  readonly title: string;
  /** A language tag, such as `de` or `pt-BR`. */
  readonly language: string;
  readonly subject: string;
  /** Merge tags and Liquid, as in a campaign. At most 200,000 characters. */
  readonly html: string;
  /** At most 100,000 characters. Absent: made from the html. */
  readonly plain?: string | undefined;
}

/** A list of templates has all their texts: small enough that twenty of them are one answer. */
export const TEMPLATE_HTML_LENGTH_MAX = 200_000;
export const TEMPLATE_PLAIN_LENGTH_MAX = 100_000;
export const TEMPLATES_MAX = 20;
