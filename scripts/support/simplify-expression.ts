/**
 * Makes regular expressions small enough to be analysed. How their time grows depends on parts that repeat without end, so counts
 * (`{2,60}`) are made small; and conditions (`(?=...)`, `(?<!...)`), which the analysis does not know, are analysed separately.
 * Upper and lower case are made equal here, which is much faster than to let the analysis do it.
 */

/** The expression without its conditions, and the content of each condition; only those parts that repeat without end. */
export function simplifyExpression(pattern: string, flags: string): string[] {
  const parts: string[] = [];
  const rest = withoutConditions(pattern, parts);
  // A condition is tested at the current position only.
  return [rest, ...parts.map((part) => `^(?:${part})`)]
    .map((part) => rewritten(part, { ignoresCase: flags.includes('i') }))
    .filter(repeatsWithoutEnd);
}

function repeatsWithoutEnd(pattern: string): boolean {
  return tokensOf(pattern).some((token) => /^(?:\*|\+|\{\d+,\})$/.test(token));
}

function tokensOf(pattern: string): string[] {
  const tokens: string[] = [];
  for (let at = 0; at < pattern.length; at = tokenEnd(pattern, at))
    tokens.push(pattern.slice(at, tokenEnd(pattern, at)));
  return tokens;
}

/** Removes conditions, also nested ones; their contents go to `parts`. */
function withoutConditions(pattern: string, parts: string[]): string {
  let rest = '';
  for (let at = 0; at < pattern.length;) {
    const end = tokenEnd(pattern, at);
    const opening = /^\(\?<?[=!]/.exec(pattern.slice(at, at + 4))?.[0];
    if (opening === undefined) {
      rest += pattern.slice(at, end);
      at = end;
      continue;
    }
    const close = closingOf(pattern, at);
    parts.push(withoutConditions(pattern.slice(at + opening.length, close), parts));
    // An empty group may be repeated like the condition.
    rest += '(?:)';
    at = close + 1;
  }
  return rest;
}

/** `{0,60}` becomes `{0,1}`, `{2,60}` `{1,2}`, `{4}` `{1}`; `{2,}` stays without end. */
function rewritten(pattern: string, { ignoresCase }: { ignoresCase: boolean }): string {
  return tokensOf(pattern)
    .map((token) => {
      const [, least = '', comma, most] = /^\{(\d+)(,?)(\d*)\}$/.exec(token) ?? [];
      const few = Math.min(1, Number(least));
      if (comma === undefined) return ignoresCase ? inSmallLetters(token) : token;
      if (comma === '' || least === most) return `{${few}}`;
      return most === '' ? `{${few},}` : `{${few},${few + 1}}`;
    })
    .join('');
}

/** Escapes stay: `\S` is not `\s`. */
function inSmallLetters(token: string): string {
  return token.replace(/\\p\{[^}]*\}|\\[^]|[A-Z]/gi, (part) => (part.length === 1 ? part.toLowerCase() : part));
}

/** Where the token at `at` ends: an escape, a class, a count, or one character. */
function tokenEnd(pattern: string, at: number): number {
  const token = /\\(?:[pPu]\{[^}]*\}|k<[^>]*>|[^])|\[(?:\\[^]|[^\]\\])*\]|\{\d+,?\d*\}|[^]/y;
  token.lastIndex = at;
  token.test(pattern);
  return token.lastIndex;
}

function closingOf(pattern: string, opening: number): number {
  let depth = 0;
  for (let at = opening; at < pattern.length; at = tokenEnd(pattern, at)) {
    if (pattern[at] === '(') depth += 1;
    if (pattern[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  throw new Error(`No bracket closes the condition in ${pattern}.`);
}
