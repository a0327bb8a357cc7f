/** For which customers each plugin of this process may act: all, or those that have switched it on. */
import type { PluginRights } from '../plugin-api/index.ts';

export class ActingCustomers {
  #switchedOn: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  #changes = 0;

  /** How often it has changed. */
  get changes(): number {
    return this.#changes;
  }

  /** The uids of the customers by plugin, as the database has them. */
  use(switchedOn: ReadonlyMap<string, ReadonlySet<string>>): void {
    if (isSame(this.#switchedOn, switchedOn)) return;
    this.#switchedOn = switchedOn;
    this.#changes += 1;
  }

  /** `rights` absent: code that was registered without a manifest, which may do all. */
  allows(plugin: string, rights: PluginRights | undefined, customerUid: string): boolean {
    return (
      rights === undefined || rights.customers === 'all' || this.#switchedOn.get(plugin)?.has(customerUid) === true
    );
  }
}

function isSame(one: ReadonlyMap<string, ReadonlySet<string>>, other: typeof one): boolean {
  if (one.size !== other.size) return false;
  for (const [plugin, uids] of one) {
    const others = other.get(plugin);
    if (!others || others.size !== uids.size || ![...uids].every((uid) => others.has(uid))) return false;
  }
  return true;
}
