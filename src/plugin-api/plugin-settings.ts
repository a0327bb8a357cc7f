/** Settings of a plugin, described as data: Mailwright shows the form, checks and stores the values, and tells the plugin of changes. */
import type { Label } from './pages.ts';

/** A number, a text in one line, on or off, one of a few words, or a credential, which is stored encrypted and never shown again. */
export type SettingType = 'text' | 'number' | 'flag' | 'choice' | 'secret';

export interface SettingField {
  /** Small letters, digits and `_`. */
  readonly key: string;
  readonly type: SettingType;
  readonly label: Label;
  readonly help?: Label | undefined;
  /** It must have a value: a given one, or the default. */
  readonly required?: boolean | undefined;
  /** A secret has none. */
  readonly default?: string | number | boolean | undefined;
  /** Of a number its value; of a text or secret its length. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Of a choice. */
  readonly choices?: readonly { readonly value: string; readonly label: Label }[] | undefined;
}

/** A form. A plugin has at most one of each kind. */
export interface SettingsForm {
  /** Whose settings these are: set once by an administrator, or by each customer. */
  readonly for: 'installation' | 'customer';
  readonly settings: readonly SettingField[];
}

/** By key. A setting without value and default is absent. */
export type SettingValues = Readonly<Record<string, string | number | boolean>>;

/** What has changed: read it again. `all`: this process may have missed something. */
export interface SettingsChange {
  readonly of: 'installation' | 'customer' | 'all';
  readonly customerUid: string | null;
}

/** The member `settings` of `services`. Credentials are among the values. Each call reads the database. */
export interface SettingsService {
  get(): Promise<SettingValues>;
  /** Rejects when there is no such customer. */
  getForCustomer(customerUid: string): Promise<SettingValues>;
}
