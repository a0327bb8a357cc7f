/** The texts of a plugin in the languages of its users. */

/** Texts of a plugin in one language: either a file or the texts. */
export interface TranslationFile {
  /** A language tag, such as `de` or `pt-BR`. */
  readonly language: string;
  /** A JSON file below `resources/lang`, such as `de.json`: keys to texts in ICU MessageFormat. */
  readonly file?: string | undefined;
  readonly texts?: Readonly<Record<string, string>> | undefined;
}

/** The member of `services` that finds texts. */
export interface PluginTexts {
  /** The text of the key in this language, else in English, else the key itself. `values` are those of its placeholders. */
  translate(language: string, key: string, values?: Readonly<Record<string, string | number | boolean | Date>>): string;
}
