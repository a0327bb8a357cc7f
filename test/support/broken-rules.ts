/** Which rules of a conformance suite are broken, and what they say. */
import type { ConformanceRule } from '../../src/plugin-testing/conformance-rule.ts';

export async function brokenRules(rules: readonly ConformanceRule[]): Promise<Record<string, string>> {
  const ends = await Promise.all(
    rules.map(({ name, check }) =>
      check().then(
        () => [],
        (error: unknown) => [[name, error instanceof Error ? error.message : String(error)] as const],
      ),
    ),
  );
  return Object.fromEntries(ends.flat());
}
