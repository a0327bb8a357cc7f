/** What plugins add to pages: files that pages load, entries of menus, sections. Any front end gets them by `extensionSlots`. */

/** A text that people see: as it is, or the key of a text in the plugin's translations (`add_translation_file`). */
export type Label = string | { readonly key: string };

/** Who sees it: everybody who is logged in, or only administrators. */
export type Audience = 'customer' | 'admin';

/** A file of the plugin that pages load. */
export interface PageAsset {
  readonly kind: 'script' | 'stylesheet';
  /** An address below `/plugins/<vendor>/<name>/`. */
  readonly href: string;
  /** `customer` if absent. */
  readonly audience?: Audience | undefined;
}

export interface MenuItem {
  readonly label: Label;
  /** A path of this installation, such as `/plugins/acme/notes/pages/notes`, or an `https:` address. */
  readonly href: string;
  /** `customer` if absent. */
  readonly audience?: Audience | undefined;
}

/** Only administrators see it. */
export interface SidebarGroup {
  readonly label: Label;
  readonly items: readonly MenuItem[];
}

/** What a plugin adds to a page: a link with a title. */
export interface PageSection {
  readonly title: Label;
  /** As that of a `MenuItem`. */
  readonly href: string;
  /** `customer` if absent. */
  readonly audience?: Audience | undefined;
}
