/** Reasons as a code with parameters. They are stored like this; texts are made where they are shown. */

/** One for each code of `Params`, an interface of codes and their parameters. Parameters survive JSON: times are ISO strings. */
export type CodedReason<Params, Code extends keyof Params = keyof Params> = {
  [C in Code]: { readonly code: C; readonly params: Params[C] };
}[Code];

/** A text for each code; a code without a text does not compile. */
export type ReasonTexts<Params, Rest extends readonly unknown[] = []> = {
  readonly [C in keyof Params]: (params: Params[C], ...rest: Rest) => string;
};

/** The parameters of a code that has none. */
export type NoParams = Readonly<Record<string, never>>;

/**
 * The parameters as JSON for a `jsonb` column, or null when there are none. Half characters (from cutting) and U+0000 are
 * removed, since the database refuses both.
 */
export function storedParams({ params }: { readonly params: object }): string | null {
  return Object.keys(params).length === 0 ? null : storable(params);
}

/** Several reasons as JSON, under the same rules. */
export function storedList(reasons: readonly { readonly code: string; readonly params: object }[]): string {
  return storable(reasons);
}

function storable(json: object): string {
  return JSON.stringify(json, (_name, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '') : value,
  );
}
