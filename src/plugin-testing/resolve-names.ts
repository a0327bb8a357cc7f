/** Loaded before a plugin's tests (`node --import`): tells Node where `mailwright/plugin-api` and `mailwright/plugin-testing` are. */
import { registerHooks } from 'node:module';

const NAMES: Readonly<Record<string, string>> = {
  'mailwright/plugin-api': new URL('../plugin-api/index.ts', import.meta.url).href,
  'mailwright/plugin-testing': new URL('plugin-testing.ts', import.meta.url).href,
};

registerHooks({
  resolve(specifier, context, next) {
    const url = NAMES[specifier];
    return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
  },
});
