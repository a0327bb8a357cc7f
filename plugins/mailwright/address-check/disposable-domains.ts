/** Whether a domain gives out disposable addresses: by the list beside this file, and by what the settings add or take away. */
import { readFileSync } from 'node:fs';

const FILE = new URL('disposable-domains.txt', import.meta.url);

/** Read with the first verifier: an installation that verifies nothing need not hold it. */
let bundled: ReadonlySet<string> | undefined;

function bundledDomains(): ReadonlySet<string> {
  bundled ??= new Set(
    readFileSync(FILE, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#')),
  );
  return bundled;
}

export interface DomainChoice {
  /** Disposable, too. */
  readonly more: readonly string[];
  /** Not disposable, whatever the list says. */
  readonly except: readonly string[];
}

/** A function that says it of a domain in ASCII and small letters. A subdomain is as its nearest parent that a list names. */
export function disposableDomains({ more, except }: DomainChoice): (domain: string) => boolean {
  const [added, excepted, known] = [new Set(more), new Set(except), bundledDomains()];
  return (domain) => {
    for (let name = domain; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
      if (excepted.has(name)) return false;
      if (added.has(name) || known.has(name)) return true;
    }
    return false;
  };
}
