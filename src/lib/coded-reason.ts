/** Reasons as a code with what their text is made of. They are stored so; texts are made where they are shown. */

/** One for each code of `Params`, an interface of codes and their parameters. Parameters survive JSON: times are ISO strings. */
export type CodedReason<Params, Code extends keyof Params = keyof Params> = {
  [C in Code]: { readonly code: C; readonly params: Params[C] };
}[Code];

/** A text for each code: one without does not compile. */
export type ReasonTexts<Params, Rest extends readonly unknown[] = []> = {
  readonly [C in keyof Params]: (params: Params[C], ...rest: Rest) => string;
};

/** The parameters of a code that has none. */
export type NoParams = Readonly<Record<string, never>>;
