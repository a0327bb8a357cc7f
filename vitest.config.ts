/** How the tests run: real files on a real PostgreSQL, three files at a time. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // graphql has a `development` export condition: without this line vite loads a second copy of it beside the one
  // that the schema's libraries load, and nothing made by one is known to the other.
  ssr: { resolve: { conditions: ['module', 'node', 'module-sync'] } },
  test: {
    include: ['test/**/*.test.ts', 'plugins/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // On two cores: a third of the time a file waits for what it has started. More would only wait for the one database server.
    maxWorkers: 3,
    // Times at which something hangs, not promises: a machine that does other things too may need most of them.
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
