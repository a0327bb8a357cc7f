/** How the tests run: real files on a real PostgreSQL, a few at a time. */
import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

import { SlowestFirst } from './test/support/slowest-first.ts';

/** Files that change for the whole process what a module is: each has a process of its own. */
const ALONE = [
  ...globSync('test/**/*.test.ts').filter((file) =>
    /\bvi\.(mock|doMock|resetModules)\(/.test(readFileSync(file, 'utf8')),
  ),
  // They add a field to the schema.
  'test/schema/http-entry-point.test.ts',
  'test/schema/websockets.test.ts',
];

export default defineConfig({
  // graphql has a `development` export condition: without this line vite loads a second copy of it beside the one
  // that the schema's libraries load, and nothing made by one is known to the other.
  resolve: {
    alias: {
      'mailwright/plugin-api': `${import.meta.dirname}/src/plugin-api/index.ts`,
      'mailwright/plugin-testing': `${import.meta.dirname}/src/plugin-testing/plugin-testing.ts`,
    },
  },
  ssr: { resolve: { conditions: ['module', 'node', 'module-sync'] } },
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/each-file.ts'],
    sequence: { sequencer: SlowestFirst },
    // Plugins that tests write: Node loads them, as in the product.
    server: { deps: { external: [/\/mailwright-plugins-/] } },
    pool: 'forks',
    // On two cores: half of the time a file waits for what it has started. More would only wait for the one database server.
    maxWorkers: 4,
    // Times at which something hangs, not promises: a machine that does other things too may need most of them.
    expect: { poll: { timeout: 120_000 } },
    testTimeout: 300_000,
    hookTimeout: 300_000,
    projects: [
      {
        extends: true,
        // Loading the product takes two seconds: files share a process and what is loaded there.
        test: {
          name: 'shared',
          // The tests of plugins are run by `npm run plugin -- test`: test/scripts/plugin.test.ts does so.
          include: ['test/**/*.test.ts'],
          exclude: ALONE,
          isolate: false,
        },
      },
      { extends: true, test: { name: 'alone', include: ALONE, isolate: true } },
    ],
  },
});
