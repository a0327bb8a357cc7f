/**
 * An entry of the REGISTRY `liquid_filter`: `{{ FIRST_NAME | acme_shout }}`. Liquid runs in a thread of its own that is ended when a
 * template takes too long, and so does the filter: it is named here, and its module is loaded there. It has no access to the plugin's
 * other code that is loaded already, to its tables or to Mailwright.
 */
export interface LiquidFilter {
  /** Begins with the plugin's vendor: `acme_shout`. */
  readonly name: string;
  /** A file of the plugin's folder, such as `./liquid/shout.ts`. It may import files beside it, and nothing of Mailwright. */
  readonly module: string;
  /** The export of the module: a synchronous function that gets the value and the filter's arguments, and returns a text or a number. */
  readonly export: string;
}
