/** Pages of a plugin: a view of its folder, filled with data of the plugin, under the rights of the browser's session. */
import type { Audience, Label } from './pages.ts';

/** Who asks. */
export interface PageRequest {
  readonly customerUid: string;
  readonly userUid: string;
  readonly isAdmin: boolean;
  /** Of the page, such as `de`. */
  readonly language: string;
  /** The parameters of the address. */
  readonly query: Readonly<Record<string, string>>;
}

export interface PageSubmission extends PageRequest {
  /** The fields of the form, by name. */
  readonly form: Readonly<Record<string, string>>;
}

/** Plain data: texts, numbers, true or false, null, lists and objects of these. */
export type PageData = Readonly<Record<string, unknown>>;

/** What follows a form: another page of the plugin by name (this one unless given), or this page again, with this data. */
export type PageOutcome = { readonly next?: string | undefined } | { readonly data: PageData };

export interface PluginPage {
  /** The address is `/plugins/<vendor>/<name>/pages/<this>`: small letters, digits, `-` and `/`. `settings` is taken. */
  readonly name: string;
  readonly audience: Audience;
  readonly title: Label;
  /** A Liquid file below `resources/views`. Every value is escaped for html; `{{ 'key' | t }}` is a text of the translations. */
  readonly view: string;
  /** The variables of the view. It may take five seconds. */
  readonly data?: ((request: PageRequest) => PageData | Promise<PageData>) | undefined;
  /** Takes a form of the page (`method="post"`). Only forms of this installation's own pages arrive here. */
  readonly submit?: ((request: PageSubmission) => PageOutcome | Promise<PageOutcome>) | undefined;
  /** The text of the view: Mailwright reads it. */
  readonly source?: string | undefined;
}
