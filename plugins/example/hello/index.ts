/** An example of everything that a plugin can add. */
import { definePlugin } from 'mailwright/plugin-api';
import { boot, register } from './src/service-provider.ts';

declare module 'mailwright/plugin-api' {
  /** A hook of the plugin's own: other plugins may listen. */
  interface EventHooks {
    'example-hello.greeted': [greeting: { customer: string }];
  }
}

export const plugin = definePlugin({
  name: 'example/hello',
  declares: { 'example-hello.greeted': { pattern: 'EVENT' } },
  register,
  boot,
});
